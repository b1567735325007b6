"""The HTTP side of the gateway: which session a request belongs to, and what its program gets."""

import asyncio
import logging
import socket
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etude.formats import (
    CHAT,
    GEMINI,
    MESSAGES,
    RESPONSES,
    BadBody,
    Format,
    ServedFormat,
    WireRequest,
    estimate,
    with_field,
)
from etude.formats.local_http import client_left, json_response, loopback, need_server, server_settings
from etude.gateway.session import HUNG_UP, MOST_BYTES, REFUSED, GatewaySession, PendingRequest
from etude.sandbox.scratch import Scratch

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_FORMATS = (CHAT, RESPONSES, MESSAGES)
STOP_SECONDS = 5
"""How long answers under way may take when the server stops."""
NO_SESSION = "This API key belongs to no attempt under way."
FINAL = {"x-should-retry": "false"}
"""Tells clients that know it not to ask again."""


class GatewayServer:
    """Serves sessions (by key, looked up again for each request) on a free port of 127.0.0.1 and on a Unix socket, in
    the running event loop. Raises ConfigError: starlette or uvicorn is not installed."""

    def __init__(self, sessions: Mapping[str, GatewaySession], model_name: str, keepalive: float) -> None:
        self.loop = asyncio.get_running_loop()
        self._server = _make_server(_Application(sessions, model_name, keepalive))
        # The path of a Unix socket may have some 100 bytes.
        folder = "/tmp" if len(tempfile.gettempdir().encode()) > 60 else None
        self._scratch = Scratch(folder)
        self.socket = self._scratch.path / "gateway.sock"
        self._sockets = [loopback(), _unix_socket(self.socket)]
        self.url = f"http://127.0.0.1:{self._sockets[0].getsockname()[1]}"
        self._task = asyncio.create_task(self._server.serve(sockets=self._sockets))

    async def stop(self) -> None:
        """Finish, close all connections and remove the socket."""
        self._server.should_exit = True
        try:
            await self._task
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of what a server holds whose event loop is gone."""
        for listener in self._sockets:
            listener.close()
        self._scratch.close()


def _unix_socket(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
    except OSError:
        listener.close()
        raise
    listener.listen(128)
    listener.setblocking(False)
    return listener


def _make_server(application: "_Application") -> Any:
    need_server("the gateway of agent programs", "agents")
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Server(uvicorn.Server):
        """Leaves the signals of the process alone."""

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    config = server_settings(
        application.app(),
        http=H11Protocol,
        timeout_keep_alive=3600,  # between two requests a program may run a tool for long
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    return Server(config)


class _Application:
    def __init__(self, sessions: Mapping[str, GatewaySession], model_name: str, keepalive: float) -> None:
        self._sessions = sessions
        self._model_name = model_name
        self._keepalive = keepalive

    def app(self) -> "Starlette":
        from starlette.applications import Starlette
        from starlette.routing import Route

        return Starlette(
            routes=[
                *(Route(f"/v1{form.path}", self._answering(form), methods=["POST"]) for form in _FORMATS),
                Route("/v1/messages/count_tokens", self.count_tokens, methods=["POST"]),
                Route("/v1beta/models/{name:path}:{method:str}", self.gemini, methods=["POST"]),
                Route("/v1/models", self.models),
                Route("/v1/models/{name:path}", self.model),
                Route("/api/hello", self.hello),
                Route("/{path:path}", self.nothing, methods=["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
            ]
        )

    def _answering(self, form: Format) -> "Callable[[Request], Awaitable[Response]]":
        async def respond(request: "Request") -> "Response":
            return await self._respond(form, request, {})

        return respond

    async def gemini(self, request: "Request") -> "Response":
        """Its paths say what the bodies of the others do."""
        name, method = request.path_params["name"], request.path_params["method"]
        if method == "countTokens":
            return await self._count(GEMINI, request, "totalTokens", {"model": name})
        if method not in ("generateContent", "streamGenerateContent"):
            return await self.nothing(request)
        return await self._respond(GEMINI, request, {"model": name, "stream": method.startswith("stream")})

    async def _respond(self, form: ServedFormat, request: "Request", more: Mapping[str, object]) -> "Response":
        """The answer to a request whose body is to have `more` fields."""
        session = self._session(request)
        if session is None:
            return _error(form, 401, NO_SESSION)
        try:
            body = _with(await _body(request, session), more)
            call = form.read_request(body, None)
        except BadBody as error:
            session.unreadable(error)
            return _error(form, REFUSED, error.message)
        refusal = session.refusal(len(body))
        if refusal:
            return _error(form, REFUSED, refusal)
        turn = session.ask(call.request, len(body))
        gone = asyncio.create_task(client_left(request.receive))
        try:
            over = await turn.wait(self._keepalive if call.stream else None, gone)
            if not over and not gone.done():
                return _stream(form, call, turn, self._keepalive)
        finally:
            gone.cancel()
            turn.hung_up = not turn.over.done() and gone.done()
        return _answer(form, call, turn)

    def _session(self, request: "Request") -> GatewaySession | None:
        headers = request.headers
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        shown = (*(headers.get(name, "") for name in ("x-api-key", "api-key", "x-goog-api-key")), bearer)
        return next((self._sessions[key] for key in shown if key in self._sessions), None)

    async def count_tokens(self, request: "Request") -> "Response":
        return await self._count(MESSAGES, request, "input_tokens", {"max_tokens": 1})

    async def _count(
        self, form: ServedFormat, request: "Request", called: str, more: Mapping[str, object]
    ) -> "Response":
        """An estimate, a token for every four characters: nothing is asked of the model."""
        session = self._session(request)
        if session is None:
            return _error(form, 401, NO_SESSION)
        try:
            asked = form.read_request(_with(await _body(request, session), more), None).request
        except BadBody as error:
            return _error(form, REFUSED, error.message)
        return json_response({called: estimate(asked)})

    async def models(self, request: "Request") -> "Response":
        """The one model, in the words of both kinds of servers."""
        if self._session(request) is None:
            return _error(CHAT, 401, NO_SESSION)
        return json_response({"object": "list", "data": [self._model(self._model_name)], "has_more": False})

    async def model(self, request: "Request") -> "Response":
        """A model: whatever it is called, the one there is answers."""
        if self._session(request) is None:
            return _error(CHAT, 401, NO_SESSION)
        return json_response(self._model(request.path_params["name"]))

    def _model(self, name: str) -> dict[str, object]:
        known = {"id": name, "object": "model", "created": 0, "owned_by": "etude"}
        return {**known, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}

    async def hello(self, _: "Request") -> "Response":
        """Programs ask whether there is a server."""
        return json_response({})

    async def nothing(self, request: "Request") -> "Response":
        return _error(CHAT, 404, f"There is nothing at {request.url.path!r}.")


async def _body(request: "Request", session: GatewaySession) -> bytes:
    """The body. Raises BadBody: it is too long, or with others that are being read."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            session.reading += len(chunk)
            if not await session.wait_for_room():
                raise BadBody(f"the body is longer than {MOST_BYTES} bytes, or than what others have left of them")
        return bytes(body)
    finally:
        session.reading -= len(body)


