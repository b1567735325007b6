"""The descriptors of bubblewrap, which gets them by their number: what it reads, and where it writes its status."""

from __future__ import annotations

import os

FILTER, STATUS = 20, 21
"""Descriptors: the filter of system calls, to be read; where the sandbox writes how the program ended."""


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
