"""The simulated world over HTTP, with latency and faults on request.

The addresses are the routes below; docs/models-and-agents.md tells what each is for. The seed is a field in Chat
Completions; the others have none, so it travels in the header `x-etude-seed`. Without one it is 0.

Counts of tokens depend on the request alone, as all of an answer does. So none is reported as cached: what is in a
cache depends on what was asked before.
"""

import asyncio
import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from etude.concurrency import allow_open_files
from etude.formats import CHAT, MESSAGES, RESPONSES
from etude.formats.local_http import loopback, need_server, server_settings
from etude.simulation.service import FaultDice, Faults, Service, Stats
from etude.simulation.world import EVERYDAY, SimulatedWorld

if TYPE_CHECKING:
    from starlette.applications import Starlette

NO_FAULTS = Faults()


def make_app(service: Service) -> "Starlette":
    """The ASGI application. Faults that cut connections need the server of `serve`."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    chat, responses = partial(service.respond, CHAT), partial(service.respond, RESPONSES)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/responses", responses, methods=["POST"]),
            Route("/v1/messages", partial(service.respond, MESSAGES), methods=["POST"]),
            Route("/openai/v1/chat/completions", chat, methods=["POST"]),
            Route("/openai/v1/responses", responses, methods=["POST"]),
            Route("/openai/deployments/{name}/chat/completions", partial(chat, versioned=True), methods=["POST"]),
            Route("/openai/responses", partial(responses, versioned=True), methods=["POST"]),
            Route("/v1/models", service.models),
            Route("/stats", service.show_stats),
        ]
    )


def check_installed() -> None:
    """Raises ConfigError: starlette or uvicorn is not installed."""
    need_server("the simulated endpoint", "serve")


def _server(service: Service, host: str, port: int) -> Any:
    check_installed()
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        """Gives the application its connection, so that faults can cut it."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            self.app_state = {**self.app_state, "transport": transport}
            super().connection_made(transport)

    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    return uvicorn.Server(server_settings(make_app(service), host=host, port=port, http=Protocol))


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    faults: Faults = NO_FAULTS,
    latency: float = 0.0,
    key: str | None = None,
) -> None:
    """Serve until interrupted, each answer after `latency` seconds. Clients must send the API key `key`; None accepts
    any. Raises ConfigError: starlette or uvicorn is not installed."""
    allow_open_files()
    _server(Service(faults, latency, key), host, port).run()


class Endpoint:
    """A running endpoint."""

    def __init__(self, url: str, service: Service) -> None:
        self.url = url
        """Base URL, ending in /v1."""
        self._service = service

    def stats(self) -> dict[str, Any]:
        """What `GET /stats` gives."""
        return asdict(self._service.stats)

    def reset_stats(self) -> None:
        """Count from zero."""
        self._service.stats = Stats()

    def set_faults(self, faults: Faults) -> None:
        """Use other faults from now on; `outage_after` counts from here."""
        self._service.dice = FaultDice(faults)


@contextmanager
def running_endpoint(
    faults: Faults = NO_FAULTS, latency: float = 0.0, key: str | None = None, world: SimulatedWorld = EVERYDAY
) -> Generator[Endpoint]:
    """An endpoint on a free loopback port, in a thread, for as long as the context lasts. Arguments as in `serve`."""
    with running(Service(faults, latency, key, world)) as endpoint:
        yield endpoint


@contextmanager
def running(service: Service) -> Generator[Endpoint]:
    """The same for a service that is made already."""
    server = _server(service, "127.0.0.1", 0)
    with loopback() as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", service)
        finally:
            server.should_exit = server.force_exit = True
            thread.join()
