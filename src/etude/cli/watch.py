"""What a command that asks models does while it waits: shows the progress, and stops when it is asked to."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from etude.cli.lookup import larger
from etude.cli.terminal.unheard import ended_if_unheard
from etude.display.console import Console, open_console
from etude.errors import HandoffStop, Interrupted, OutageStop, StopRun
from etude.models.handoff import Waiting, waiting
from etude.readable import counted, some
from etude.records.summary import Summary
from etude.workbench import Given, StopSwitch

T = TypeVar("T")
Work = Callable[[Given], Coroutine[Any, Any, T]]

_SOON = 5.0
"""Seconds in which the loop hears of a signal, unless something does not let it go on."""
SECONDS = 1.0
"""How often a command that waits looks for answers. They count once they have stayed the same for so long: whoever
writes them may not have finished."""
_SHOWN = 5
"""Most questions that are named."""


def watch(work: Work[T], command: str, *, wait: bool = False) -> T:
    """Run `work` in an event loop of its own, with a console on stderr. What a person is to answer is said; with
    `wait` it goes on when the answers are there, instead of ending.

    The first Ctrl-C finishes what is in flight, the second stops now. So does SIGTERM: what sends it, as `timeout`,
    systemd and docker do, kills soon after. Code that does not let the loop go on is named, and ended where it is.
    Programs that `work` runs have ended when this returns.
    Raises StopRun: it was stopped; the hint has `command`, which resumes it. Whatever `work` raises."""
    with open_console() as console:
        try:
            try:
                return asyncio.run(_stoppable(work, console, wait))
            except KeyboardInterrupt as error:
                if not error.args:
                    raise
                raise _stopped(f", in {error}, which did not let the run go on") from None
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
            questions = waiting(Path(stop.folder)) if stop.folder else ()
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

    signals = _Signals(loop, console)
    try:
        with signals.heard({signal.SIGINT: pressed, signal.SIGTERM: cancel}):
            return await task
    except asyncio.CancelledError:
        if signals.broke_in or not task.cancelling():
            raise
        raise _stopped() from None


def _stopped(where: str = "") -> Interrupted:
    return Interrupted(
        f"stopped at once{where}; the calls that were in flight are lost and will be made again",
        hint="run the same command again to resume",
    )


class _Signals:
    """Signals that a loop hears of. Where it does not, since what runs in it hangs, that is said, and the next signal
    ends it where it is: the second Ctrl-C, or SIGTERM by itself."""

    def __init__(self, loop: asyncio.AbstractEventLoop, console: Console) -> None:
        self._loop, self._console = loop, console
        self._unheard_since: float | None = None
        self.broke_in = False
        """A signal ended what ran."""

    @contextmanager
    def heard(self, then: Mapping[signal.Signals, Callable[[], None]]) -> Generator[None]:
        """Have the loop call what belongs to a signal."""
        if threading.current_thread() is not threading.main_thread():
            yield  # no signals here
            return

        def handle(number: int, frame: FrameType | None) -> None:
            python_runs()
            if self._unheard_since is None:
                self._unheard_since = time.monotonic()
                self._loop.call_soon_threadsafe(hear, number)
                timer = threading.Timer(_SOON, self._look, [number])
                timer.daemon = True
                timer.start()
            elif not self.broke_in and time.monotonic() - self._unheard_since >= _SOON:
                self.broke_in = True
                raise KeyboardInterrupt(_place(frame))

        def hear(number: int) -> None:
            if not self.broke_in:
                self._unheard_since = None
                then[signal.Signals(number)]()

        with ended_if_unheard() as python_runs:
            before = {number: signal.signal(number, handle) for number in then}
            try:
                yield
            finally:
                for number, known in before.items():
                    signal.signal(number, known)

    def _look(self, number: int) -> None:
        if self._unheard_since is None:
            return
        if number == signal.SIGTERM:
            os.kill(os.getpid(), number)
            return
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
        place = _place(frames.get(threading.main_thread().ident or 0))
        self._console.say(f"waiting for {place}; press Ctrl-C again to stop it there", "yellow")


def _place(frame: FrameType | None) -> str:
    """Where code is, as in `load (tasks.py:12)`; what it called of Python's own is left out."""
    own = f"{os.path.dirname(os.__file__)}{os.sep}"
    while frame is not None and frame.f_back and frame.f_code.co_filename.startswith((own, "<frozen")):
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_name} ({frame.f_code.co_filename}:{frame.f_lineno})"


def told(questions: Sequence[Waiting], place: str) -> str:
    """What is asked, in lines: in which stage, which file is to be answered where, and how many attempts it shows."""
    head = f"{place}: {counted(len(questions), 'question')} to answer".removeprefix(": ")
    lines = [f"{one.question}{_about(one)}, answer in {one.answer}" for one in questions]
    return "\n".join([head, some(lines, _SHOWN, "\n")])


async def answered(questions: Sequence[Waiting], stopped: Callable[[], bool], seconds: float = SECONDS) -> bool:
    """Wait until none of the questions waits any more: it has an answer, or its file is gone. False: `stopped` said
    so before."""
    before = None
    while not stopped():
        now = None if _open(questions) else [_written(one.answer) for one in questions]
        if now is not None and now == before:
            return True
        before = now
        await asyncio.sleep(seconds)
    return False


def _about(one: Waiting) -> str:
    return f" ({counted(one.attempts, 'attempt')})" if one.attempts else ""


def _open(questions: Sequence[Waiting]) -> bool:
    folders = {one.question.parents[1] for one in questions}
    still = {one.question for folder in folders for one in waiting(folder)}
    return any(one.question in still for one in questions)


def _written(path: Path) -> tuple[int, int] | None:
    """When a file was written, and how long it is; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
