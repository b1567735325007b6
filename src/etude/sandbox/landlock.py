"""Landlock: the kernel confines the program in place, where namespaces are not to be had."""

import os
import platform
import sys
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from etude.errors import ConfigError
from etude.sandbox.box import PROGRAMS, SETTINGS, SETTINGS_FOR_NETWORK, Box, Limits
from etude.sandbox.launch.landlock import version
from etude.sandbox.launch.seccomp import ARCHITECTURES
from etude.sandbox.launcher import launcher
from etude.sandbox.sandbox import Sandbox, Wrapped

LEAST_VERSION = 4
"""The first version of Landlock that knows of TCP (Linux 6.7)."""

_SETTINGS = (*SETTINGS, "group", "hosts", "passwd")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


class Landlock(Sandbox):
    """Rules on files and TCP (Landlock), a filter of system calls (seccomp), no capabilities, no new privileges.

    Denied: opening, making, changing the content or permissions of, moving and deleting any file outside of the box;
    set-uid and set-gid; extended attributes; the memory, environment and open files of other processes; signals to
    them (Linux 6.12 on); every socket, or with `gateway` every one but TCP to the gateway; what processes share
    through the kernel (System V IPC, keys, POSIX queues).

    Not denied, as Landlock has no rule for it: seeing that a path outside exists, its size and its owner; changing
    times of files that belong to the user, or their group to another one of the user; the list of processes with
    their command lines in /proc; signals to the user's processes before Linux 6.12; writing to a readable folder
    inside of a writable one, as rights only add up.

    Programs do without /dev/shm, Unix sockets and namespaces of their own, and find no /tmp but the folders of the
    box.
    """

    name = "Landlock"

    def wrap(self, argv: Sequence[str], box: Box, limits: Limits, env: Mapping[str, str]) -> Wrapped:
        """The command line with the process in front that confines itself."""
        settings = (*_SETTINGS, *SETTINGS_FOR_NETWORK) if box.network == "host" else _SETTINGS
        read = [*PROGRAMS, "/proc", *(f"/etc/{name}" for name in settings), *map(str, box.readable)]
        write = [*map(str, (box.workspace, *box.writable)), *_DEVICES]
        if "/" in map(os.path.realpath, (*read, *write)):
            raise ConfigError("the path '/' cannot be put into a box", hint="name the folders the program needs")
        orders: dict[str, JsonValue] = {"read": [*read], "write": [*write], "network": box.network}
        gateway = os.path.realpath(box.socket) if box.network == "gateway" and box.socket else ""
        orders |= {"port": box.port, "socket": gateway}
        return Wrapped(launcher("restrict", orders, argv), env, limits)

    def missing(self) -> str:
        """What this machine lacks for it; nothing if it has all."""
        if sys.platform != "linux":
            return "it is a part of Linux"
        if platform.machine() not in ARCHITECTURES:
            return f"not known for '{platform.machine()}'"
        if version() < LEAST_VERSION:
            return f"the kernel has version {version()}, {LEAST_VERSION} or newer is needed"
        return ""
