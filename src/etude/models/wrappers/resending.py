"""A request that takes long is sent once more, where the user allows it."""

import asyncio
import math
from collections import deque

from etude.concurrency import give_up
from etude.errors import TransientError
from etude.models.wrappers.limited import Limited
from etude.models.wrappers.metered import racing
from etude.protocols import Wrapper
from etude.records import ChatRequest, Reply

SLOW, SLOW_AT_LAST = 0.95, 0.8
"""Shares of requests that are answered sooner than one which is sent again. The second is for the last few under way:
others wait for them, and they are few, so that it costs little."""
LAST = 3
"""Requests of the model under way, of which each is one of the last few."""
AT_LEAST = 2.0
"""Median times after which a request is sent again at the earliest: the second takes about one, so where all take
alike it would hardly be the first to be answered."""
KNOWN = 8
"""Requests of which the times must be known: an optimizer answers two dozen in a whole run. Of so few, the slowest
one counts."""
REMEMBERED = 256
"""The last requests, of which the times count: a server is slower at some hours than at others."""
SHORTEST = 0.001
"""Seconds to wait at least: a sum of floats may be a shade too early."""
LOOK_AGAIN = 0.5
"""Seconds after which it is looked what is known of times, and what else is under way."""


class Resending(Wrapper):
    """Sends a request once more when it takes longer than the 95th percentile of the last ones (the 80th where hardly
    another is under way), and than two times their median. The first answer counts, and the other request is
    cancelled.

    The time runs from when a request is sent, and the second one waits for its turn and its budget like any other. A
    failure of the second one changes nothing; the first one, when it fails in a way that can pass, waits for it.
    """

    def __init__(self, model: Limited) -> None:
        super().__init__(model)
        self._limited = model
        self._times: deque[float] = deque(maxlen=REMEMBERED)
        """Of the last requests, until there was an answer, be it that of the second one."""

    async def complete(self, request: ChatRequest) -> Reply:
        loop = asyncio.get_running_loop()
        sent: asyncio.Future[float] = loop.create_future()
        with racing() as race:
            first = asyncio.create_task(
                self._limited.complete_and_tell(request, lambda: sent.set_result(loop.time()))
            )
            tasks = [first]
            try:
                await asyncio.wait([first, sent], return_when=asyncio.FIRST_COMPLETED)
                if await self._takes_long(first, sent):
                    tasks.append(asyncio.create_task(self._limited.complete(request)))
                race.won = await _first_answer(tasks)
            finally:
                await give_up(*tasks)
        self._times.append(loop.time() - sent.result())
        return race.won

    async def _takes_long(self, first: asyncio.Task[Reply], sent: asyncio.Future[float]) -> bool:
        """Wait until it is answered, or for longer than most requests take."""
        while not first.done():
            left = self._slow() - (asyncio.get_running_loop().time() - sent.result())
            if left <= 0:
                return True
            await asyncio.wait([first], timeout=min(LOOK_AGAIN, max(SHORTEST, left)))
        return False

    def _slow(self) -> float:
        """Seconds after which a request is sent again."""
        times = sorted(self._times)
        if len(times) < KNOWN:
            return math.inf
        share = SLOW_AT_LAST if self._limited.in_flight <= LAST else SLOW
        return max(times[int(share * len(times))], AT_LEAST * times[len(times) // 2])


async def _first_answer(tasks: list[asyncio.Task[Reply]]) -> Reply:
    """That of the first task to have one. Raises what the first task raised, when there is none or no other try would
    help."""
    first, left = tasks[0], set(tasks)
    while left:
        _, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done() and task.exception() is None:
                return task.result()
        if first.done() and not isinstance(first.exception(), TransientError):
            break
    return first.result()
