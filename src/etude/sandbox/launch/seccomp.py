"""A filter of system calls, for what neither Landlock nor namespaces know: sockets that belong to no network of the
box, and what processes share with the whole machine."""

import ctypes
import errno
import os
import struct

ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""The machines whose call numbers are known: their audit number, and the column below."""

_CALLS = {
    "open": (2, -1),
    "openat": (257, 56),
    "openat2": (437, 437),
    "creat": (85, -1),
    "mknod": (133, -1),
    "mknodat": (259, 33),
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "socket": (41, 198),
    "connect": (42, 203),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "bind": (49, 200),
    "listen": (50, 201),
    "socketpair": (53, 199),
    "clone": (56, 220),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "prlimit64": (302, 261),
    "sendmmsg": (307, 269),
    "setns": (308, 268),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "fallocate": (285, 47),
    "io_uring_setup": (425, 425),
    "clone3": (435, 435),
}

_MODES = ("chmod", "fchmod", "fchmodat", "fchmodat2")
_IPC = ("shmget", "semget", "msgget", "mq_open")
_SHARED = ("add_key", "request_key", "keyctl", "setns", "perf_event_open", "bpf", "userfaultfd")

_LOAD, _EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_GREATER, _GREATER_EQUAL = 0x25, 0x35
_ALLOW, _ERRNO, _NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
_X32 = 0x40000000
_PAGE = 4096
_CREATE, _SET_ID = 0x400040, 0o6000
_NEW_NAMESPACES = 0x7E020080
_FAST_OPEN = 0x20000000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _STREAM = 1, 2, 10, 16, 1
_SET_MODE_FILTER, _NEW_LISTENER, _SECCOMP = 1, 1 << 3, {"x86_64": 317, "aarch64": 277}

_Lines = list[tuple[int, int, int, int]]
_LINE = struct.Struct("=HBBI")


def _modes() -> dict[int, str]:
    column = ARCHITECTURES.get(os.uname().machine, (0, 0))[1]
    return {_CALLS[name][column]: name for name in _MODES}


MODES = _modes()
"""The calls that change permissions, by number."""


def install(network: str) -> int:
    """Filters the calls of this process and all it starts: the descriptor that hears of calls that are done outside.

    Raises OSError.
    """
    data = assembled(network)
    buffer = ctypes.create_string_buffer(data, len(data))
    header = struct.pack("@HP", len(data) // _LINE.size, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(_SECCOMP[os.uname().machine], _SET_MODE_FILTER, ctypes.c_uint(_NEW_LISTENER), header)
    if result < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return result


def assembled(network: str) -> bytes:
    """The filter as the kernel reads it, for one of ARCHITECTURES. `network` is `none`, `gateway` or `host`, else
    `own`: in namespaces, where the network and what processes share (IPC) are those of the box."""
    return b"".join(_LINE.pack(*line) for line in _program(network))


def _program(network: str) -> _Lines:
    audit, column = ARCHITECTURES[os.uname().machine]
    lines: _Lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), _refuse(errno.ENOSYS), (_LOAD, 0, 0, 0)]
    lines += [(_GREATER_EQUAL, 0, 1, _X32), _refuse(errno.ENOSYS)]
    rules = _shared() | (_families() if network in ("host", "own") else _sockets(network))
    rules |= _small_segments() if network == "own" else _of_the_machine()
    for name, body in rules.items():
        lines += [] if _CALLS[name][column] < 0 else [(_EQUAL, 0, len(body), _CALLS[name][column]), *body]
    return [*lines, (_RETURN, 0, 0, _ALLOW)]


def _shared() -> dict[str, _Lines]:
    """Calls for things that are the machine's and not the process's."""
    rules: dict[str, _Lines] = {name: [_refuse(errno.EPERM)] for name in _SHARED}
    rules["io_uring_setup"] = [_refuse(errno.ENOSYS)]  # it would do what the filter forbids
    rules["fallocate"] = [_refuse(errno.EOPNOTSUPP)]  # it fills a disk at once; programs then write
    rules["clone3"] = [_refuse(errno.ENOSYS)]  # its arguments cannot be seen; programs then use clone
    for name in ("clone", "unshare"):
        rules[name] = [_argument(0), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), _refuse(errno.EPERM), _allow()]
    return rules


def _small_segments() -> dict[str, _Lines]:
    """Only segments of a page, as a database has for a lock: nobody sees how much memory those hold that no process
    has attached, nor what waits in message queues."""
    small: _Lines = [_argument(1, upper=True), (_EQUAL, 0, 2, 0), _argument(1), (_GREATER, 0, 1, _PAGE)]
    return {"shmget": [*small, _refuse(errno.ENOMEM), _allow()], "msgget": [_refuse(errno.ENOSPC)]}


def _of_the_machine() -> dict[str, _Lines]:
    """Calls that reach no further than the box where that has namespaces of its own."""
    rules: dict[str, _Lines] = {name: [_refuse(errno.EPERM)] for name in _IPC}
    rules |= {name: [(_RETURN, 0, 0, _NOTIFY)] for name in _MODES}
    rules |= {name: [_refuse(errno.EOPNOTSUPP)] for name in _CALLS if "attr" in name}
    rules["openat2"] = [_refuse(errno.ENOSYS)]  # its arguments cannot be seen; programs then use openat
    for name, flags, mode in (("open", 1, 2), ("openat", 2, 3), ("creat", 0, 1), ("mknod", 0, 1), ("mknodat", 0, 2)):
        making: _Lines = [_argument(flags), (_ANY_BIT, 1, 0, _CREATE), _allow()] if flags else []
        rules[name] = [*making, _argument(mode), (_ANY_BIT, 0, 1, _SET_ID), _refuse(errno.EPERM), _allow()]
    rules["prlimit64"] = [_argument(0), (_EQUAL, 1, 0, 0), _refuse(errno.EPERM), _allow()]
    return rules


def _families() -> dict[str, _Lines]:
    """Sockets that belong to a network namespace: one to the host of a virtual machine (vsock) does not."""
    families = (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)
    known = [(_EQUAL, len(families) - at, 0, family) for at, family in enumerate(families)]
    return {"socket": [_argument(0), *known, _refuse(errno.EAFNOSUPPORT), _allow()]}


def _sockets(network: str) -> dict[str, _Lines]:
    """No sockets but pairs; for the gateway TCP sockets that only `connect`, which is asked for elsewhere."""
    pair: _Lines = [_argument(1), (_AND, 0, 0, 0xF), (_EQUAL, 1, 0, _STREAM), _refuse(errno.EACCES), _allow()]
    rules: dict[str, _Lines] = {name: [_refuse(errno.EACCES)] for name in ("bind", "listen")}
    rules["socketpair"] = pair
    if network != "gateway":
        return rules | {name: [_refuse(errno.EACCES)] for name in ("socket", "connect")}
    rules["connect"] = [(_RETURN, 0, 0, _NOTIFY)]
    rules["socket"] = [
        *[_argument(0), (_EQUAL, 1, 0, _AF_INET), _refuse(errno.EACCES)],
        *[_argument(1), (_AND, 0, 0, 0xF), (_EQUAL, 1, 0, _STREAM), _refuse(errno.EACCES)],
        *[_argument(2), (_EQUAL, 2, 0, 0), (_EQUAL, 1, 0, 6), _refuse(errno.EACCES), _allow()],
    ]
    for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        rules[name] = [_argument(flags), (_ANY_BIT, 0, 1, _FAST_OPEN), _refuse(errno.EACCES), _allow()]
    return rules


def _argument(number: int, *, upper: bool = False) -> tuple[int, int, int, int]:
    """Loads the lower half of an argument, as the kernel reads no more of most that are looked at here, or the upper
    half."""
    return (_LOAD, 0, 0, 16 + 8 * number + 4 * upper)


def _refuse(number: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERRNO | number)


def _allow() -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ALLOW)
