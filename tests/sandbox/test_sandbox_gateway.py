"""A program in a box reaches the gateway under an address of its own, and nothing else."""

import asyncio
import json
import os
import socket
from pathlib import Path

import pytest
from sandbox_boxes import living, play, python
from sandbox_fixtures import EITHER

from etude.sandbox import Limits

PORT = 8317

CLIENT = """
import json, socket, sys
def ask(port, body=b"", family=socket.AF_INET, host="127.0.0.1"):
    with socket.socket(family, socket.SOCK_STREAM) as ours:
        ours.settimeout(60)
        ours.connect((host, port))
        ours.sendall(b"POST /v1 HTTP/1.1\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
        reply = b""
        while data := ours.recv(65536):
            reply += data
    return reply.partition(b"\\r\\n\\r\\n")[2].decode()
"""


class Gateway:
    """A small HTTP server at a Unix socket: it answers with the length of what it was sent and a long tail."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.requests = 0
        self.open = 0

    async def __aenter__(self) -> "Gateway":
        self._server = await asyncio.start_unix_server(self._answer, self.path)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests += 1
        self.open += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split()[0])
            body = await reader.readexactly(length)
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            if body == b"hang":
                await reader.read()
            elif body == b"stream":
                for number in range(3):
                    writer.write(b"event %d\n" % number)
                    await writer.drain()
                    await asyncio.sleep(0.05)
            else:
                writer.write(b"%d bytes %b" % (length, b"y" * 300_000))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()


@pytest.fixture
async def gateway(tmp_path_factory):
    async with Gateway(tmp_path_factory.mktemp("g") / "s") as gateway:
        yield gateway


async def ask(sandbox, workspace, gateway, argv, **more):
    """Runs a program that knows where the gateway is."""
    return await play(sandbox, argv, workspace, network="gateway", socket=gateway.path, port=PORT, **more)


CLIENTS = {
    "one after the other": (
        f"print([len(ask({PORT}, b'x' * size)) for size in (0, 1, 2_000_000)])",
        b"[300008, 300008, 300014]",
    ),
    "as they are written": (f"print(repr(ask({PORT}, b'stream')))", b"'event 0\\nevent 1\\nevent 2\\n'"),
    "many at once": (
        f"""
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(16) as threads:
    print(sum(map(len, threads.map(lambda _: ask({PORT}, b"x"), range(32)))))
""",
        b"%d" % (32 * 300_008),
    ),
    "without blocking": (
        f"""
import asyncio
async def ask(size):
    reader, writer = await asyncio.open_connection("127.0.0.1", {PORT})
    writer.write(b"POST /v1 HTTP/1.1\\r\\nContent-Length: %d\\r\\n\\r\\n" % size + b"x" * size)
    reply = await reader.read()
    writer.close()
    return len(reply.partition(b"\\r\\n\\r\\n")[2])
async def main():
    print(await asyncio.gather(*map(ask, (1, 1_000_000))))
asyncio.run(main())
""",
        b"[300008, 300014]",
    ),
}


@pytest.mark.parametrize(("client", "said"), CLIENTS.values(), ids=CLIENTS)
async def test_the_gateway_answers_at_its_address(sandbox, workspace, gateway, client, said) -> None:
    done = await ask(sandbox, workspace, gateway, python(CLIENT + client))
    assert (done.stderr, done.stdout.strip()) == (b"", said)


async def test_a_socket_stays_as_the_program_made_it(sandbox, workspace, gateway) -> None:
    code = f"""
import os, select, socket
for blocking in (True, False):
    with socket.socket() as ours:
        ours.setblocking(blocking)
        ours.connect_ex(("127.0.0.1", {PORT}))
        select.select([], [ours], [])
        print(ours.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), ours.getpeername()[0])
        print(os.get_blocking(ours.fileno()), os.get_inheritable(ours.fileno()))
"""
    done = await ask(sandbox, workspace, gateway, python(code))
    assert done.stderr == b""
    assert done.stdout == b"0 127.0.0.1\nTrue False\n0 127.0.0.1\nFalse False\n"


async def test_several_boxes_use_the_same_address_at_once(sandbox, workspace, gateway, tmp_path_factory) -> None:
    other = Gateway(tmp_path_factory.mktemp("h") / "s")
    code = CLIENT + f"print(len(ask({PORT}, b'xy')))"
    async with other:
        paths = [gateway.path, other.path, gateway.path, other.path]
        done = await asyncio.gather(
            *(play(sandbox, python(code), workspace, network="gateway", socket=path, port=PORT) for path in paths)
        )
    assert [one.stdout for one in done] == [b"300008\n"] * 4
    assert (gateway.requests, other.requests) == (2, 2)


ELSEWHERE = """
import ctypes, os, struct
port, other, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
worked = []
def attempt(name, function, *arguments):
    try:
        function(*arguments)
        worked.append(name)
    except OSError:
        pass
