"""A door between two worlds: connections to a TCP port of the loopback interface go on to a Unix socket."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading

from .execute import become

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_CHUNK = 65536


def main(orders: dict[str, Any], argv: list[str]) -> NoReturn:
    """The first process inside of a box that has a network of its own: forwards 127.0.0.1:`port` to the Unix socket
    `socket` and becomes the program."""
    _detach(listen(orders["port"]), orders["socket"])
    become(argv)


def listen(port: int) -> socket.socket:
    """A socket that listens at 127.0.0.1; at any free port for 0."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(64)
    return server


def serve(server: socket.socket, path: str) -> None:
    """Forwards every connection, without end."""
    while True:
        with contextlib.suppress(OSError):
            inner, _ = server.accept()
            threading.Thread(target=_forward, args=(inner, path), daemon=True).start()


def _detach(server: socket.socket, path: str) -> None:
    """Forwards in a process of its own without a parent here, so that the program never has to wait for it."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        server.close()
        return
    try:
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            nothing = os.open("/dev/null", os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            serve(server, path)
    finally:
        os._exit(0)


def _forward(inner: socket.socket, path: str) -> None:
    outer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with inner, outer:
        try:
            inner.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            outer.connect(path)
        except OSError:
            return
        back = threading.Thread(target=_pump, args=(outer, inner), daemon=True)
        back.start()
        _pump(inner, outer)
        back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Copies until `source` has no more, and says so to `sink`. A sink that takes no more ends the source, too."""
    try:
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    except OSError:
        with contextlib.suppress(OSError):
            source.shutdown(socket.SHUT_RD)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
