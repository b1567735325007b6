"""The first process of a box made of Landlock: gives up what it does not need and becomes the program."""

import contextlib
import ctypes
import os
import signal
import socket
import struct
import sys
from typing import Any, NoReturn

from .door import open_door
from .execute import become
from .landlock import READ, WRITE, confine
from .seccomp import install

__all__ = ["main"]

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522
_DROP_BOUND = 24


def main(orders: dict[str, Any], argv: list[str]) -> NoReturn:
    """Runs `argv` with the files of `read` and `write`, and the network `network`."""
    rules = [(path, READ) for path in orders["read"]] + [(path, WRITE) for path in orders["write"]]
    network: str = orders["network"]
    _drop_capabilities()
    ours, theirs = socket.socketpair()
    child = os.fork() if network == "gateway" else 0
    if child:
        sys.exit(_stay(child, orders, ours, theirs))
    _close(rules, network, theirs)
    ours.close()
    theirs.close()
    become(argv)


def _close(rules: list[tuple[str, int]], network: str, door: socket.socket) -> None:
    """Shuts the box with this process in it. Nothing runs in one that cannot be shut."""
    try:
        confine(rules, network=network == "host")
        listener = install(network)
    except OSError as error:
        os.write(2, f"cannot close the box: {error}\n".encode())
        os._exit(126)
    if listener is not None:
        socket.send_fds(door, [b"door"], [listener])
        os.close(listener)


def _stay(child: int, orders: dict[str, Any], ours: socket.socket, theirs: socket.socket) -> int:
    """Keeps the door until the program ends; ends as it did."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    theirs.close()
    _, listeners, _, _ = socket.recv_fds(ours, 16, 1)
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    for listener in listeners:
        open_door(listener, orders["port"], orders["socket"])
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    with contextlib.suppress(OSError):  # SIGKILL has no other handling than the default
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
    return 128 + os.WTERMSIG(status)


def _drop_capabilities() -> None:
    """Leaves root with no more than the rights of the owner of its files."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(_DROP_BOUND, capability, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    libc.syscall(_CAPSET[os.uname().machine], header, bytes(24))
