"""Standard output and error that take whatever is written, whoever reads it."""

import os
import stat
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any, TextIO, cast

__all__ = ["prepare_streams"]


class _Pipe(FileIO):
    """A pipe that swallows what is written once its reader has gone."""

    def write(self, data: Any, /) -> int:
        """How much was taken: all of it when nobody reads any more."""
        try:
            return super().write(data)
        except (BrokenPipeError, ConnectionResetError):
            return memoryview(data).nbytes


def prepare_streams() -> None:
    """Make sure that printing cannot fail a run that has been paid for.

    A reader that has gone, as with `| head`, is nobody's fault: the work goes on, what is printed for it is dropped,
    and the exit code is that of the work. User code that prints is covered as well. Characters that a stream cannot
    take are escaped, and a stream that was closed from the start takes everything.
    """
    sys.stdout, sys.stderr = _prepared(sys.stdout), _prepared(sys.stderr)


def _prepared(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, TextIOWrapper):
        return stream
    found = cast("TextIOWrapper[Any]", stream)
    found.reconfigure(errors="backslashreplace")
    if not _is_pipe(found):
        return found
    return TextIOWrapper(
        BufferedWriter(_Pipe(found.fileno(), "wb", closefd=False)),
        encoding=found.encoding,
        errors=found.errors,
        # With `python -u` a stream has no buffer: what is printed is to be seen at once.
        line_buffering=found.line_buffering or not isinstance(found.buffer, BufferedWriter),
    )


def _is_pipe(stream: "TextIOWrapper[Any]") -> bool:
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:  # not a stream of the system, or closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
