"""The command in a process of its own that is a copy of this one: it has pipes, signals and a terminal, and imports
nothing, which takes longer than most of what the tests look at."""

import gc
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from etude.cli.main import main


def forked(words: Sequence[str], env: Mapping[str, str] | None = None, **streams: Any) -> subprocess.Popen[Any]:
    """`etude` with these words, started."""

    def work() -> None:
        os.closerange(3, 4096)  # what the test holds, and the pipe by which `Popen` waits for the start of a program
        gc.freeze()  # nothing of the test is to be closed a second time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = 1
        try:
            if env is not None:
                os.environ.clear()
                os.environ.update(env)
            sys.stdin, sys.stdout, sys.stderr = (
                open(number, mode, closefd=False) for number, mode in enumerate(("r", "w", "w"))
            )
            code = main(words)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    return subprocess.Popen([sys.executable], preexec_fn=work, restore_signals=False, **streams)
