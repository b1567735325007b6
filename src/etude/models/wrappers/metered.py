"""What every request may cost, before it is sent, and what it did cost, after."""

import asyncio
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from etude.config import Price
from etude.errors import HandoffStop, ModelError, RejectedRole, TransientError
from etude.events import CallFinished, Event, Notice
from etude.formats.wire import estimate, text_of
from etude.protocols import ChatModel, Spend, Wrapper
from etude.records import ChatRequest, ImagePart, Reply, Role, TextPart, Usage, digest

MESSAGE_TOKENS = 8
"""What a message costs in addition to its text."""
_WORTH_A_WORD = 1000
"""Tokens of a prompt from which one is looked at: the shortest contexts of servers have 2,048, and a template may
count shorter ones in its own way."""
_RUNS = re.compile(r"(\s|[^\w\s])\1+")
IMAGE_TOKENS = 2000
"""What a picture may cost, whatever its size in bytes."""
WRITTEN, HOUR = 1.25, 1.6
"""Writing to the cache costs 1.25 times the input price for 5 minutes, and twice that price, which is 1.6 times as
much, for an hour: so at Anthropic, and where its models are sold. Who takes nothing for it does not report it."""


@dataclass
class RequestRace:
    """The same request, sent more than once."""

    won: Reply | None = None
    """The first answer."""


_race: ContextVar[RequestRace | None] = ContextVar("race", default=None)


@contextmanager
def racing() -> Generator[RequestRace]:
    """Requests of tasks that are made inside run a race. Those that are cancelled once it is won are billed like the
    answer."""
    race = RequestRace()
    token = _race.set(race)
    try:
        yield race
    finally:
        _race.reset(token)


class Metered(Wrapper):
    """Reserves an upper bound with `spend` before a request is sent, and settles it with the bill. Raises BudgetStop:
    the bound does not fit into what is left; nothing was sent.

    A `ModelError` is settled with what it says was billed, or withdrawn where the server turned the request away: a
    key or a plan that is used up, too many requests. A request that was cancelled keeps its bound: it may have been
    billed. One that lost a race is settled with the prompt and the output of the answer that won, since no server
    says what it bills for it. A question of a handoff that has no answer yet is withdrawn. What a bill leaves out,
    input or output, is
    counted, and returned, with an estimate of four characters to a token. Without a `price` money is None, except
    that answers of the simulated world cost nothing."""

    def __init__(
        self, model: ChatModel, role: Role, spend: Spend, price: Price | None, emit: Callable[[Event], None]
    ) -> None:
        super().__init__(model)
        self._role: Role = role
        self._spend = spend
        self._price = price
        self._emit = emit
        self._print = digest(model.fingerprint())[:8]
        self._warned = False

    async def complete(self, request: ChatRequest) -> Reply:
        bound = Usage(input_tokens=prompt_bound(request), output_tokens=self.max_output_tokens)
        ticket = await self._spend.reserve(self._role, bound.total, cost(bound, self._price))
        started = time.monotonic()
        try:
            reply = await self._model.complete(request)
        except ModelError as error:
            await self._fail(ticket, error, time.monotonic() - started)
            raise
        except HandoffStop:  # a question to a person was written down: the call is the one that reads the answer
            self._spend.withdraw(ticket)
            raise
        except asyncio.CancelledError:
            race = _race.get()
            if race is None or race.won is None:
                self._spend.abandon(ticket)
            else:
                usage = race.won.usage.model_copy(update={"cached_tokens": 0})
                await self._bill(ticket, usage, race.won.simulated, started)
            raise
        except BaseException:
            self._spend.abandon(ticket)
            raise
        counted = reply.usage
        reply = reply.model_copy(update={"usage": _billed(request, reply)})
        await self._bill(ticket, reply.usage, reply.simulated, started)
        self._warn_of_a_cut_prompt(request, counted, reply.simulated)
        return reply

    def _warn_of_a_cut_prompt(self, request: ChatRequest, counted: Usage, simulated: bool) -> None:
        """Once: a server with a short context cuts the beginning of the prompt, the skill, and says nothing."""
        tokens = counted.input_tokens
        if self._warned or simulated or not tokens or counted.cached_tokens:
            return
        least = least_tokens(request)
        if tokens >= least or least < _WORTH_A_WORD:
            return
        self._warned = True
        text = (
            f"{self._role}: {self.name} counted {tokens:,} tokens of a prompt that has at least {least:,}: its "
            "server seems to have cut the prompt, or does not count what it had cached"
        )
        hint = "give the model more context (Ollama: num_ctx, or OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size)"
        self._emit(Notice(level="warning", text=text, hint=hint))

    async def _fail(self, ticket: int, error: ModelError, seconds: float) -> None:
        usage: Usage | None = error.usage if isinstance(error, TransientError) else None
        usd = cost(usage or Usage(), self._price)
        if _turned_away(error):
            self._spend.withdraw(ticket)
        else:
            await self._spend.settle(ticket, usage, usd)
        self._emit(
            CallFinished(
                role=self._role,
                model=self._print,
                error=error.message,
                final=isinstance(error, RejectedRole),
                usage=usage or Usage(),
                usd=usd,
                seconds=seconds,
            )
        )

    async def _bill(self, ticket: int, usage: Usage, simulated: bool, started: float) -> None:
        usd, seconds = cost(usage, self._price, simulated), time.monotonic() - started
        await self._spend.settle(ticket, usage, usd)
        self._emit(CallFinished(role=self._role, model=self._print, usage=usage, usd=usd, seconds=seconds))


