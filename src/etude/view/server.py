"""The server of the page, for this machine and for who has its link.

It listens on the loopback address only. The link has a random token as the first part of its path, so that all that
is loaded has it, too, and no cookie is needed. A request for another host (DNS rebinding) or from another origin is
refused. All is read-only but for what begins with `act/`, which needs the token in a header besides.
"""

import asyncio
import json
import secrets
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from etude.errors import DataError, EtudeError
from etude.formats.local_http import json_response, loopback, need_server, server_settings
from etude.records import Record
from etude.sleep.page import Decision
from etude.store.views import STOP
from etude.view.shelf import Shelf

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN_HEADER = "x-etude-token"
SECONDS = 0.5
"""Between two looks at whether a run has changed."""
_QUIET = 20
"""Looks without news after which the page is told that the server is there."""

_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class _Decision(Record):
    """What a person decided on rules of a night."""

    what: Decision
    rules: tuple[str, ...] = Field(min_length=1)
    words: dict[str, str] = Field(default_factory=dict[str, str])
    """Other texts, by id."""


def page_files() -> dict[str, bytes]:
    """The files of the page, by their paths within it."""
    root = files("etude.view") / "page"
    found = {each.name: each.read_bytes() for each in root.iterdir() if each.is_file()}
    vendored = {f"vendor/{each.name}": each.read_bytes() for each in (root / "vendor").iterdir()}
    return {name: data for name, data in (found | vendored).items() if "." + name.rpartition(".")[2] in _KINDS}


def make_app(shelf: Shelf, token: str, port: int) -> "ASGIApp":
    """The ASGI application for a server on `port`."""
    from starlette.applications import Starlette
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    page = page_files()

    def static(request: "Request") -> Response:
        name = request.path_params.get("file") or "index.html"
        if name not in page:
            return Response(status_code=404)
        return Response(page[name], media_type=_KINDS["." + name.rpartition(".")[2]])

    def document(request: "Request") -> Response:
        try:
            return Response(shelf.document(request.path_params["name"]), media_type="application/json")
        except EtudeError as error:
            return json_response({"error": error.message, "hint": error.hint}, 404)

    def stop(request: "Request") -> Response:
        try:
            (shelf.path(request.path_params["run"]) / STOP).touch(mode=0o600)
        except (EtudeError, OSError) as error:
            return json_response({"error": str(error)}, 404)
        return json_response({})

    async def decide(request: "Request") -> Response:
        try:
            asked = _Decision.model_validate_json(await request.body())
            if shelf.reviews is None:
                raise DataError("this page shows no nights", hint="start it where `etude sleep status` shows some")
            number = request.path_params["night"]
            await asyncio.to_thread(shelf.reviews.decide, number, asked.rules, asked.what, asked.words)
        except EtudeError as error:
            return json_response({"error": error.message, "hint": error.hint}, 409)
        except ValidationError:
            return json_response({"error": "this is not a decision"}, 400)
        return json_response({})

    def events(request: "Request") -> Response:
        return StreamingResponse(_news(shelf), media_type="text/event-stream")

    app = Starlette(
        routes=[
            Route("/data/{name:path}", document),
            Route("/events", events),
            Route("/act/stop/{run}", stop, methods=["POST"]),
            Route("/act/nights/{night:int}", decide, methods=["POST"]),
            Route("/{file:path}", static),
        ]
    )
    return _Guarded(app, token, {f"127.0.0.1:{port}", f"localhost:{port}"})


async def _news(shelf: Shelf) -> AsyncGenerator[str]:
    """What changed, for as long as the page listens: the names of runs, each with its stamp."""
    known: Mapping[str, str] | None = None
    quiet = 0
    while True:
        stamps = await asyncio.to_thread(shelf.stamps)
        quiet += 1
        if stamps != known or quiet > _QUIET:
            yield f"data: {json.dumps(stamps)}\n\n"
            known, quiet = stamps, 0
        await asyncio.sleep(SECONDS)


class _Guarded:
    """Lets through what comes from the page itself."""

    def __init__(self, app: "ASGIApp", token: str, hosts: set[str]) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in _HEADERS.items()),
                ]
            await send(message)

        refused = self._refused(scope, Headers(scope=scope))
        if refused:
            status, why = refused
            await PlainTextResponse(why, status)(scope, receive, guarded)
            return
        rest = scope["path"].removeprefix(f"/{self._token}")
        await self._app({**scope, "path": rest, "raw_path": rest.encode()}, receive, guarded)

    def _refused(self, scope: "Scope", headers: Mapping[str, str]) -> tuple[int, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return 421, "this server answers to 127.0.0.1 and localhost only"
        if origin is not None and origin != f"http://{host}":
            return 403, "the request comes from another page"
        given = scope["path"].split("/")[1]
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return 403, "open the link that `etude view` has printed: it holds a token"
        if scope["method"] not in ("GET", "HEAD"):
            if not scope["path"].startswith(f"/{self._token}/act/"):
                return 405, "this page only reads"
            if not secrets.compare_digest(headers.get(TOKEN_HEADER, "").encode(), self._token.encode()):
                return 403, f"what changes something needs the token in the header {TOKEN_HEADER}"
        return None


class ViewServer:
    """A server on a loopback port, in a thread. Raises ConfigError: starlette or uvicorn is not installed."""

    def __init__(self, shelf: Shelf, port: int = 0, token: str | None = None) -> None:
        need_server("the page", "serve")
        import uvicorn

        self._listener = loopback(port)
        self.port: int = self._listener.getsockname()[1]
        self.token = token or secrets.token_urlsafe(24)
        self.url = f"http://127.0.0.1:{self.port}/{self.token}/"
        app = make_app(shelf, self.token, self.port)
        self._server = uvicorn.Server(server_settings(app, timeout_graceful_shutdown=1))
        self._reading = threading.Thread(target=shelf.read_ahead, daemon=True)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._reading.start()
        self._thread.start()

    def wait(self) -> None:
        """Until the server has stopped."""
        while self._thread.is_alive():
            self._thread.join(0.2)

    def stop(self) -> None:
        """Answer no more."""
        self._server.should_exit = self._server.force_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._listener.close()


@contextmanager
def serving(shelf: Shelf, port: int = 0, token: str | None = None) -> Generator[ViewServer]:
    """A server for as long as the context lasts."""
    server = ViewServer(shelf, port, token)
    server.start()
    try:
        yield server
    finally:
        server.stop()