def connect(address, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0):
    with socket.socket(family, kind, protocol) as ours:
        ours.settimeout(5)
        ours.connect(address)
attempt("another port", connect, ("127.0.0.1", other))
attempt("another host", connect, ("192.0.2.1", port))
attempt("this host", connect, ("0.0.0.0", other))
attempt("version 6", connect, ("::1", other), socket.AF_INET6)
attempt("multipath", connect, ("127.0.0.1", other), socket.AF_INET, socket.SOCK_STREAM, 262)
attempt("socket file", connect, path, socket.AF_UNIX)
def fast_open():
    with socket.socket() as ours:
        ours.sendto(b"secret", 0x20000000, ("127.0.0.1", other))
attempt("fast open", fast_open)
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"secret", ("127.0.0.1", other))
except OSError:
    pass
def change_while_it_is_read():
    import threading
    libc = ctypes.CDLL(None, use_errno=True)
    good = struct.pack("=H", 2) + struct.pack(">H", port) + socket.inet_aton("127.0.0.1") + bytes(8)
    bad = struct.pack("=H", 2) + struct.pack(">H", other) + socket.inet_aton("127.0.0.1") + bytes(8)
    address = ctypes.create_string_buffer(good, 16)
    going = True
    def flicker():
        while going:
            address[:] = bad
            address[:] = good
    threads = [threading.Thread(target=flicker, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        with socket.socket() as ours:
            libc.connect(ours.fileno(), address, 16)
    going = False
change_while_it_is_read()
print(json.dumps(worked))
"""


@EITHER
async def test_nothing_but_the_gateway_is_reached(sandbox, workspace, gateway, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("f") / "s"
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX) as file,
    ):
        datagrams.bind(listener.getsockname())
        file.bind(str(path))
        file.listen()
        arguments = (str(PORT), str(listener.getsockname()[1]), str(path))
        done = await ask(sandbox, workspace, gateway, python(CLIENT + ELSEWHERE, *arguments))
        assert (done.stderr, json.loads(done.stdout)) == (b"", [])
        for ours, hear in ((listener, listener.accept), (datagrams, lambda: datagrams.recv(10))):
            ours.setblocking(False)
            with pytest.raises(BlockingIOError):
                hear()


async def test_nobody_can_listen_for_the_machine_to_connect(sandbox, workspace, gateway) -> None:
    code = """
import os, socket, time
try:
    listener = socket.create_server(("127.0.0.1", 8318))
except OSError:
    print("refused")
open("listening", "w").close()
while not os.path.exists("done"):
    time.sleep(0.02)
"""
    running = asyncio.create_task(ask(sandbox, workspace, gateway, python(code)))
    while not (workspace.work / "listening").exists():
        await asyncio.sleep(0.02)
    with socket.socket() as ours:
        assert ours.connect_ex(("127.0.0.1", 8318)) != 0
    (workspace.work / "done").touch()
    await running


async def test_a_program_that_hangs_in_a_request_is_ended_and_its_connection_too(sandbox, workspace, gateway) -> None:
    token = f"hanging-{os.getpid()}-{workspace.folder.name}"
    limits = Limits(seconds=3, grace_seconds=20)
    argv = python(CLIENT + f"ask({PORT}, b'hang')", token)
    done = await ask(sandbox, workspace, gateway, argv, limits=limits)
    assert (done.timed_out, done.signal) == (True, 15)
    assert living(token) == []
    async with asyncio.timeout(60):
        while gateway.open:
            await asyncio.sleep(0.02)
    assert gateway.requests == 1


async def test_the_end_of_a_program_is_reported_as_without_a_gateway(sandbox, workspace, gateway) -> None:
    done = await ask(sandbox, workspace, gateway, python("raise SystemExit(7)"))
    assert (done.code, done.signal) == (7, None)
    done = await ask(sandbox, workspace, gateway, python("import os; os.kill(os.getpid(), 9)"))
    assert (done.code, done.signal) == (None, 9)
    done = await ask(sandbox, workspace, gateway, ["true"], stdin=b"x" * 3_000_000)
    assert (done.code, done.signal) == (0, None)


async def test_a_gateway_that_is_gone_is_a_dropped_connection(sandbox, workspace, gateway) -> None:
    gateway.path.unlink()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(gateway.path))
    code = CLIENT + f"try: print(repr(ask({PORT})))\nexcept OSError: print('refused')"
    done = await ask(sandbox, workspace, gateway, python(code))
    assert done.stdout in (b"''\n", b"refused\n")
