"""Ctrl-C: once to finish what is in flight, twice to stop now. SIGTERM stops now: what sends it, as `timeout`,
systemd and docker do, kills soon after."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from etude.errors import Interrupted
from etude.workbench import StopSwitch

T = TypeVar("T")


def run_stoppable(work: Callable[[StopSwitch], Coroutine[Any, Any, T]], say: Callable[[str], None]) -> T:
    """Run `work` in an event loop of its own. The first Ctrl-C throws the switch, the second cancels, as SIGTERM
    does. Cancelling ends the programs that `work` runs before it returns.

    Raises:
        Interrupted: it was cancelled. Whatever `work` raises.
    """
    return asyncio.run(_stoppable(work, say))


async def _stoppable(work: Callable[[StopSwitch], Coroutine[Any, Any, T]], say: Callable[[str], None]) -> T:
    switch = StopSwitch()
    task = asyncio.ensure_future(work(switch))
    cancelled = False

    def pressed() -> None:
        if not switch.requested:
            switch.stop()
            say("finishing what is in flight; press Ctrl-C again to stop now")
        else:
            cancel()

    def cancel() -> None:
        nonlocal cancelled
        if not cancelled:
            cancelled = True
            switch.stop()
            task.cancel()

    with _on_signals({signal.SIGINT: pressed, signal.SIGTERM: cancel}):
        try:
            return await task
        except asyncio.CancelledError:
            if not cancelled:
                raise
            raise Interrupted(
                "stopped at once; the calls that were in flight are lost and will be made again",
                hint="run the same command again to resume",
            ) from None


@contextmanager
def _on_signals(heard: Mapping[signal.Signals, Callable[[], None]]) -> Generator[None]:
    loop = asyncio.get_running_loop()
    try:
        for number, call in heard.items():
            loop.add_signal_handler(number, call)
    except (NotImplementedError, RuntimeError, ValueError):  # no signals here: not the main thread
        yield
        return
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
