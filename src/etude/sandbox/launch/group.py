"""A control group for one box: there the kernel counts all memory, also what belongs to no process, and keeps the
limit itself."""

from __future__ import annotations

import contextlib
import os

_LEAF = "etude"
"""The group for the processes of a group that is divided: since version 2 such a group holds none itself."""


class NoGroup(Exception):
    """Why no group can be made."""


def place() -> str:
    """The folder where groups can be made: the group of this process, if that was given to it or is the outermost.

    Raises NoGroup.
    """
    try:
        with open("/proc/self/cgroup") as file:
            own = {kinds: path for _, kinds, path in (line.rstrip("\n").split(":", 2) for line in file)}
        with open("/proc/self/mountinfo") as file:
            mounts = [line.split() for line in file]
    except OSError:
        raise NoGroup("this system has no control groups") from None
    for mount in mounts:
        kind, top = mount[mount.index("-") + 1], mount[3]
        wanted = {"cgroup2": "", "cgroup": "memory"}.get(kind)
        path = next((path for kinds, path in own.items() if wanted in kinds.split(",")), "")
        if wanted is None or not path or wanted not in ("", *mount[-1].split(",")):
            continue
        if os.path.basename(path) == _LEAF:
            path = os.path.dirname(path)
        folder = os.path.normpath(f"{mount[4]}/{os.path.relpath(path, top)}")
        if kind == "cgroup2" and "memory" not in _read(folder, "cgroup.controllers"):
            continue
        if not os.access(folder, os.W_OK) or (path != top and not _delegated(folder)):
            raise NoGroup("the control group of this process was not given to it")
        if kind == "cgroup2":
            _divide(folder)
        return folder
    raise NoGroup("this system has no control groups for memory")


def _delegated(folder: str) -> bool:
    """As systemd notes it."""
    return bool({"user.delegate", "trusted.delegate"} & {*os.listxattr(folder)})


def _divide(folder: str) -> None:
    """Lets the groups in it have limits of memory."""
    try:
        with contextlib.suppress(OSError):  # the first group of a machine needs no more, nor one that is divided
            _write(folder, "cgroup.subtree_control", "+memory")
            return
        os.makedirs(f"{folder}/{_LEAF}", exist_ok=True)
        for pid in _read(folder, "cgroup.procs").split():
            with contextlib.suppress(ProcessLookupError):
                _write(f"{folder}/{_LEAF}", "cgroup.procs", pid)
        _write(folder, "cgroup.subtree_control", "+memory")
    except OSError as error:
        raise NoGroup(f"the control group of this process cannot be divided: {error.strerror}") from None


class ControlGroup:
    """A new group in `folder`, if that is not empty, of at most `memory` bytes."""

    def __init__(self, folder: str, memory: int) -> None:
        self._folder = folder and f"{folder}/{_LEAF}-{os.getpid()}"
        if not folder:
            return
        os.mkdir(self._folder)
        if os.path.exists(f"{self._folder}/memory.max"):
            limits = {"memory.max": memory, "memory.swap.max": 0, "memory.oom.group": 1}
        else:
            limits = {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}
        for name, value in limits.items():
            if os.path.exists(f"{self._folder}/{name}"):  # those of swap are not everywhere
                _write(self._folder, name, str(value))

    def enter(self) -> None:
        """Puts this process into the group."""
        if self._folder:
            _write(self._folder, "cgroup.procs", "0")

    def exceeded(self) -> bool:
        """Whether the kernel ended a process because the group had no memory left."""
        found = _read(self._folder, "memory.events") or _read(self._folder, "memory.oom_control")
        return any(line.startswith("oom_kill ") and line != "oom_kill 0" for line in found.splitlines())

    def close(self) -> None:
        """Removes the group, when nothing runs in it any more."""
        if self._folder:
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)


def _read(folder: str, name: str) -> str:
    try:
        with open(f"{folder}/{name}") as file:
            return file.read()
    except OSError:
        return ""


def _write(folder: str, name: str, text: str) -> None:
    with open(f"{folder}/{name}", "w") as file:
        file.write(text)
