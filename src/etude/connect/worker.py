"""Work that must not harm a run: done in a thread of its own, in order, without ever making anybody wait."""

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from etude.records import brief
from etude.redaction import Redactor

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
