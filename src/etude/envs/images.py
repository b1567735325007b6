"""Pictures that belong to tasks.

A task names its pictures by reference, `name#sha256=<64 hex digits>`. So its record stays small, and a changed
picture makes another task. The bytes are read again when a model is sent them.
"""

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from etude.envs.workspaces import check_inside
from etude.errors import DataError, raising

MOST_BYTES = 20_000_000
"""A larger picture is refused: providers do, and what is sent is a third larger still."""

_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,(?P<data>.*)", re.DOTALL)
_MARK = "#sha256="


def is_web(value: str) -> bool:
    """Whether a picture is named by an address that the provider fetches."""
    return value.lower().startswith(("http://", "https://"))


def media_type(data: bytes) -> str | None:
    """The kind of picture, from its first bytes; None for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


@dataclass(frozen=True, slots=True)
class _Source:
    kind: str
    load: Callable[[], bytes]
    what: str


class Images:
    """The pictures of an environment, by reference."""

    def __init__(self) -> None:
        self._sources: dict[str, _Source] = {}
        self._files: dict[tuple[Path, Path | None], str] = {}

    def add(self, value: str, folder: Path | None, place: str) -> str:
        """What a task holds for a path (inside `folder`, if one is given), a data URL, a reference of this object or
        an http(s) address. Raises DataError: the file is missing, outside, too large or no picture; names it, and
        `place`."""
        if is_web(value) or value in self._sources:
            return value
        if value.lower().startswith("data:"):
            data = _decoded(value, place)
            return self.add_bytes(lambda: data, "image", f"{place}: the image")
        path = Path(os.path.abspath(value if folder is None else folder / value))
        if (path, folder) not in self._files:
            what = f"{place}: image {value[:200]!r}"
            if folder is not None:
                check_inside(path, folder, what)
            _check_size(_size(path, what), what)
            self._files[path, folder] = self.add_bytes(path.read_bytes, path.name, what)
        return self._files[path, folder]

    def add_bytes(self, load: Callable[[], bytes], name: str, what: str) -> str:
        """The reference of a picture whose bytes `load` returns, now and whenever it is sent. `what` is what errors
        call it. Raises DataError: it cannot be read, is too large or no picture."""
        data = _loaded(load, what)
        _check_size(len(data), what)
        kind = media_type(data)
        if kind is None:
            raise DataError(f"{what} is not a PNG, JPEG, GIF or WebP", hint="convert it to one of these")
        reference = f"{name.replace('#', '-')}{_MARK}{hashlib.sha256(data).hexdigest()}"
        self._sources.setdefault(reference, _Source(kind, load, what))
        return reference

    def url(self, reference: str) -> str:
        """What a model is sent: a data URL for a reference; addresses and data URLs as they are. Reads a file.
        Raises DataError: the file has changed or is gone, or the reference comes from elsewhere."""
        if is_web(reference) or reference.lower().startswith("data:"):
            return reference
        source = self._sources.get(reference)
        if source is None:
            raise DataError(
                f"image {reference[:200]!r} belongs to no task of this environment",
                hint="give an http(s) address or a data URL",
            )
        data = _loaded(source.load, source.what)
        if hashlib.sha256(data).hexdigest() != reference.rpartition(_MARK)[2]:
            raise DataError(f"{source.what} has changed since it was first read", hint="start again")
        return f"data:{source.kind};base64,{base64.b64encode(data).decode()}"


def _size(path: Path, what: str) -> int:
    try:
        if path.is_file():
            return path.stat().st_size
        problem = "is a folder" if path.is_dir() else "does not exist"
    except OSError as error:  # a name can be too long to be looked for
        problem = f"cannot be read: {error.strerror}"
    raise DataError(f"{what} {problem}", hint=f"it was looked for at {str(path)[:300]!r}")


def _loaded(load: Callable[[], bytes], what: str) -> bytes:
    with raising(DataError, f"{what} cannot be read", "give a file that you may read"):
        return load()


def _decoded(url: str, place: str) -> bytes:
    match = _DATA_URL.fullmatch(url)
    try:
        return base64.b64decode(match["data"] if match else "?", validate=True)
    except binascii.Error:
        raise DataError(
            f"{place}: {url[:40]!r} is not a data URL of an image", hint="as in data:image/png;base64,iVBORw0..."
        ) from None


def _check_size(size: int, what: str) -> None:
    if size > MOST_BYTES:
        raise DataError(
            f"{what} has {size / 1e6:.1f} MB; at most {MOST_BYTES / 1e6:.0f} MB can be sent", hint="make it smaller"
        )
