"""The gateway: a loopback server through which agent programs reach the configured model.

A program speaks Chat Completions, Responses, Anthropic Messages or Gemini to it, plain or streamed; the model on the
other side is a `ChatModel` whose wrappers meter, limit, retry and enforce budgets. The program is given the key of
its session, which is worth nothing elsewhere, and names any model it likes: the configured one answers.

    async with gateway.session(seed=0) as session:
        ...start the program with session.url (or session.socket) and session.key...
        ...end it when session.failed is set...
    session.log, session.usage, session.error, session.conversation

Starlette and uvicorn are needed (`pip install etude[agents]`) and imported when the first session begins.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from etude.gateway.server import GatewayServer
from etude.gateway.session import GatewaySession
from etude.protocols import ChatModel

__all__ = ["Gateway", "GatewaySession"]

KEEPALIVE_SECONDS = 15.0
"""A streamed answer that takes longer is begun before it is known, so that the program keeps waiting."""


class Gateway:
    """Serves a model to programs, which call it `model_name` or by its own name, as long as there are sessions.
    Belongs to the event loop its sessions run in; in another loop it starts afresh. `keepalive` is in seconds."""

    def __init__(self, model: ChatModel, *, model_name: str = "", keepalive: float = KEEPALIVE_SECONDS) -> None:
        self.model = model
        self.model_name = model_name or model.name
        self._keepalive = keepalive
        self._sessions: dict[str, GatewaySession] = {}
        self._server: GatewayServer | None = None

    @asynccontextmanager
    async def session(self, *, seed: int, calls: int | None = None) -> AsyncGenerator[GatewaySession]:
        """A key and an account for one attempt. When it ends, what is under way is cancelled and the key is void. The
        `seed` is sent to the model with each request. The program may make `calls` requests; one more is refused and
        ends the session (`exhausted`). Raises ConfigError: starlette or uvicorn is not installed."""
        server = self._running()
        session = GatewaySession(self.model, server.url, server.socket, seed, calls)
        self._sessions[session.key] = session
        try:
            yield session
        finally:
            del self._sessions[session.key]
            await session.end()

    def _running(self) -> GatewayServer:
        loop = asyncio.get_running_loop()
        if self._server is not None and self._server.loop is not loop:
            self._server.abandon()
            self._server = None
        if self._server is None:
            self._server = GatewayServer(self._sessions, self.model_name, self._keepalive)
        return self._server

    async def aclose(self) -> None:
        """Stop serving. A session after this one starts the server again."""
        server, self._server = self._server, None
        if server is None:
            return
        if server.loop is asyncio.get_running_loop():
            await server.stop()
        else:
            server.abandon()
