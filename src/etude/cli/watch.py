"""What a command that asks models does while it waits: shows the progress, and stops when it is asked to."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from etude.cli.lookup import larger
from etude.cli.questions import answered, asked, told
from etude.display.console import Console, open_console
from etude.errors import HandoffStop, Interrupted, OutageStop, StopRun
from etude.records.summary import Summary
from etude.workbench import Given, StopSwitch

T = TypeVar("T")

Work = Callable[[Given], Coroutine[Any, Any, T]]


def watch(work: Work[T], command: str, *, wait: bool = False) -> T:
    """Run `work` in an event loop of its own, with a console on stderr. What a person is to answer is said; with
    `wait` it goes on when the answers are there, instead of ending.

    The first Ctrl-C finishes what is in flight, the second stops now. So does SIGTERM: what sends it, as `timeout`,
    systemd and docker do, kills soon after. Programs that `work` runs have ended when this returns.
    Raises StopRun: it was stopped; the hint has `command`, which resumes it. Whatever `work` raises."""
    with open_console() as console:
        try:
            return asyncio.run(_stoppable(work, console, wait))
        except StopRun as stop:
            stop.hint = f"{stop.hint}\n{_go_on(stop, command)}".lstrip()
            raise


def _go_on(stop: StopRun, command: str) -> str:
    """How the work is continued after a stop."""
    if not isinstance(stop, OutageStop) or not stop.no_model:
        return f"resume{larger(stop.message)}: {command}"
    summary = stop.summary
    if isinstance(summary, Summary) and summary.cost.answered:  # another model is another run
        command = f"{command} --name {summary.name}-2 --fork {summary.name}"
    return f"correct the name of the model, and type again: {command}"


async def _answering(work: Work[T], console: Console, switch: StopSwitch, wait: bool) -> T:
    """`work`, begun again after each answer to what it asks a person: it replays what it has."""
    while True:
        try:
            return await work(Given(sinks=[console], switch=switch))
        except HandoffStop as stop:
            questions = asked(stop)
            if questions:
                console.say(told(questions, console.progress.story.place), "yellow")
            if not (wait and stop.folder and await answered(questions, lambda: switch.requested)):
                raise


async def _stoppable(work: Work[T], console: Console, wait: bool) -> T:
    switch, loop = StopSwitch(), asyncio.get_running_loop()
    task = loop.create_task(_answering(work, console, switch, wait))

    def cancel() -> None:
        if not task.cancelling():
            switch.stop()
            task.cancel()

    def pressed() -> None:
        if switch.requested:
            cancel()
        else:
            switch.stop()
            console.say("finishing what is in flight; press Ctrl-C again to stop now", "yellow")

    with suppress(NotImplementedError, RuntimeError, ValueError):  # no signals here: not the main thread
        loop.add_signal_handler(signal.SIGINT, pressed)
        loop.add_signal_handler(signal.SIGTERM, cancel)
    try:
        return await task
    except asyncio.CancelledError:
        if not task.cancelling():
            raise
        raise Interrupted(
            "stopped at once; the calls that were in flight are lost and will be made again",
            hint="run the same command again to resume",
        ) from None
