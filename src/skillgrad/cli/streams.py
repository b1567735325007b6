"""Standard output and error that take whatever is written, whoever reads it."""

import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import BufferedWriter, FileIO, TextIOBase, TextIOWrapper
from typing import Any, TextIO, cast

__all__ = ["Aside", "prepare_streams", "result_alone"]


class _Pipe(FileIO):
    """A pipe that swallows what is written once its reader has gone."""

    def write(self, data: Any, /) -> int:
        """How much was taken: all of it when nobody reads any more."""
        try:
            return super().write(data)
        except (BrokenPipeError, ConnectionResetError):
            return memoryview(data).nbytes


class Aside(TextIOBase):
    """Standard output for what is no part of the result: it goes to stderr. The result is written to `result`."""

    def __init__(self, result: TextIO) -> None:
        self.result = result

    def write(self, text: str, /) -> int:
        """Print it on stderr."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Have it shown."""
        sys.stderr.flush()

    def isatty(self) -> bool:
        """Whether stderr is a terminal."""
        return sys.stderr.isatty()

    def fileno(self) -> int:
        """That of stderr."""
        return sys.stderr.fileno()

    def writable(self) -> bool:
        """It is."""
        return True

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - read only there as well
        """That of stderr."""
        return sys.stderr.encoding

    @property
    def buffer(self) -> Any:
        """For bytes: that of stderr."""
        return sys.stderr.buffer


@contextmanager
def result_alone() -> Generator[None]:
    """Keep standard output for a result that programs read.

    Code of the user's that prints, and programs that it starts, must not spoil it: what they print goes to stderr.
    """
    before = sys.stdout
    before.flush()
    if not _is_stdout(before):
        with _aside(before):
            yield
        return
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        with (
            open(kept, "w", encoding=before.encoding, errors=before.errors, closefd=False) as own,
            _aside(_prepared(own)),
        ):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def _aside(result: TextIO) -> Generator[None]:
    before = sys.stdout
    sys.stdout = cast(TextIO, Aside(result))
    try:
        yield
    finally:
        sys.stdout = before
        result.flush()


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


def _is_stdout(stream: TextIO) -> bool:
    """Whether a stream writes where the programs that are started here print, and stderr is there to print on."""
    try:
        os.fstat(2)
        return stream.fileno() == 1
    except (OSError, ValueError):  # no stream of the system, or closed
        return False
