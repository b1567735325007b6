"""A server in virtual time that refuses some requests, and a run of many requests against it."""

import asyncio
import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

from virtual_time import in_virtual_time

from etude.errors import EtudeError, TransientError
from etude.models import Limited, Retrying
from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply, user

REFUSES_AFTER = 0.05
"""Seconds."""


@dataclass
class Server(ChatModel):
    """Answers after 1 to 3 seconds, by chance, and refuses what `refuses` tells from the moment and itself."""

    refuses: Callable[["Server"], bool]
    retry_after: Callable[["Server"], float | None] = lambda server: None
    refuses_after: float = REFUSES_AFTER
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    under_way: int = 0
    accepted: list[float] = field(default_factory=list[float])
    """When."""
    refused: list[float] = field(default_factory=list[float])
    name = "busy"

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def lately(self, seconds: float) -> int:
        """Requests that were accepted in the last so many seconds."""
        return len(self.accepted) - bisect_right(self.accepted, self.now - seconds)

    async def complete(self, request: ChatRequest) -> Reply:
        if self.refuses(self):
            self.refused.append(self.now)
            wait = self.retry_after(self)
            await asyncio.sleep(self.refuses_after)
            raise TransientError("HTTP 429", rate_limited=True, retry_after=wait)
        self.accepted.append(self.now)
        self.under_way += 1
        await asyncio.sleep(1 + 2 * self.chance.random())
        self.under_way -= 1
        return Reply(text="done")


@dataclass
class Flood:
    """What many requests at once came to."""

    seconds: float
    limits: list[int]
    """The bound on requests in flight, once a second."""
    failed: list[str]


def flood(server: Server, slots: int, requests: int) -> Flood:
    """Send so many requests, as many at once as there are slots."""
    found = Flood(0.0, [], [])

    async def send_all() -> None:
        limited = Limited(server, slots)
        model = Retrying(limited, "target", 300, jitter=server.chance.random)
        places = asyncio.Semaphore(slots)

        async def send(number: int) -> None:
            async with places:
                try:
                    await model.complete(ChatRequest(messages=(user(str(number)),)))
                except EtudeError as error:
                    found.failed.append(error.message)

        async def look() -> None:
            while True:
                found.limits.append(limited.limit)
                await asyncio.sleep(1)

        looking = asyncio.create_task(look())
        await asyncio.gather(*map(send, range(requests)))
        looking.cancel()

    _, found.seconds = in_virtual_time(send_all())
    return found
