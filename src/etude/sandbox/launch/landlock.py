"""Landlock by system call: from here on, this process and all it starts may use only the files that were named."""

import ctypes
import os
import stat
import struct

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_ALL = (1 << 16) - 1
_MAKE_DEVICES = 1 << 6 | 1 << 11

READ = _EXECUTE | _READ_FILE | _READ_DIR
"""Read, list, run."""
WRITE = _ALL & ~_MAKE_DEVICES
"""Everything but making devices."""

_TCP = 1 << 0 | 1 << 1
_SIGNALS, _ABSTRACT_SOCKETS = 1 << 1, 1 << 0
_NO_NEW_PRIVILEGES = 38


def version() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    return max(0, _libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1)))


def confine(rules: list[tuple[str, int]], *, network: bool) -> None:
    """Allows the rights of `rules` below their paths and nothing else; no TCP either unless `network`.

    Paths that do not exist are left out. Raises OSError.
    """
    abi = version()
    known = _ALL if abi >= 5 else _ALL & ~_IOCTL_DEV  # version 4 is the least that is used
    scopes = 0 if abi < 6 else _SIGNALS | (0 if network else _ABSTRACT_SOCKETS)
    attributes = struct.pack("=QQQ", known, 0 if network else _TCP, scopes)
    ruleset = _call(_CREATE, attributes, ctypes.c_size_t(24 if abi >= 6 else 16), ctypes.c_uint(0))
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & known)
        _prctl_no_new_privileges()
        _call(_RESTRICT, ruleset, ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        _call(_ADD, ruleset, ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
    finally:
        os.close(place)


def _prctl_no_new_privileges() -> None:
    if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")


def _call(number: int, *arguments: object) -> int:
    result = _libc().syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock")
    return result


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
