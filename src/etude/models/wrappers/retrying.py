"""Trying temporary errors again, and knowing when nothing will."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from etude.errors import OutageStop, RejectedRequest, RejectedRole, TransientError
from etude.protocols import ChatModel, Wrapper
from etude.records import ChatRequest, Reply, Role

SHORTEST_DELAY, LONGEST_DELAY = 0.1, 8.0
"""Seconds between tries: doubled from one to the next, half of it drawn by chance."""
LONGEST_RETRY_AFTER = 60.0
"""Seconds; a server that asks for a longer wait is asked again after this one, or not at all where the wait is longer
than an outage may be."""
STARTUP_SECONDS = 3.0
"""How long an endpoint that has never answered is tried."""
STREAK = 3
"""Failures of one request, with no success of the role between them, that make an outage."""
PILE = 16
"""Failures of all requests of the role, with no success between them, that make one too."""
TRIES = 8
"""Failures after which a request is given up while others succeed."""
REFUSALS = 32
"""The same for answers 429: where three of four requests are refused, one in ten thousand is refused so often by
chance."""
EMPTY_TRIES = 3
"""Times a request is sent when its answers are empty."""


@dataclass
class _Outage:
    """Nothing has come back since `since`. Requests take turns; the one whose turn it is probes."""

    since: float
    failures: int
    cause: TransientError
    over: asyncio.Event = field(default_factory=asyncio.Event)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass
class _Health:
    """What the requests of a role have seen of their endpoint."""

    alive: bool = False
    """The server has answered, if only that it is busy."""
    answers: int = 0
    failures: int = 0
    """Failures outside of outages since the last answer."""
    outage: _Outage | None = None
    stop: OutageStop | None = None
    trouble: str = ""
    """The last failure since the last answer."""

    def answered(self) -> None:
        self.alive = True
        self.answers += 1
        self.failures = 0
        self.trouble = ""
        if self.outage is not None:
            self.outage.over.set()
            self.outage = None


@dataclass
class _Tries:
    """The failures of one request outside of outages."""

    answers: int
    """Answers of the role when `streak` began."""
    failures: int = 0
    """Those that were no 429."""
    refusals: int = 0
    """Those that were."""
    streak: int = 0
    """Failures since the role's last answer, of either kind."""
    since: float = 0.0
    """When the streak began."""
    others_succeed: bool = False
    """The role had an answer after this request's first failure."""

    def count(self, since: float, answers: int, *, refused: bool) -> None:
        if answers != self.answers:
            self.others_succeed = self.failures + self.refusals > 0
            self.answers, self.streak = answers, 0
        if self.streak == 0:
            self.since = since
        self.streak += 1
        self.failures += not refused
        self.refusals += refused


