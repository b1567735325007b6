"""The first process of a box made of Landlock: gives up what it does not need and becomes the program."""

from __future__ import annotations

import ctypes
import os
import struct

from .execute import become
from .landlock import READ, WRITE, confine
from .seccomp import install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522
_DROP_BOUND = 24


def main(orders: dict[str, Any], argv: list[str]) -> NoReturn:
    """Runs `argv` with the files of `read` and `write`, and the network `network`."""
    from .door import leave_outside  # takes time to import

    rules = [(path, READ) for path in orders["read"]] + [(path, WRITE) for path in orders["write"]]
    network: str = orders["network"]
    _drop_capabilities()
    folders = tuple(os.path.realpath(path) + "/" for path in orders["write"] if os.path.isdir(path))
    hand_over = leave_outside(orders["port"], orders["socket"], folders)
    hand_over(_close(rules, network))
    os.environ["GIT_CONFIG_NOSYSTEM"] = "1"  # git gives up where /etc/gitconfig is there and cannot be read
    become(argv)


def _close(rules: list[tuple[str, int]], network: str) -> int:
    """Shuts the box with this process in it. Nothing runs in one that cannot be shut."""
    try:
        confine(rules, network=network == "host")
        return install(network)
    except OSError as error:
        os.write(2, f"cannot close the box: {error}\n".encode())
        os._exit(126)


def _drop_capabilities() -> None:
    """Leaves root with no more than the rights of the owner of its files."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(_DROP_BOUND, capability, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    libc.syscall(_CAPSET[os.uname().machine], header, bytes(24))
