"""Standard output and error that take whatever is written, whoever reads it."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import BufferedWriter, FileIO, TextIOBase, TextIOWrapper
from typing import Any, TextIO, cast

from etude.errors import EtudeError

__all__ = ["Aside", "all_written", "prepare_streams", "result_alone"]


class _Out(FileIO):
    """A pipe or a file that takes whatever is written: a reader that has gone is forgotten, a full disk is noted."""

    failure = ""
    """Why something was not written; empty while all was, or nobody reads it."""

    def write(self, data: Any, /) -> int:
        """How much was taken: all of it when it cannot be written."""
        try:
            return super().write(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        except OSError as error:
            self.failure = error.strerror or str(error)
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
    all_written(before)
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
    all_written(result)


def all_written(stream: TextIO) -> None:
    """Make sure that all that was printed is where it belongs.

    Raises:
        EtudeError: it is not, as when the disk is full.
    """
    stream.flush()
    failure = getattr(getattr(getattr(stream, "buffer", None), "raw", None), "failure", "")
    if failure:
        raise EtudeError(
            f"what was printed on standard output cannot be written: {failure}",
            hint="make room for it, or send it elsewhere, and run the same command again",
        )


def prepare_streams() -> None:
    """Make sure that printing cannot fail a run that has been paid for.

    A reader that has gone, as with `| head`, is nobody's fault: the work goes on, what is printed for it is dropped,
    and the exit code is that of the work. On a full disk the work goes on as well; `all_written` tells afterwards.
    User code that prints is covered too. Characters that a stream cannot take are escaped, and a stream that was
    closed from the start takes everything.
    """
    sys.stdout, sys.stderr = _prepared(sys.stdout), _prepared(sys.stderr)


def _prepared(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, TextIOWrapper):
        return stream
    found = cast("TextIOWrapper[Any]", stream)
    found.reconfigure(errors="backslashreplace")
    if not _can_fail(found):
        return found
    return TextIOWrapper(
        BufferedWriter(_Out(found.fileno(), "wb", closefd=False)),
        encoding=found.encoding,
        errors=found.errors,
        # With `python -u` a stream has no buffer: what is printed is to be seen at once.
        line_buffering=found.line_buffering or not isinstance(found.buffer, BufferedWriter),
    )


def _can_fail(stream: "TextIOWrapper[Any]") -> bool:
    """Whether a stream is one of the system: a pipe, a file or a device, and no terminal."""
    try:
        os.fstat(stream.fileno())
        return not os.isatty(stream.fileno())
    except OSError:  # not a stream of the system, or closed
        return False


def _is_stdout(stream: TextIO) -> bool:
    """Whether a stream writes where the programs that are started here print, and stderr is there to print on."""
    try:
        os.fstat(2)
        return stream.fileno() == 1
    except (OSError, ValueError):  # no stream of the system, or closed
        return False