class Retrying(Wrapper):
    """Sends a request again when its failure can pass, and stops the run when the endpoint is dead.

    An endpoint that has never answered is given 3 seconds. Later, an outage begins when one request fails three
    times, or all of them sixteen times, while nothing succeeds: one request at a time probes, with growing pauses,
    and the others wait. The first answer ends it; `outage_seconds` without one stop the run. A 429 shows that the
    server is there, but is not an answer; one that asks for a longer wait than `outage_seconds` stops the run at
    once. While other requests do succeed, one that keeps failing is given up after 8 tries, or after 32 answers 429.
    An empty answer is asked for up to three times and then returned as it is.

    What is known of the endpoint belongs to the running event loop: another loop starts afresh. Raises OutageStop:
    the endpoint is dead, refuses the key or does not know the model, and so does every later request; TransientError:
    this request keeps failing while others succeed; RejectedRequest: as the model raised it."""

    def __init__(
        self,
        model: ChatModel,
        role: Role,
        outage_seconds: float,
        *,
        sleep: Callable[[float], Coroutine[None, None, None]] = asyncio.sleep,
        clock: Callable[[], float] = lambda: asyncio.get_running_loop().time(),
        jitter: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(model)
        self._role = role
        self._outage_seconds = outage_seconds
        self._sleep = sleep
        self._clock = clock
        self._jitter = jitter
        self._health = _Health()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def complete(self, request: ChatRequest) -> Reply:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._health = loop, _Health()
        for sent in range(1, EMPTY_TRIES):
            reply = await self._answer(request)
            if not _is_empty(reply):
                return reply
            await self._sleep(self._delay(sent))
        return await self._answer(request)

    @property
    def trouble(self) -> str:
        return self._health.trouble

    async def _answer(self, request: ChatRequest) -> Reply:
        tries = _Tries(answers=self._health.answers)
        while True:
            if (stop := self._health.stop) is not None:
                raise OutageStop(stop.message, hint=stop.hint, no_model=stop.no_model, silent=stop.silent)
            if (outage := self._health.outage) is not None:
                reply = await self._take_turn(request, outage)
                if reply is not None:
                    return reply
                continue
            started = self._clock()
            try:
                return await self._send(request)
            except TransientError as error:
                delay = self._delay_after(error, tries, started)
            if delay > 0:
                await self._sleep(delay)

    async def _send(self, request: ChatRequest) -> Reply:
        try:
            reply = await self._model.complete(request)
        except TransientError as error:
            self._health.alive |= error.rate_limited
            self._health.trouble = error.message
            wait = error.retry_after if error.rate_limited else None
            if wait is not None and wait > max(self._outage_seconds, LONGEST_RETRY_AFTER):
                what = f"wants no request for {wait:,.0f} seconds: {error.message}"
                raise self._stop(what, "run the same command again after that") from error
            raise
        except RejectedRequest as error:
            if not error.failing:
                self._health.answered()
            raise
        except RejectedRole as error:
            what = f"refuses every request: {error.message}"
            raise self._stop(what, error.hint, no_model=error.no_model) from error
        self._health.answered()
        return reply

    def _delay_after(self, error: TransientError, tries: _Tries, started: float) -> float:
        """Seconds until the request may be sent again, 0 in an outage; starts one where there is reason to."""
        health = self._health
        if health.outage is not None or health.stop is not None:
            return 0.0
        # A host that cannot be reached says so late: the time until then belongs to the 3 seconds.
        began = started if error.unreachable and not health.alive else self._clock()
        tries.count(began, health.answers, refused=error.rate_limited)
        health.failures += 1
        if tries.streak >= STREAK or health.failures >= PILE or not health.alive:
            health.outage = _Outage(since=tries.since, failures=tries.streak, cause=error)
            self._check_deadline(health.outage)
            return 0.0
        if tries.others_succeed and (tries.failures >= TRIES or tries.refusals >= REFUSALS):
            raise error
        return self._delay(tries.streak, error.retry_after)

    async def _take_turn(self, request: ChatRequest, outage: _Outage) -> Reply | None:
        """Probe once when it is this request's turn. None when the outage is over or goes on."""
        async with outage.turn:
            if outage.over.is_set() or self._health.stop is not None:
                return None
            left = outage.since + self._patience() - self._clock()
            await self._sleep_until_over(min(self._delay(outage.failures, outage.cause.retry_after), left), outage)
            if outage.over.is_set() or self._health.stop is not None:
                return None
            try:
                return await self._send(request)
            except TransientError as error:
                outage.failures += 1
                outage.cause = error
                self._check_deadline(outage)
                return None

    async def _sleep_until_over(self, seconds: float, outage: _Outage) -> None:
        waits = [asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(outage.over.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _check_deadline(self, outage: _Outage) -> None:
        silent = self._clock() - outage.since
        if silent >= self._patience() and not outage.over.is_set():
            hint = "run the same command again once it answers"
            raise self._stop(f"has not answered for {silent:.0f} seconds: {outage.cause.message}", hint, silent=True)

    def _patience(self) -> float:
        return self._outage_seconds if self._health.alive else min(STARTUP_SECONDS, self._outage_seconds)

    def _stop(self, what: str, hint: str, *, no_model: bool = False, silent: bool = False) -> OutageStop:
        where = f" at {self.endpoint}" if self.endpoint else ""
        text = f"{self._role} model {self.name!r}{where} {what}"
        self._health.stop = OutageStop(text, hint=hint, no_model=no_model, silent=silent)
        return self._health.stop

    def _delay(self, failures: int, retry_after: float | None = None) -> float:
        longest = min(LONGEST_DELAY, SHORTEST_DELAY * 2 ** min(failures - 1, 10))
        drawn = longest * (1 + self._jitter()) / 2
        return drawn if retry_after is None else max(drawn, min(retry_after, LONGEST_RETRY_AFTER))


def _is_empty(reply: Reply) -> bool:
    return reply.finish == "stop" and not reply.tool_calls and not reply.text.strip()
