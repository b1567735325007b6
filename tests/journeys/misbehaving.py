"""A model server on loopback that answers as the simulated world does, and misbehaves where it is told to.

It writes bytes and not objects, so that it can do whatever a server on the net does.
"""

import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from hard_worlds import WORLD

from etude.formats import CHAT, MESSAGES, RESPONSES, Format, WireRequest
from etude.records import Reply, digest
from etude.simulation.service import clip, model_of

Data = dict[str, Any]
_FORMATS = {"/v1" + form.path: form for form in (CHAT, RESPONSES, MESSAGES)}


@dataclass(frozen=True)
class Asked:
    """A request, and what a good server answers."""

    path: str
    headers: Mapping[str, str]
    sent: Data
    """The body."""
    form: Format
    call: WireRequest
    number: int
    """Of the requests of its role, from 1."""
    times: int
    """How often this question was asked with this seed, from 1."""

    @property
    def role(self) -> str:
        return model_of(self.call).partition("-")[0]

    @cached_property
    def reply(self) -> Reply:
        return clip(WORLD.respond(model_of(self.call), self.call.request), self.call.most_tokens)

    @cached_property
    def question(self) -> str:
        return _question(self.call)

    def is_one_in(self, count: int) -> bool:
        """Whether this question is one of every `count`, by its text."""
        return int(self.question, 16) % count == 0

    def answer(self, **changes: Any) -> "Answer":
        """The good answer, with other parts of its reply."""
        reply = self.reply.model_copy(update=changes)
        if self.call.stream:
            return Answer(b"".join(self.form.write_events(self.call, reply)), headers=STREAM)
        return Answer(self.form.write_reply(self.call, reply))

    def data(self) -> Data:
        """The good answer as data."""
        return json.loads(self.form.write_reply(self.call, self.reply))


STREAM = {"Content-Type": "text/event-stream"}


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    body: bytes | Data = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    announced: int | Literal["nothing", "chunks"] | None = None
    """The length that is announced, where it is not that of the body."""
    seconds: float = 0.0
    """How long it takes; a part of it before each tenth of the body."""
    end: Literal["keep", "close", "reset"] = "keep"
    """What becomes of the connection."""

    @property
    def bytes(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    @property
    def head(self) -> bytes:
        headers = {"Content-Type": "application/json", **self.headers}
        length = len(self.bytes) if self.announced is None else self.announced
        if length == "chunks":
            headers["Transfer-Encoding"] = "chunked"
        elif length != "nothing":
            headers["Content-Length"] = str(length)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} Said\r\n{lines}\r\n".encode()


Behaviour = Callable[[Asked], Answer | None]
"""What is done with a request; None to answer it well."""


def _question(call: WireRequest) -> str:
    """Without what stands below it: corrections, and what became of calls."""
    shown = [message.model_dump(mode="json") for message in call.request.messages[:2]]
    return digest([call.named, shown, call.request.seed])


class Server:
    """What has been asked of a running server."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.url = ""
        """Base URL, ending in /v1."""
        self.closing = threading.Event()
        self.asked: Counter[str] = Counter()
        """Requests by role."""
        self._times: Counter[str] = Counter()
        self._behaviour = behaviour
        self._lock = threading.Lock()

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        form = next((form for end, form in _FORMATS.items() if path.partition("?")[0].endswith(end)), None)
        if form is None:
            return Answer({"error": {"message": f"nothing at {path}"}}, 404)
        seed = headers.get("x-etude-seed")
        call = form.read_request(body, None if seed is None else int(seed))
        role, question = model_of(call).partition("-")[0], _question(call)
        with self._lock:
            self.asked[role] += 1
            self._times[question] += 1
            number, times = self.asked[role], self._times[question]
        asked = Asked(path, headers, json.loads(body), form, call, number, times)
        return self._behaviour(asked) or asked.answer()


@contextmanager
def misbehaving(behaviour: Behaviour) -> Iterator[Server]:
    """A server that runs as long as the context lasts."""
    state = Server(behaviour)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = state.answer(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            try:
                _send(self.connection, answer, state.closing)
            except OSError:  # the client has left
                self.close_connection = True
            if answer.end != "keep":
                _hang_up(self.connection, answer.end)
                self.close_connection = True

        def do_GET(self) -> None:
            _send(self.connection, Answer({"object": "list", "data": []}), state.closing)

        def log_message(self, *args: object) -> None:
            pass

    class Listening(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            """The client has left."""

    server = Listening(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _send(connection: socket.socket, answer: Answer, closing: threading.Event) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    body = answer.bytes
    if not answer.seconds:
        connection.sendall((answer.head if answer.status else b"") + body)
        return
    connection.sendall(answer.head if body else b"")
    size = max(1, -(-len(body) // 10))
    for start in range(0, max(1, len(body)), size):
        closing.wait(answer.seconds / 10)
        connection.sendall(body[start : start + size])


def _hang_up(connection: socket.socket, how: str) -> None:
    if how == "reset":  # without a goodbye
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        return
    connection.shutdown(socket.SHUT_RDWR)


# How often


def first(behaviour: Behaviour, *, of: int = 3, times: int = 1) -> Behaviour:
    """Only the first `times` that one question of `of` is asked, and every question to the optimizer."""

    def some(asked: Asked) -> Answer | None:
        chosen = asked.role == "optimizer" or asked.is_one_in(of)
        return behaviour(asked) if chosen and asked.times <= times else None

    return some


def after(count: int, behaviour: Behaviour, role: str = "target") -> Behaviour:
    """From the request after `count` ones of a role."""
    return lambda asked: behaviour(asked) if asked.role == role and asked.number > count else None


def to(role: str, behaviour: Behaviour) -> Behaviour:
    """Only at requests of a role."""
    return lambda asked: behaviour(asked) if asked.role == role else None


def where(chosen: Callable[[Asked], bool], behaviour: Behaviour) -> Behaviour:
    """Only where the request is so."""
    return lambda asked: behaviour(asked) if chosen(asked) else None


# What


def saying(change: Callable[[str], str], role: str = "target", **more: Any) -> Behaviour:
    """Other words in place of the reply's text; `more` of the reply may change."""
    return to(role, lambda asked: asked.answer(text=change(asked.reply.text), **more))


def writing(change: Callable[[Data], object], role: str = "target") -> Behaviour:
    """The data of the answer, changed in place."""

    def changed(asked: Asked) -> Answer:
        data = asked.data()
        change(data)
        return Answer(data)

    return to(role, changed)


def sending(body: bytes | Data = b"", status: int = 200, **more: Any) -> Behaviour:
    """The same to everybody."""
    return lambda asked: Answer(body, status, **more)


def refusing(status: int, message: str, code: str | None = None, **headers: str) -> Behaviour:
    """An error, as the OpenAI format words it. Words in the names of headers are joined by `_`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = {"message": message, "type": "error", "param": None, "code": code}
    return lambda asked: Answer({"error": error}, status, named)


def tampering(change: Callable[[bytes], bytes], headers: Mapping[str, str] | None = None, **more: Any) -> Behaviour:
    """The bytes of the good answer, changed."""

    def changed(asked: Asked) -> Answer:
        answer = asked.answer()
        return Answer(change(answer.bytes), headers={**answer.headers, **(headers or {})}, **more)

    return changed
