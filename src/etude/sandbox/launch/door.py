"""The one way out of a box made of Landlock: a process outside does what the kernel asks it to do for the program.

For `connect` it reads the address, and for the gateway's it connects a socket of its own and puts it in the place of
the program's; every other address is refused. Permissions are changed for files in the box only. The program's memory
is read once, so that changing it meanwhile gains nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import socket
import struct
import threading

from . import modes
from .bridge import listen, serve
from .seccomp import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_RECEIVE, _SEND, _VALID, _ADD = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
_REPLACE = 1


def leave_outside(port: int, path: str, folders: tuple[str, ...]) -> Callable[[int], None]:
    """Splits this process. One stays outside, keeps the door open (127.0.0.1:`port` is the Unix socket `path`, if it
    has one; `folders` are those of the box), and ends as the other does. The other continues with what is returned,
    to hand over the descriptor of its filter."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child:
        theirs.close()
        _stay(child, ours, port, path, folders)
    ours.close()

    def hand_over(listener: int) -> None:
        socket.send_fds(theirs, [b"door"], [listener])
        os.close(listener)
        theirs.close()

    return hand_over


def _stay(child: int, channel: socket.socket, port: int, path: str, folders: tuple[str, ...]) -> NoReturn:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _, listeners, _, _ = socket.recv_fds(channel, 16, 1)
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    for listener in listeners:
        address = ("", 0)
        if path:
            server = listen(0)
            address = server.getsockname()
            threading.Thread(target=serve, args=(server, path), daemon=True).start()
        threading.Thread(target=_answer, args=(listener, port, address, folders), daemon=True).start()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        with contextlib.suppress(OSError):  # SIGKILL has no other handling than the default
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _answer(listener: int, port: int, address: tuple[str, int], folders: tuple[str, ...]) -> None:
    while True:
        request = bytearray(80)
        try:
            fcntl.ioctl(listener, _RECEIVE, request, True)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):  # the one who asked is gone
                continue
            return
        cookie, pid, _, call = struct.unpack_from("=QIIi", request)
        words = struct.unpack_from("=QQQQ", request, 32)
        try:
            if call in MODES:
                modes.change(pid, MODES[call], words, folders)
            else:
                _connect(listener, cookie, pid, (words[0] & 0xFFFFFFFF, *words[1:3]), port, address)
            answer = 0
        except OSError as error:
            answer = -(error.errno or errno.EACCES)
        with contextlib.suppress(OSError):
            fcntl.ioctl(listener, _SEND, bytearray(struct.pack("=QqiI", cookie, 0, answer, 0)), True)


def _connect(
    listener: int, cookie: int, pid: int, call: tuple[int, int, int], port: int, address: tuple[str, int]
) -> None:
    """Puts a connected socket in the place of the program's. Raises OSError for any other address."""
    number, pointer, length = call
    wanted = modes.read(pid, pointer, min(length, 16))[:8]
    with open(f"/proc/{pid}/fdinfo/{number}", "rb") as file:
        flags = next(int(line.split()[1], 8) for line in file if line.startswith(b"flags:"))
    fcntl.ioctl(listener, _VALID, struct.pack("=Q", cookie))  # the memory was that of the one who asks
    if wanted != struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton("127.0.0.1"):
        raise OSError(errno.EACCES, "not the gateway")
    with socket.create_connection(address) as ours:
        os.set_blocking(ours.fileno(), not flags & os.O_NONBLOCK)
        order = struct.pack("=QIIII", cookie, _REPLACE, ours.fileno(), number, flags & os.O_CLOEXEC)
        fcntl.ioctl(listener, _ADD, order)
