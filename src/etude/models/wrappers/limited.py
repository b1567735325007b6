"""As many requests at once as the server takes."""

import asyncio
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from etude.errors import TransientError
from etude.models.wrappers.pace import Pace
from etude.protocols import ChatModel, Wrapper
from etude.records import ChatRequest, Reply
from etude.sandbox.process import spend

LONGEST_PAUSE = 60.0
"""Seconds; a server that asks for a longer pause is asked again after this one."""


class Limited(Wrapper):
    """Bounds the requests in flight, in the order in which they were asked for.

    The bound is `max_concurrency` until the server says 429, and then what a `Pace` makes of it. Where the 429 came
    with a Retry-After, nothing is sent before that time.
    """

    def __init__(self, model: ChatModel, max_concurrency: int) -> None:
        super().__init__(model)
        self._pace = Pace(max_concurrency)
        self._under_way = 0
        self._resting: list[float] = []
        """When the slots of refused requests are free again, the next one first."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0

    @property
    def limit(self) -> int:
        """Most requests in flight at the moment."""
        return self._pace.limit

    @property
    def in_flight(self) -> int:
        """Requests under way, those included that wait for the end of a pause, and slots that rest."""
        return self._under_way + len(self._resting)

    async def complete(self, request: ChatRequest) -> Reply:
        return await self.complete_and_tell(request, lambda: None)

    async def complete_and_tell(self, request: ChatRequest, tell: Callable[[], None]) -> Reply:
        """`complete`, and call `tell` when the request is sent."""
        loop = asyncio.get_running_loop()
        await self._enter()
        try:
            while (pause := self._paused_until - loop.time()) > 0:
                await asyncio.sleep(pause)
            sent, mark = loop.time(), self._pace.sent(loop.time(), self.in_flight)
            tell()
            try:
                reply = await self._model.complete(request)
            except TransientError as error:
                if error.rate_limited:
                    self._refused(mark, error.retry_after, loop.time() - sent)
                raise
            seconds = loop.time() - sent
            spend(seconds)
            self._pace.answered(mark, seconds)
            return reply
        finally:
            self._under_way -= 1
            self._admit()

    def _refused(self, mark: int, retry_after: float | None, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._pace.refused(mark)
        if retry_after is not None:
            self._paused_until = max(self._paused_until, loop.time() + min(retry_after, LONGEST_PAUSE))
        if (rest := self._pace.rest - seconds) > 0:
            heappush(self._resting, loop.time() + rest)
            loop.call_later(rest, self._admit)

    async def _enter(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the turn had come when the cancellation did: pass it on
                self._under_way -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._resting and self._resting[0] <= now:
            heappop(self._resting)
        while self._waiting and self.in_flight < self.limit:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self._under_way += 1
                turn.set_result(None)