def _turned_away(error: ModelError) -> bool:
    return isinstance(error, RejectedRole) or (isinstance(error, TransientError) and error.rate_limited)


def cost(usage: Usage, price: Price | None, simulated: bool = False) -> float | None:
    """US dollars for `usage`; None when the price is unknown, but nothing for simulated answers without a price."""
    if price is None:
        return 0.0 if simulated else None
    cached = price.input if price.cached is None else price.cached
    written = WRITTEN * price.input if price.written is None else price.written
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.written_tokens)
    parts = (
        fresh * price.input,
        usage.cached_tokens * cached,
        (usage.written_tokens - usage.hour_tokens) * written,
        usage.hour_tokens * HOUR * written,
        usage.output_tokens * price.output,
    )
    return sum(parts) / 1e6


def prompt_bound(request: ChatRequest) -> int:
    """Tokens that the prompt has at most: one for every two bytes of UTF-8 text, schema and tools included, 8 for
    each message and 2,000 for each picture. Ordinary text has half of that; no tokenizer is needed."""
    parts = [part for message in request.messages for part in message.content]
    pictures = sum(isinstance(part, ImagePart) for part in parts)
    letters = len(text_of(request).encode("utf-8", "replace"))
    return -(-letters // 2) + MESSAGE_TOKENS * len(request.messages) + IMAGE_TOKENS * pictures


def least_tokens(request: ChatRequest) -> int:
    """Tokens that the text of the messages has at least: one for every eight characters, a run of blanks or of one
    sign counted as one. A token is at most about a word, and with its blank a word has fewer than eight characters on
    the mean in languages that have tokens for whole words; elsewhere, as in Chinese, a token has fewer still. Tools
    and the form of the answer are left out, which some servers do not put into the prompt, and so are pictures."""
    texts = (part.text for message in request.messages for part in message.content if isinstance(part, TextPart))
    return sum(len(_RUNS.sub(r"\1", text)) for text in texts) // 8


def _billed(request: ChatRequest, reply: Reply) -> Usage:
    """What the server says, with an estimate where it says nothing of input or output: neither is ever free."""
    whole = {"input_tokens": request, "output_tokens": ChatRequest(messages=(reply.turn,))}
    missing = {name: estimate(one) for name, one in whole.items() if getattr(reply.usage, name) == 0}
    return reply.usage.model_copy(update=missing)
