"""Doubles that follow a script and write down what they were asked."""

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter

from etude.protocols import ChatModel, Journal, Spend
from etude.records import ChatRequest, Reply, Role, Usage, digest

T = TypeVar("T")

Line = Reply | str | Exception
"""What a scripted model does: answer, answer with a text, or raise."""
Script = Sequence[Line] | Callable[[ChatRequest], Line | Awaitable[Line]]


class ScriptedModel(ChatModel):
    """A model that follows a script: lines to be used up one after the other, or a function of the request.

    `requests` are all requests so far, in the order in which they came.
    """

    def __init__(self, script: Script, *, name: str = "scripted:model", max_output_tokens: int = 4096) -> None:
        self.name = name
        self.endpoint = "the script"
        self.requests: list[ChatRequest] = []
        self.closed = False
        self._script = script
        self._max_output_tokens = max_output_tokens

    async def complete(self, request: ChatRequest) -> Reply:
        self.requests.append(request)
        line = await self._line(request)
        if isinstance(line, Exception):
            raise copy.copy(line)  # an exception that is raised twice drags its first traceback along
        return Reply(text=line) if isinstance(line, str) else line

    async def _line(self, request: ChatRequest) -> Line:
        if callable(self._script):
            line = self._script(request)
            return await line if inspect.isawaitable(line) else line
        if len(self.requests) > len(self._script):
            raise AssertionError(f"the script ends after {len(self._script)} lines, here is one more request")
        return self._script[len(self.requests) - 1]

    @property
    def max_output_tokens(self) -> int:
        return self._max_output_tokens

    async def aclose(self) -> None:
        self.closed = True


class MemoryJournal(Journal):
    """Facts in memory, as JSON. `keys` are the (kind, key) of all facts in the order in which they were made."""

    def __init__(self) -> None:
        self.keys: list[tuple[str, Any]] = []
        self._facts: dict[str, bytes] = {}
        self._under_way: dict[str, asyncio.Future[Exception | None]] = {}

    async def once(self, kind: str, key: Any, type: type[T], work: Callable[[], Awaitable[T]]) -> T:
        name = digest([kind, key])
        while name not in self._facts:
            if name in self._under_way:
                error = await asyncio.shield(self._under_way[name])
                if error is not None:
                    raise error
                continue
            done = self._under_way[name] = asyncio.get_running_loop().create_future()
            outcome: Exception | None = None
            try:
                self._facts[name] = TypeAdapter(type).dump_json(await work())
                self.keys.append((kind, key))
            except Exception as error:
                outcome = error
                raise
            finally:
                # After a cancellation there is neither a fact nor an error: one who waits does the work.
                del self._under_way[name]
                done.set_result(outcome)
        return TypeAdapter(type).validate_json(self._facts[name])

    def get(self, kind: str, key: Any, type: type[T]) -> T | None:
        fact = self._facts.get(digest([kind, key]))
        return None if fact is None else TypeAdapter(type).validate_json(fact)


@dataclass(frozen=True)
class Reservation:
    """One call of `Spend.reserve`."""

    role: Role
    tokens: int
    usd: float | None


@dataclass(frozen=True)
class Settlement:
    """One call of `Spend.settle`."""

    ticket: int
    usage: Usage | None
    usd: float | None


class FreeSpend(Spend):
    """An account without a limit. Tickets count from 0."""

    def __init__(self) -> None:
        self.reserved: list[Reservation] = []
        self.settled: list[Settlement] = []
        self.abandoned: list[int] = []
        self.withdrawn: list[int] = []

    async def reserve(self, role: Role, tokens: int, usd: float | None) -> int:
        self.reserved.append(Reservation(role, tokens, usd))
        return len(self.reserved) - 1

    def abandon(self, ticket: int) -> None:
        self.abandoned.append(ticket)

    def withdraw(self, ticket: int) -> None:
        self.withdrawn.append(ticket)

    async def settle(self, ticket: int, usage: Usage | None, usd: float | None) -> None:
        self.settled.append(Settlement(ticket, usage, usd))
