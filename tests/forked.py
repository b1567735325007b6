"""A process that is a copy of this one: it has pipes, signals and a terminal of its own, and imports nothing, which
takes longer than most of what tests look at."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from etude.cli.main import main


def forked(words: Sequence[str], env: Mapping[str, str] | None = None, **streams: Any) -> subprocess.Popen[Any]:
    """`etude` with these words, started."""
    return subprocess.Popen([sys.executable], **as_copy(lambda: main(words), env), **streams)


def exit_code(work: Callable[[], int]) -> int:
    """How a copy ends that does this work; below 0 if a signal ends it."""
    return subprocess.run([sys.executable], **as_copy(work), timeout=60).returncode


def as_copy(work: Callable[[], int], env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What makes `Popen` do this work, whose result is the exit code, in place of a program."""

    def copy() -> None:
        os.closerange(3, 4096)  # what the test holds, and the pipe by which `Popen` waits for the start of a program
        gc.freeze()  # nothing of the test is to be closed a second time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = 1
        try:
            if env is not None:
                os.environ.clear()
                os.environ.update(env)
                tempfile.tempdir = None
            sys.stdin, sys.stdout, sys.stderr = map(_standard, range(3))
            code = work()
        except BaseException:  # noqa: BLE001 - the copy ends here
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    return {"preexec_fn": copy, "restore_signals": False}


def _standard(number: int) -> TextIO:
    return open(number, "w" if number else "r", closefd=False)
