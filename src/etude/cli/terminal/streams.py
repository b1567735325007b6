"""Standard output and error that take whatever is written, even when nothing reads it.

Each part is here for a failure that ended or spoilt paid work: a reader that left (`| head`), a full disk, a stream
that was closed from the start, an encoding without the character, and user code that prints into a JSON result.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any, TextIO, cast

from etude.errors import EtudeError

_RESULT: ContextVar[TextIO | None] = ContextVar("result", default=None)


class _Out(FileIO):
    """A pipe or a file that takes whatever is written: a reader that is gone is ignored, a full disk is noted."""

    failure = ""
    """Why something was not written; empty while all was, or nothing reads it."""

    def write(self, data: Any, /) -> int:
        """How much was taken: all of it when it cannot be written."""
        try:
            return super().write(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        except OSError as error:
            self.failure = error.strerror or str(error)
        return memoryview(data).nbytes


def results() -> TextIO:
    """Where results are printed: standard output, also while `result_alone` keeps everything else away from there."""
    kept = _RESULT.get()
    return sys.stdout if kept is None else kept


@contextmanager
def result_alone() -> Generator[None]:
    """Keep standard output for a result that programs read.

    What user code prints, and the programs that it starts, goes to stderr.
    """
    before = sys.stdout
    all_written(before)
    with _moved(before) if _is_stdout(before) else nullcontext(before) as result:
        token = _RESULT.set(result)
        sys.stdout = sys.stderr
        try:
            yield
        finally:
            sys.stdout = before
            _RESULT.reset(token)
            result.flush()
        all_written(result)


@contextmanager
def _moved(stdout: TextIO) -> Generator[TextIO]:
    """Standard output under another number; programs that are started print on stderr meanwhile."""
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        with open(kept, "w", encoding=stdout.encoding, errors=stdout.errors, closefd=False) as own:
            yield _prepared(own)
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def all_written(stream: TextIO) -> None:
    """Make sure that all that was printed is written. Raises EtudeError: it is not, as when the disk is full."""
    stream.flush()
    failure = getattr(getattr(getattr(stream, "buffer", None), "raw", None), "failure", "")
    if failure:
        raise EtudeError(
            f"what was printed on standard output cannot be written: {failure}",
            hint="free some space, or redirect it elsewhere, and run the same command again",
        )


def prepare_streams() -> None:
    """Make sure that printing cannot fail a run whose calls cost money: the work continues, and the exit code is that
    of the work. `all_written` reports a full disk afterwards. User code that prints is covered too."""
    sys.stdout, sys.stderr = _prepared(sys.stdout), _prepared(sys.stderr)


def _prepared(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, TextIOWrapper):
        return stream
    found = cast("TextIOWrapper[Any]", stream)
    found.reconfigure(errors="backslashreplace")
    if not _is_open(found) or os.isatty(found.fileno()):
        return found
    return TextIOWrapper(
        BufferedWriter(_Out(found.fileno(), "wb", closefd=False)),
        encoding=found.encoding,
        errors=found.errors,
        # With `python -u` a stream has no buffer: what is printed is to be seen at once.
        line_buffering=found.line_buffering or not isinstance(found.buffer, BufferedWriter),
    )


def _is_open(stream: TextIO) -> bool:
    """Whether a stream is an open one of the system."""
    try:
        os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return True


def _is_stdout(stream: TextIO) -> bool:
    """Whether a stream writes where the programs that are started here print, and stderr is open."""
    try:
        os.fstat(2)
    except OSError:
        return False
    return _is_open(stream) and stream.fileno() == 1
