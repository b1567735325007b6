import socket

from etude.formats.local_http import loopback


def test_a_connection_to_a_server_here_sends_at_once() -> None:
    with loopback() as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
