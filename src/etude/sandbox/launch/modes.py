"""Permissions of files under Landlock, which has no rule for them: a process outside changes those of the box."""

from __future__ import annotations

import errno
import os

_HERE, _NOFOLLOW, _EMPTY_PATH = 0xFFFFFF9C, 0x100, 0x1000
_SET_ID = 0o6000
_LONGEST_PATH = 4096


def change(pid: int, call: str, words: tuple[int, ...], folders: tuple[str, ...]) -> None:
    """Does the `call` of a process for files below `folders`, which end with a slash. Raises OSError for others, and
    for set-uid and set-gid."""
    forms = {"chmod": (_HERE, *words[:2], 0), "fchmod": (words[0], 0, words[1], _EMPTY_PATH)}
    folder, pointer, mode, flags = forms.get(call, (*words[:3], words[3] if call == "fchmodat2" else 0))
    folder &= 0xFFFFFFFF
    path = "" if call == "fchmod" else os.fsdecode(read(pid, pointer, _LONGEST_PATH).split(b"\0")[0])
    if not path and not flags & _EMPTY_PATH:
        raise OSError(errno.ENOENT, "no path")
    if path.startswith("/proc/self/"):
        path = path.replace("self", str(pid), 1)
    start = f"/proc/{pid}/cwd" if folder == _HERE else f"/proc/{pid}/fd/{folder}"
    how = os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if flags & _NOFOLLOW else 0)
    place = os.open(os.path.join(start, path) if path else start, how)
    try:
        where = f"/proc/self/fd/{place}"
        if mode & _SET_ID or not f"{os.readlink(where)}/".startswith(folders):
            raise OSError(errno.EPERM, "not in the box")
        os.chmod(where, mode & 0o1777)
    finally:
        os.close(place)


def read(pid: int, pointer: int, length: int) -> bytes:
    """What is in the memory of a process: at most `length` bytes."""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(memory, length, pointer)
    finally:
        os.close(memory)
