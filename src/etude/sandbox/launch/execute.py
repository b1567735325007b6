"""Becoming another program, and the descriptors that bubblewrap gets by their number."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

FILTER, STATUS = 20, 21
"""Descriptors of bubblewrap: the filter of system calls, to be read; where it writes how the program ended."""
NOT_STARTED = 127
"""Exit code of a program that cannot be run, as shells have it."""


def become(argv: list[str]) -> NoReturn:
    """Runs `argv` in the place of this process, with signals as a shell leaves them; exit code NOT_STARTED if it
    cannot be run. To be called in a process that has nothing else to do."""
    try:
        _forget_locale()
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        problem = _execute(argv)
        os.write(2, f"cannot start '{argv[0]}': {os.strerror(problem)}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def said_by(argv: list[str], seconds: float) -> str:
    """Runs another program as a child that is left to the caller, and says what it wrote until it closed its output
    or this time was over."""
    read, write = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # none is to meet our handlers in the child
    child = os.fork()
    if not child:
        os.setsid()
        os.dup2(write, 1)
        become(argv)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.close(write)
    said, deadline = b"", time.monotonic() + seconds
    while select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
        data = os.read(read, 4096)
        if not data:
            break
        said += data
    os.close(read)
    return said.decode("ascii", "replace")


def _execute(argv: list[str]) -> int:
    """Returns only with the number of an error. As `os.execvp`, which imports modules: those may be out of reach."""
    problem = errno.ENOENT
    folders = [""] if "/" in argv[0] else os.environ.get("PATH", os.defpath).split(":")
    for folder in folders:
        try:
            os.execv(f"{folder}/{argv[0]}" if folder else argv[0], argv)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problem = error.errno or problem
    return problem


def _forget_locale() -> None:
    """Python sets LC_CTYPE for itself where no locale is given; the program is to have what was given and no more."""
    with contextlib.suppress(OSError):
        with open("/proc/self/environ", "rb") as file:
            given = file.read().split(b"\0")
        if not any(line.startswith(b"LC_CTYPE=") for line in given):
            os.environ.pop("LC_CTYPE", None)


def hand(status: int, filter: bytes) -> None:
    """Puts both in their places, in the process that becomes the sandbox."""
    os.dup2(status, STATUS)
    if filter:
        memory = os.memfd_create("filter")
        os.write(memory, filter)
        os.lseek(memory, 0, os.SEEK_SET)
        os.dup2(memory, FILTER)


def started(status: int) -> bool:
    """Whether the sandbox, which has ended, ran the program: only then it writes an exit code."""
    os.set_blocking(status, False)
    try:
        return b'"exit-code"' in os.read(status, 65536)
    except BlockingIOError:
        return False
