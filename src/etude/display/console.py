"""The console: a sink that prints what happens in a run on stderr, live in a terminal, in plain lines elsewhere."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
from typing import TextIO

from etude.display.progress import Progress, told
from etude.events import AttemptFinished, CallFinished, Decided, Event, Notice, StageFinished, StageStarted
from etude.readable import counted, duration, visible
from etude.story import StageProgress

SHOWN = 5
"""Most attempts that errored, and most different failures of calls, that are shown in a stage."""
HEARTBEAT_SECONDS = 30.0
"""How often a long stage says where it is, in plain lines."""
_STYLES = {"accepted": "green", "rejected": "dim", "skipped": "yellow"}


Printer = Callable[[str, str | None], None]
"""Prints a line in a style."""


def is_live(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which lines can be drawn again."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Console:
    """Turns events into lines. Cheap: an attempt that went well prints nothing. `progress` is kept up to date; with
    `stages` there is a line for every stage, and one now and then during a long one. When `printer` fails because the
    reader is gone, nothing more is printed."""

    def __init__(
        self, progress: Progress, printer: Printer, *, stages: bool, clock: Callable[[], float] = monotonic
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
        # An ended stage is not under way any more once the event is counted in.
        stage = self.progress.story.stage_of(event) if isinstance(event, StageFinished) else None
        self.progress.take(event)
        match event:
            case AttemptFinished():
                self._attempt(event, self.progress.story.stage_of(event))
            case CallFinished() if event.error and not event.final:
                self._failed_call(event)
            case StageStarted():
                self._failures_shown.clear()
                self._said_at = self._clock()
            case StageFinished():
                self._stage(event, stage or StageProgress(event.stage, event.step))
            case Decided():
                self._decided(event)
            case Notice() if event.withdrawn or event.text not in self._notices:
                self._notices.add(event.text)
                self.say(told(event, self.progress.story), "yellow" if event.level == "warning" else None)
            case Notice():
                pass
            case _ if text := told(event, self.progress.story):
                self.say(text)
            case _:
                pass

    def say(self, text: str, style: str | None = None) -> None:
        """Print a line with the time in front."""
        if self._closed:
            return
        self._said_at = self._clock()
        first, *rest = visible(text).splitlines() or [""]
        try:
            for part in (f"{duration(self.progress.elapsed):>7}  {first}", *(f"{'':9}{line}" for line in rest)):
                self._printer(part, style)
        except (OSError, ValueError):  # the reader of stderr is gone, or the stream is closed
            self._closed = True

    def _attempt(self, event: AttemptFinished, stage: StageProgress | None) -> None:
        if event.outcome == "void":
            if stage is None or stage.voids <= SHOWN:
                self.say(f"an attempt at task {event.task!r} errored: {event.reason}", "yellow")
        elif stage is not None and self._stages and self._clock() - self._said_at >= HEARTBEAT_SECONDS:
            of = (
                f"{stage.done} of {counted(stage.total, 'attempt')}"
                if stage.total
                else counted(stage.done, "attempt")
            )
            solved = "" if self.progress.story.dry else f"{stage.solved} solved"
            parts = [
                f"{self.progress.story.place_of(stage)}: {of}",
                solved,
                self.progress.spend,
                self.progress.time_left,
            ]
            self.say(", ".join(part for part in parts if part))

    def _failed_call(self, event: CallFinished) -> None:
        text = f"call failed ({event.role}): {event.error}"
        if text not in self._failures_shown and len(self._failures_shown) < SHOWN:
            self._failures_shown.add(text)
            self.say(text, "yellow")

    def _stage(self, event: StageFinished, stage: StageProgress) -> None:
        if stage.voids > SHOWN:
            self.say(f"{stage.voids} attempts errored in this stage", "yellow")
        if stage.failures > 1:
            self.say(f"{stage.failures} calls failed in this stage", "yellow")
        replayed = self.progress.story.resumed and not stage.calls
        # The decision that follows a gate or a proof, or a step without edits, says more.
        if self._stages and not replayed and not event.idle and event.stage not in ("gate", "proof"):
            place, note = self.progress.story.place_of(stage), event.note or "done"
            self.say(place if self.progress.story.dry else f"{place}: {note}")

    def _decided(self, event: Decided) -> None:
        parts = [told(event, self.progress.story)]
        if self._stages and not self.progress.story.dry:  # in a terminal, the live lines below say the rest
            parts += [self.progress.scores, self.progress.spend, self.progress.time_left]
        self.say("; ".join(part for part in parts if part), _STYLES[event.action])


@contextmanager
def open_console(stream: TextIO | None = None) -> Generator[Console]:
    """A console on stderr: live when that is a terminal, else plain lines."""
    file = stream or sys.stderr
    progress = Progress()
    if is_live(file):
        # Only here: it brings rich.
        with import_module("etude.display.live").open_live(progress, file) as printer:
            yield Console(progress, printer, stages=False)
        return

    def plain(text: str, style: str | None) -> None:
        del style
        print(text, file=file, flush=True)

    yield Console(progress, plain, stages=True)
