"""For crash tests: being told of each write of a journal, and of each step of an adoption or a revert."""

import os
import shutil
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from sqlite3 import Connection
from typing import Any
from weakref import WeakKeyDictionary

from etude.sleep.adoption import transaction
from etude.sleep.adoption.adopt import adopt
from etude.store.database import Database

CHILD = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
"""The environment of a program that uses this module."""

WriteHook = Callable[[str, int], None]
"""Called with ("before", n) and ("after", n) around the n-th commit of a database, counted from 1; may raise."""

_watcher: ContextVar[WriteHook | None] = ContextVar("watcher", default=None)
_watched: WeakKeyDictionary[Database, list[Any]] = WeakKeyDictionary()
_open: Callable[..., None] = Database.__init__
_write: Callable[[Database], AbstractContextManager[Connection]] = Database.write


@contextmanager
def watched_writes(hook: WriteHook) -> Generator[None]:
    """Databases that are opened inside call the hook around each of their writes."""
    token = _watcher.set(hook)
    try:
        yield
    finally:
        _watcher.reset(token)


def _noted_open(self: Database, *arguments: Any, **named: Any) -> None:
    if (hook := _watcher.get()) is not None:
        _watched[self] = [hook, 0]
    _open(self, *arguments, **named)


@contextmanager
def _told_write(self: Database) -> Generator[Connection]:
    hook, done = _watched.get(self, (lambda moment, number: None, 0))
    with _write(self) as connection:
        yield connection
        hook("before", done + 1)
    if self in _watched:
        _watched[self][1] += 1
    hook("after", done + 1)


Database.__init__ = _noted_open  # type: ignore[method-assign]
Database.write = _told_write  # type: ignore[method-assign]


class Writes:
    """Counts writes: those of journals, and files that come into their place below `place`. Before the one of number
    `at` something happens."""

    def __init__(self, place: Path, at: int, then: Callable[[], object]) -> None:
        self._place, self._at, self._then = str(place), at, then
        self.names: list[str] = []

    def tell(self, name: str) -> None:
        self.names.append(name)
        if len(self.names) == self._at:
            self._then()

    def listen(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.rename" and (path := str(arguments[1])).startswith(self._place):
            self.tell(path.removeprefix(self._place))


@contextmanager
def told(listen: Callable[[str], object]) -> Generator[None]:
    """Adoptions and reverts inside tell each step by its name before they make it, once, until the listener raises:
    what puts everything back is not disturbed."""
    quiet = transaction.about_to
    known: set[str] = set()

    def tell(step: str) -> None:
        try:
            if step not in known:
                known.add(step)
                listen(step)
        except BaseException:
            transaction.about_to = quiet
            raise

    transaction.about_to = tell
    try:
        yield
    finally:
        transaction.about_to = quiet


def killed_adoption(proposal: Path, project: Path, state: Path, at: str) -> None:
    """Leave on the disk what an adoption leaves that is killed at this step."""
    places = {place: place.with_name(f"{place.name} when killed") for place in (project, state)}

    def killed(step: str) -> None:
        if step == at:
            for place, kept in places.items():
                shutil.copytree(place, kept, symlinks=True)
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt), told(killed):
        adopt(proposal, project, state)
    for place, kept in places.items():
        shutil.rmtree(place)
        kept.rename(place)
