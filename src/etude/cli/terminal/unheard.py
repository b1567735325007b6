"""Ends a process in which Ctrl-C and SIGTERM are not heard.

Handlers of signals are Python, and run between two of its instructions. Code in C that keeps the interpreter to
itself (a regular expression that never ends, the sum of a huge range) holds them off, also from a thread of its own.
Only what stands outside can end that.
"""

import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

_GUARD = """
import os, select, signal, sys, time
etude, seconds, end = int(sys.argv[1]), float(sys.argv[2]), None
while select.select([0], [], [], end and max(0, end - time.monotonic()))[0]:
    said = os.read(0, 1) or sys.exit()  # it has ended
    if said == b"\\0":
        end = None
    elif said[0] in (signal.SIGINT, signal.SIGTERM):
        end = end or time.monotonic() + seconds
if os.getppid() != etude:
    sys.exit()
os.kill(etude, signal.SIGUSR1)
time.sleep(1)
try:
    print("\\x1b[?25h" * sys.stderr.isatty(), end="", file=sys.stderr)  # the cursor
    print("error: ended by force, since code in C did not let Python go on: see above where", file=sys.stderr)
    print("hint: run the same command again to resume", file=sys.stderr, flush=True)
finally:
    os.kill(etude, signal.SIGKILL)
"""


@contextmanager
def ended_if_unheard(seconds: float = 10.0) -> Generator[Callable[[], object]]:
    """End this process if Ctrl-C, or a SIGTERM that has a handler, stays unheard so long, and say where its threads
    are. Yields what a handler calls to say that it runs."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    words = [sys.executable, "-I", "-S", "-c", _GUARD, str(os.getpid()), str(seconds)]
    guard = subprocess.Popen(words, stdin=reading, stdout=subprocess.DEVNULL, start_new_session=True)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)  # C writes there when a signal arrives
    os.register_at_fork(after_in_child=partial(signal.set_wakeup_fd, -1))  # those of a copy are its own
    faulthandler.register(signal.SIGUSR1, 2)
    try:
        yield partial(os.write, writing, b"\0")
    finally:
        faulthandler.unregister(signal.SIGUSR1)
        signal.set_wakeup_fd(before)
        os.close(writing)
        os.close(reading)
        guard.kill()
        guard.wait()