def _with(body: bytes, more: Mapping[str, object]) -> bytes:
    """The body with further fields. Raises BadBody: it is not a JSON object."""
    for name, value in more.items():
        body = with_field(body, name, value)
    return body


def _answer(form: ServedFormat, call: WireRequest, turn: PendingRequest) -> "Response":
    from starlette.responses import Response

    if turn.hung_up:
        return _error(form, HUNG_UP, "The client has hung up.")
    reply = turn.reply
    if reply is None:
        return _error(form, REFUSED, turn.failure)
    if call.stream:
        return Response(b"".join(form.write_events(call, reply)), media_type="text/event-stream")
    return Response(form.write_reply(call, reply), media_type="application/json")


def _stream(form: ServedFormat, call: WireRequest, turn: PendingRequest, keepalive: float) -> "Response":
    """An answer that is begun before it is known."""
    from starlette.responses import StreamingResponse

    async def events() -> AsyncGenerator[bytes]:
        try:
            yield form.waiting
            while not await turn.wait(keepalive):
                yield form.waiting
        finally:
            turn.hung_up = not turn.over.done()
        reply = turn.reply
        if reply is None:
            yield form.write_broken(call, REFUSED, turn.failure)
            return
        for event in form.write_events(call, reply):
            yield event

    return StreamingResponse(events(), media_type="text/event-stream")


def _error(form: ServedFormat, status: int, message: str) -> "Response":
    from starlette.responses import Response

    body = form.write_error(status, message)
    return Response(body, status_code=status, headers=FINAL, media_type="application/json")
