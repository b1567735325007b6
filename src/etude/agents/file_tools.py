"""Reading, writing and editing files for an agent, without leaving the folders that it may touch."""

import io
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_READ_BYTES = 10_000_000
MAX_ENTRIES = 200


@dataclass(frozen=True)
class Result:
    """What a tool did."""

    text: str
    """May be long: it is cut before a model reads it."""
    remarks: tuple[str, ...] = ()
    """How it ended, where that was not well."""
    exit_code: int | None = None
    """None when no command was run."""


class ToolMisuse(Exception):
    """The model asked for what cannot be done. The text is for the model, which may try otherwise."""


class FileTools:
    """The files of a workspace. Links are followed as long as they stay inside.

    A path is checked before it is opened. Nothing can change it in between: no command of the agent is running.
    Relative paths count from `workspace`, which is called `place` as well; the folders of `read_only` may be read,
    too.
    """

    def __init__(self, workspace: Path, read_only: Sequence[Path] = (), place: str = "") -> None:
        self._workspace = Path(os.path.realpath(workspace))
        self._read_only = tuple(Path(os.path.realpath(folder)) for folder in read_only)
        self._called = place

    def read(self, path: str, first: int, count: int) -> str:
        """Lines of a text file, counted from 1; the names in a folder. Raises ToolMisuse: it is neither."""
        place = self._place(path)
        if os.path.isdir(place):
            return _entries(path, place)
        lines = list(io.StringIO(self._text(path, place), newline="\n"))
        shown = lines[first - 1 : first - 1 + count]
        if len(shown) == len(lines):
            return "".join(lines) or "(the file is empty)"
        if not shown:
            raise ToolMisuse(f"{path!r} has {len(lines)} lines; there is no line {first}")
        return f"[lines {first} to {first + len(shown) - 1} of {len(lines)}]\n{''.join(shown)}"

    def write(self, path: str, content: str) -> str:
        """Write a whole file, and the folders it is in. Raises ToolMisuse: it cannot be written."""
        place = self._place(path, write=True)
        data = content.encode()
        _write(path, place, data)
        return f"wrote {len(data):,} bytes to {path}"

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace a text that occurs exactly once. Raises ToolMisuse: it does not, or the file cannot be written."""
        place = self._place(path, write=True)
        text = self._text(path, place)
        at = text.find(old)
        if at < 0:
            raise ToolMisuse(f"`old` does not occur in {path!r}; it must be copied exactly, with all spaces")
        if text.find(old, at + 1) >= 0:
            raise ToolMisuse(f"`old` occurs more than once in {path!r}; give more of the text around it")
        _write(path, place, (text[:at] + new + text[at + len(old) :]).encode())
        return f"replaced in line {text.count(chr(10), 0, at) + 1} of {path}"

    def _place(self, path: str, *, write: bool = False) -> Path:
        """Where a path leads, links and all."""
        given = Path(os.path.normpath(path))
        called = self._called and given.is_relative_to(self._called)
        inside = given.relative_to(self._called) if called else path
        place = Path(os.path.realpath(self._workspace / inside))
        if place.is_relative_to(self._workspace):
            return place
        if not any(place.is_relative_to(folder) for folder in self._read_only):
            raise ToolMisuse(f"path {path!r} leads out of the workspace; give one that is relative to it")
        if write:
            raise ToolMisuse(f"path {path!r} can only be read")
        return place

    def _text(self, path: str, place: Path) -> str:
        try:
            with _open(path, place, os.O_RDONLY) as file:
                data = file.read(MAX_READ_BYTES + 1)
        except OSError as error:
            raise ToolMisuse(f"{path!r} cannot be read: {error.strerror}") from None
        if len(data) > MAX_READ_BYTES:
            raise ToolMisuse(f"{path!r} has more than {MAX_READ_BYTES:,} bytes; look at parts of it")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ToolMisuse(f"{path!r} is not UTF-8 text; it has {len(data):,} bytes") from None


def _write(path: str, place: Path, data: bytes) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _open(path, place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            file.write(data)
    except OSError as error:
        raise ToolMisuse(f"{path!r} cannot be written: {error.strerror}") from None


def _open(path: str, place: Path, flags: int):
    """Open a regular file; anything else could block or do worse."""
    descriptor = os.open(place, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ToolMisuse(f"{path!r} is not an ordinary file")
    return os.fdopen(descriptor, "wb" if flags & os.O_WRONLY else "rb")


def _entries(path: str, place: Path) -> str:
    try:
        with os.scandir(place) as entries:
            names = sorted(f"{each.name}/" if each.is_dir(follow_symlinks=False) else each.name for each in entries)
    except OSError as error:
        raise ToolMisuse(f"{path!r} cannot be read: {error.strerror}") from None
    more = [f"... {len(names) - MAX_ENTRIES} more"] if len(names) > MAX_ENTRIES else []
    return f"{path!r} is a folder with:\n" + "\n".join([*names[:MAX_ENTRIES], *more])
