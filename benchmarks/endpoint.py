"""What the simulated endpoint does in benchmarks: it reads the prompts of all systems and notes who asks when."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from hard_worlds import WORLD
from peer_forms import shown_form
from peer_prompts import read_prompt

from etude.formats import Format
from etude.simulation.service import Faults, Service

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


class Meter(Service):
    """Notes the model requests under way. Each answer comes after `latency` seconds."""

    def __init__(self, latency: float) -> None:
        super().__init__(Faults(), latency, world=replace(WORLD, read=read_prompt, form=shown_form))
        self._under_way = 0
        self.most = 0
        """Most requests that were in flight at the same time."""
        self.spans: list[tuple[float, float]] = []
        """When each request came and was answered, in seconds of one clock."""

    async def respond(self, form: Format, request: "Request", *, versioned: bool = False) -> "Response":
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        came = time.monotonic()
        try:
            return await super().respond(form, request, versioned=versioned)
        finally:
            self._under_way -= 1
            self.spans.append((came, time.monotonic()))
