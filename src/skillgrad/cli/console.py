"""The console: a sink that prints what happens in a run on stderr, live in a terminal, in plain lines elsewhere."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol, TextIO

from skillgrad.cli.progress import Prices, Progress, duration
from skillgrad.events import (
    AttemptFinished,
    CallFinished,
    Decided,
    Event,
    Notice,
    RunStarted,
    StageFinished,
    StageStarted,
)

__all__ = ["Console", "Printer", "open_console"]

SHOWN = 5
"""Most attempts without a score, and most different failures of calls, that are shown in a stage."""
HEARTBEAT_SECONDS = 30.0
"""How often a long stage says where it is, in plain lines."""

_STYLES = {"accepted": "green", "rejected": "dim", "skipped": "yellow"}


class Printer(Protocol):
    """Where lines go."""

    def __call__(self, text: str, style: str | None = None) -> None:
        """Print one line."""
        ...


class Console:
    """Turns events into lines. Cheap: an attempt that went well prints nothing.

    Args:
        progress: kept up to date with the events.
        printer: prints a line; when it fails because the reader has gone, nothing more is printed.
        stages: print a line for every stage, and one now and then during a long one.
    """

    def __init__(
        self,
        progress: Progress,
        printer: Printer,
        *,
        stages: bool,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.progress = progress
        self._printer = printer
        self._stages = stages
        self._clock = clock
        self._said_at = clock()
        self._notices: set[str] = set()
        self._failures_shown: set[str] = set()
        """In this stage."""
        self._closed = False

    def emit(self, event: Event) -> None:
        """Take one event."""
        self.progress.take(event)
        match event:
            case AttemptFinished():
                self._attempt(event)
            case CallFinished() if event.error:
                self._failed_call(event)
            case StageStarted():
                self._failures_shown.clear()
                self._said_at = self._clock()
            case StageFinished():
                self._stage(event)
            case Decided():
                self._decided(event)
            case Notice() if event.text not in self._notices:
                self._notices.add(event.text)
                word, style = ("warning", "yellow") if event.level == "warning" else ("note", None)
                self.say(f"{word}: {event.text}", style)
            case RunStarted():
                self._run(event)
            case _:
                pass

    def say(self, text: str, style: str | None = None) -> None:
        """Print a line with the time in front."""
        if self._closed:
            return
        self._said_at = self._clock()
        first, *rest = text.splitlines() or [""]
        try:
            for part in (f"{duration(self.progress.elapsed):>7}  {first}", *(f"{'':9}{line}" for line in rest)):
                self._printer(part, style)
        except (OSError, ValueError):  # the reader of stderr has gone, or the stream is closed
            self._closed = True

    def _run(self, event: RunStarted) -> None:
        verb = "going on with" if event.resumed else "starting"
        models = ", simulated models" if event.simulated else ""
        self.say(f"{verb} run {event.name!r} in {event.folder}: {event.epochs} epochs, {event.steps} steps{models}")

    def _attempt(self, event: AttemptFinished) -> None:
        progress = self.progress
        if event.outcome == "void":
            if progress.voids <= SHOWN:
                self.say(f"no score for task {event.task!r}: {event.reason}", "yellow")
        elif self._stages and self._clock() - self._said_at >= HEARTBEAT_SECONDS:
            of = f" of {progress.total}" if progress.total else ""
            self.say(f"{progress.place}: {progress.done}{of} attempts, {progress.spend}")

    def _failed_call(self, event: CallFinished) -> None:
        text = f"call failed ({event.role}): {event.error}"
        if text not in self._failures_shown and len(self._failures_shown) < SHOWN:
            self._failures_shown.add(text)
            self.say(text, "yellow")

    def _stage(self, event: StageFinished) -> None:
        progress = self.progress
        if progress.voids > SHOWN:
            self.say(f"{progress.voids} attempts without a score in all", "yellow")
        if progress.failures > 1:
            self.say(f"{progress.failures} failed calls in all", "yellow")
        replayed = progress.resumed and not progress.stage_calls
        # The decision that follows a gate says more.
        if self._stages and not replayed and event.stage != "gate":
            self.say(f"{progress.place_of(event.stage, event.step)}: {event.note or 'done'}")

    def _decided(self, event: Decided) -> None:
        what = f"step {event.step}/{event.steps} {event.action}"
        if event.origin == "slow_update":
            what = f"slow update {event.action}"
        scores = f"validation {_score(event.current)}, best {_score(event.best)}"
        self.say(f"{what}: {event.reason}; {scores}; {self.progress.spend}", _STYLES[event.action])


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


@contextmanager
def open_console(prices: Prices, stream: TextIO | None = None) -> Generator[Console]:
    """A console on stderr: live when that is a terminal, plain lines else."""
    file = stream or sys.stderr
    progress = Progress(prices)
    if file.isatty() and os.environ.get("TERM") != "dumb":
        from skillgrad.cli.live import open_live

        with open_live(progress, file) as printer:
            yield Console(progress, printer, stages=False)
        return

    def plain(text: str, style: str | None = None) -> None:
        del style
        print(text, file=file, flush=True)

    yield Console(progress, plain, stages=True)
