"""The simulated endpoint on loopback, with a meter for how many requests were in flight."""

import asyncio
import json
import logging
import socket
import threading
import time
import urllib.request
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import uvicorn
from hard_worlds import WORLD
from peer_forms import shown_form
from peer_prompts import read_prompt

from etude.simulation.endpoint import make_app
from etude.simulation.service import Faults, Service


class Meter:
    """An ASGI application around another one that notes the model requests under way."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._under_way = 0
        self.most = 0
        """Most requests that were in flight at the same time."""
        self.spans: list[tuple[float, float]] = []
        """When each request came and was answered, in seconds of one clock."""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        came = time.monotonic()
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way -= 1
            self.spans.append((came, time.monotonic()))


@dataclass(frozen=True)
class Metered:
    """A running endpoint."""

    url: str
    """Base URL, ending in /v1."""
    meter: Meter

    def stats(self) -> dict[str, Any]:
        """What `GET /stats` gives."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/stats") as response:
            return json.load(response)


@contextmanager
def metered_endpoint(latency: float) -> Generator[Metered]:
    """An endpoint of its own, in a thread, for as long as the context lasts.

    Args:
        latency: Seconds before each answer.
    """
    meter = Meter(make_app(Service(Faults(), latency, world=replace(WORLD, read=read_prompt, form=shown_form))))
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    config = uvicorn.Config(meter, http="h11", ws="none", lifespan="off", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
        thread.start()
        try:
            yield Metered(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", meter)
        finally:
            server.should_exit = server.force_exit = True
            thread.join()
