"""As many requests at once as the server takes."""

import asyncio
import time
from collections import deque

from etude.errors import TransientError
from etude.protocols import ChatModel, Wrapper
from etude.records import ChatRequest, Reply

CAREFUL = 16
"""Most requests in flight after the first 429."""
LONGEST_PAUSE = 60.0
"""Seconds; a server that asks for a longer pause is asked again after this one."""


class Limited(Wrapper):
    """Bounds the requests in flight, in the order in which they were asked for.

    The bound is `max_concurrency` until the server first says 429. A 429 halves it, once for all the requests that
    were in flight together; the first one takes it to 16 where half is more. It goes up by one with each answer in
    the second case, until the next 429, otherwise by one with each round of answers, and only while it is what holds
    requests back. Where the 429 came with a Retry-After, nothing is sent before that time.
    """

    def __init__(self, model: ChatModel, max_concurrency: int) -> None:
        super().__init__(model)
        self._most = max_concurrency
        self._window = float(max_concurrency)
        self._halvings = 0
        self._finding = False
        """How many the server takes is not known: the bound grows fast."""
        self.in_flight = 0
        """Requests under way, those included that wait for the end of a pause."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0

    @property
    def limit(self) -> int:
        """Most requests in flight at the moment, from 1 to `max_concurrency`."""
        return int(self._window)

    async def complete(self, request: ChatRequest) -> Reply:
        await self._enter()
        try:
            while (pause := self._paused_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            halvings = self._halvings
            try:
                reply = await self._model.complete(request)
            except TransientError as error:
                if error.rate_limited:
                    self._slow_down(error.retry_after, sent_after=halvings)
                raise
            if self.in_flight >= self.limit:
                self._window = min(float(self._most), self._window + (1 if self._finding else 1 / self._window))
            return reply
        finally:
            self.in_flight -= 1
            self._admit()

    def _slow_down(self, retry_after: float | None, *, sent_after: int) -> None:
        if retry_after is not None:
            self._paused_until = max(self._paused_until, time.monotonic() + min(retry_after, LONGEST_PAUSE))
        if sent_after == self._halvings:
            self._halvings += 1
            self._window = max(1.0, self._window / 2)
            self._finding = self._halvings == 1 and self._window > CAREFUL
            if self._finding:
                self._window = float(CAREFUL)

    async def _enter(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the turn had come when the cancellation did: pass it on
                self.in_flight -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.limit:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self.in_flight += 1
                turn.set_result(None)
