"""A journal and an account in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter

from etude.protocols import Journal, Spend
from etude.records import Role, Usage, digest

T = TypeVar("T")


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
