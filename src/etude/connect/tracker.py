"""A tracker: what it has to do, and how it hears of a run without being able to harm it."""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import time_ns
from typing import ClassVar

from etude.connect.run_folder import (
    Ending,
    Point,
    TrackedRun,
    accepted_skill,
    earlier_points,
    ending_of,
    point_of,
    tracked_run,
)
from etude.errors import ConfigError, install_command, not_installed
from etude.events import CallFinished, Event, Notice, RunFinished, RunStarted
from etude.protocols import Sink
from etude.records import brief
from etude.redaction import Redactor
from etude.registry import find
from etude.story import Story, after

WAITING = 1_000
"""Most pieces of work that wait for their turn; more are left out."""

Work = Callable[[], None]


class Worker:
    """A thread for the work of one tracker in one run. The first thing that goes wrong is told, the rest is not.

    Args:
        name: of the tracker.
        start: what has to be done before all else. Nothing else is done where it fails.
        tell: takes what went wrong and what that means; called in the thread or by `put`.
    """

    def __init__(self, name: str, start: Work, tell: Callable[[str, str], None]) -> None:
        self._name, self._tell, self._troubled = name, tell, False
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        # It does not keep the program from ending.
        self._thread = Thread(target=self._run, args=(start,), name=f"etude-{name}", daemon=True)
        self._thread.start()

    def put(self, work: Work) -> None:
        """Have something done; left out where too much is waiting."""
        if self._queue.qsize() < WAITING:
            self._queue.put(work)
        else:
            self._trouble("does not keep up", "the run continues; a part of it is missing there")

    def finish(self, work: Work) -> None:
        """Have this done last."""
        self._queue.put(work)
        self._queue.put(None)

    def wait(self, seconds: float) -> None:
        """Wait until all is done, at most so many seconds."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._trouble(f"was not done {seconds:g} seconds after the run", "a part of the run may be missing there")

    @property
    def under_way(self) -> bool:
        """There may be something left to do."""
        return self._thread.is_alive()

    def _run(self, start: Work) -> None:
        if not self._done(start, "the run continues without it"):
            return
        while (work := self._queue.get()) is not None:
            self._done(work, "the run continues; a part of it may be missing there")

    def _done(self, work: Work, otherwise: str) -> bool:
        try:
            work()
        # The boundary: the code is not ours, and can fail in any way, or try to end the program.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            text = Redactor(os.environ).redact(f"{type(error).__name__}: {error}")
            self._trouble(f"failed: {brief(text, 300)}", otherwise)
            return False
        return True

    def _trouble(self, what: str, otherwise: str) -> None:
        if not self._troubled:
            self._troubled = True
            self._tell(f"tracker {self._name!r} {what}", otherwise)


class Tracker(ABC):
    """A sink that reports runs to a service. Subclasses have `begin`, `point` and `end`, and can be made without
    arguments.

    These three are called in a thread of their own, one after the other. They may take their time and may raise:
    the run does not wait for them, and what goes wrong is told once, as a warning.
    """

    name: ClassVar[str]
    """As `report_to` has it."""
    needs: tuple[str, ...] = ()
    """Modules that have to be installed, each with a file of its own."""
    extra: str = ""
    """The extra of etude that brings them."""
    hears_calls: ClassVar[bool] = False
    """`call` is wanted."""
    patience: float = 15.0
    """Most seconds that the end of a run waits for it; where an error or a person ended the run at once, a fifth."""

    @abstractmethod
    def begin(self, run: TrackedRun) -> bool:
        """A run begins or is resumed. Returns whether it goes on with the record of an earlier process; else all
        points of the run so far are told again."""

    @abstractmethod
    def point(self, point: Point) -> None:
        """The next point of the curves."""

    @abstractmethod
    def end(self, ending: Ending) -> None:
        """The run is over: finish what `begin` began."""

    def call(self, call: CallFinished, at: int) -> None:  # noqa: B027 - most trackers do not want it
        """A model request came back, at so many nanoseconds since 1970."""

    def check(self) -> None:
        """Import what it needs, which `begin` would do. Raises ConfigError: a package is missing, one that a needed
        one needs among them, or cannot be imported."""
        for module in self.needs:
            try:
                found = import_module(module).__file__
            except ModuleNotFoundError as error:
                found = None
                module = module if module.startswith(error.name or "") else error.name
            except Exception as error:  # noqa: BLE001 - the boundary: whatever a package raises
                raise ConfigError(
                    f"tracker {self.name!r}: {module!r} cannot be imported: {type(error).__name__}: {error}",
                    hint=f"install it again: {install_command(self.extra)}",
                ) from None
            # wandb leaves a folder `wandb` where it worked: that can be imported, too, and has no code.
            if found is None:
                raise not_installed(f"tracker {self.name!r}", f"the package of {module!r}", self.extra)

    _worker: Worker | None = None
    _ended = True
    _tell: Callable[[str, str], None] | None = None

    def emit(self, event: Event) -> None:
        """Take one event. Returns at once."""
        match event:
            case RunStarted():
                self._start(event)
            case RunFinished():
                self._finish(partial(ending_of, Path(event.summary)))
            case _ if not self._ended and self._worker is not None:
                if self.hears_calls and isinstance(event, CallFinished):
                    self._worker.put(partial(self.call, event, time_ns()))
                before, self._story = self._story, after(self._story, event)
                point = point_of(before, event, self._story)
                if point is not None:
                    self._take(point)
            case _:
                pass

    def attach(self, tell: Callable[[str, str], None] | None) -> None:
        """Whom to tell what goes wrong and what that means; called in any thread. None for nobody any more."""
        self._tell = tell

    def close(self) -> None:
        """Wait for what is left to do, `patience` seconds at most. A run that has not ended by now has failed."""
        seconds = self.patience if self._ended else self.patience / 5
        self._finish(lambda: Ending("failed"))
        if self._worker is not None:
            self._worker.wait(seconds)

    def _start(self, event: RunStarted) -> None:
        if self._worker is not None and self._worker.under_way:
            self._told(f"tracker {self.name!r} is still busy with an earlier run", "the run continues without it")
            return
        self._story, self._folder, self._ended = Story(), Path(event.folder), False
        self._worker = Worker(self.name, partial(self._begin, event), self._told)

    def _begin(self, event: RunStarted) -> None:
        self._before, known = earlier_points(self._folder) if event.resumed else (0, [])
        self._known = {point.key for point in known}
        if not self.begin(tracked_run(event)):
            for point in known:
                self.point(point)

    def _take(self, point: Point) -> None:
        assert self._worker is not None
        try:  # the next decision may be on the same step, and write the skill again
            point = accepted_skill(self._folder, point)
        except OSError as error:
            self._told(f"tracker {self.name!r} gets no skill: {error}", "")
        self._worker.put(partial(self._point, point))

    def _point(self, point: Point) -> None:
        if point.key not in self._known:
            self._known.add(point.key)
            self.point(point._replace(target_calls=point.target_calls + self._before))

    def _finish(self, ending: Callable[[], Ending]) -> None:
        if not self._ended and self._worker is not None:
            self._worker.finish(lambda: self.end(ending()))
        self._ended = True

    def _told(self, what: str, otherwise: str) -> None:
        if self._tell is not None:
            self._tell(what, otherwise)


@asynccontextmanager
async def telling(sinks: Sequence[Sink]) -> AsyncGenerator[Callable[[Event], None]]:
    """What tells all sinks of an event. Trackers among them tell all of their troubles; they are waited for at the
    end, each for its `patience`."""
    loop, trackers = asyncio.get_running_loop(), [sink for sink in sinks if isinstance(sink, Tracker)]

    def emit(event: Event) -> None:
        for sink in sinks:
            sink.emit(event)

    def tell(what: str, otherwise: str) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(emit, Notice(level="warning", text=what, hint=otherwise))

    for tracker in trackers:
        tracker.attach(tell)
    try:
        yield emit
    finally:
        await asyncio.gather(*(asyncio.to_thread(tracker.close) for tracker in trackers))
        await asyncio.sleep(0)  # for what they told last
        for tracker in trackers:
            tracker.attach(None)


def named_trackers(names: Iterable[str], sinks: Iterable[Sink] = ()) -> list[Tracker]:
    """The trackers of these names. Raises ConfigError: nothing has that name, or a package is missing that one of
    them needs, or one that is among the sinks."""
    found: list[Tracker] = []
    for name in dict.fromkeys(names):
        tracker = find("trackers", name)()
        if not isinstance(tracker, Tracker):
            raise ConfigError(f"tracker {name!r} is not an etude.connect.Tracker", hint="derive its class from it")
        found.append(tracker)
    for sink in (*found, *sinks):
        if isinstance(sink, Tracker):
            sink.check()
    return found
