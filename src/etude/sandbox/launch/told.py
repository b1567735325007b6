"""What a sandbox of its own process is told and tells: bubblewrap, which is given descriptors by their number."""

from __future__ import annotations

import os

FILTER, STATUS = 20, 21
"""Descriptors: the filter of system calls, to be read; where the sandbox tells of the program, to be written."""


def hand(status: int, filter: bytes) -> None:
    """Puts both in their places, in the process that becomes the sandbox."""
    os.dup2(status, STATUS)
    if filter:
        memory = os.memfd_create("filter")
        os.write(memory, filter)
        os.lseek(memory, 0, os.SEEK_SET)
        os.dup2(memory, FILTER)


def started(told: int) -> bool:
    """Whether the sandbox, which has ended, ran the program: only then it tells of its exit code."""
    os.set_blocking(told, False)
    try:
        return b'"exit-code"' in os.read(told, 65536)
    except BlockingIOError:
        return False
