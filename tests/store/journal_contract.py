"""What every journal must do."""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from etude.protocols import Journal
from etude.records import Edit, Patch, Reply, Score, Task, Trajectory, Usage

ODD_TEXTS = ("", "\0", "a\u2028b", "e\u0301 🧠", '"\\/\n\r\t')


class _Work:
    """Work that counts how often it was done and can be held up."""

    def __init__(self, result: Any, *, held: bool = False) -> None:
        self.result = result
        self.done = 0
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        if not held:
            self.go_on.set()

    async def __call__(self) -> Any:
        self.done += 1
        self.begun.set()
        await self.go_on.wait()
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


class JournalContract:
    """Behaviour every `Journal` shares."""

    pytestmark = pytest.mark.asyncio

    @abstractmethod
    def make_journal(self, folder: Path) -> Journal:
        """A fresh, empty journal; `folder` is its own."""

    def close_journal(self, journal: Journal) -> None:
        """Give back what the journal holds. Does nothing unless overridden."""

    @pytest.fixture
    def journal(self, tmp_path: Path) -> Iterator[Journal]:
        """The journal under test."""
        journal = self.make_journal(tmp_path)
        yield journal
        self.close_journal(journal)

    async def test_another_key_or_kind_is_another_fact(self, journal: Journal) -> None:
        assert await journal.once("call", ["a"], int, _Work(1)) == 1
        assert await journal.once("call", ["b"], int, _Work(2)) == 2
        assert await journal.once("score", ["a"], int, _Work(3)) == 3
        assert await journal.once("call", ["a"], int, _Work(4)) == 1

    @pytest.mark.parametrize(
        ("type", "value"),
        [
            (Reply, Reply(text="four")),
            (Score, Score(hard=0, soft=0.1 + 0.2, feedback="too short")),
            (Patch, Patch(edits=(Edit(op="append", content="- be brief", cites=("a1", "a2")),))),
            (Trajectory, Trajectory(answer="x", usage=Usage(input_tokens=3))),
            (Task, Task(id="t", input="?", gold={"a": [1, 2.5, None, True]}, data={"n": 10**15})),
            (dict[str, float], {"a": 0.0}),
            (float, 0.0),
            (type(None), None),
        ],
    )
    async def test_values_come_back_equal(self, journal: Journal, type: Any, value: Any) -> None:
        work = _Work(value)
        assert await journal.once("kind", "key", type, work) == value
        assert await journal.once("kind", "key", type, work) == journal.get("kind", "key", type) == value
        assert work.done == 1

    @pytest.mark.parametrize("text", ODD_TEXTS)
    async def test_odd_texts_come_back_equal_and_stay_apart_as_keys(self, journal: Journal, text: str) -> None:
        await journal.once("call", [text], str, _Work(text))
        assert await journal.once("call", [text], str, _Work("other")) == text
        assert await journal.once("call", [f"{text}."], str, _Work("other")) == "other"

    async def test_get_tells_what_is_known_and_does_no_work(self, journal: Journal) -> None:
        assert journal.get("call", {"a": 1, "b": 2}, int) is None
        work = _Work(0)
        await journal.once("call", {"a": 1, "b": 2}, int, work)
        assert journal.get("call", {"b": 2, "a": 1}, int) == 0
        assert journal.get("score", {"a": 1, "b": 2}, int) is None
        assert journal.get("call", {"a": 1}, int) is None
        assert work.done == 1

    async def test_work_that_is_under_way_or_raised_is_not_known_to_get(self, journal: Journal) -> None:
        work = _Work(ConnectionError("gone"), held=True)
        asked = asyncio.create_task(journal.once("call", "key", int, work))
        await asyncio.wait_for(work.begun.wait(), 30)
        assert journal.get("call", "key", int) is None
        work.go_on.set()
        with pytest.raises(ConnectionError):
            await asked
        assert journal.get("call", "key", int) is None
        assert await journal.once("call", "key", int, _Work(7)) == 7

    async def test_different_facts_are_worked_out_at_the_same_time(self, journal: Journal) -> None:
        works = [_Work(number, held=True) for number in range(5)]
        asked = [asyncio.create_task(journal.once("call", n, int, work)) for n, work in enumerate(works)]
        for work in works:
            await asyncio.wait_for(work.begun.wait(), 30)
        for work in works:
            work.go_on.set()
        assert await asyncio.gather(*asked) == [0, 1, 2, 3, 4]

    async def test_all_who_wait_for_work_that_raises_get_its_exception(self, journal: Journal) -> None:
        error = ConnectionError("gone")
        work = _Work(error, held=True)
        asked = await _ask_thrice(journal, work)
        work.go_on.set()
        assert await asyncio.gather(*asked, return_exceptions=True) == [error] * 3
        assert work.done == 1

    async def test_when_the_first_asker_is_cancelled_another_one_does_the_work(self, journal: Journal) -> None:
        work = _Work(7, held=True)
        asked = await _ask_thrice(journal, work)
        asked[0].cancel()
        work.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await asked[0]
        assert await asyncio.gather(*asked[1:]) == [7, 7]
        assert work.done == 2

    async def test_cancelling_one_who_waits_disturbs_nobody(self, journal: Journal) -> None:
        work = _Work(7, held=True)
        asked = await _ask_thrice(journal, work)
        asked[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked[1]
        work.go_on.set()
        assert await asyncio.gather(asked[0], asked[2]) == [7, 7]
        assert work.done == 1

    async def test_a_fact_can_be_asked_for_within_the_work_on_another(self, journal: Journal) -> None:
        async def attempt() -> int:
            return 1 + await journal.once("call", "inner", int, _Work(1))

        assert await journal.once("attempt", "outer", int, attempt) == 2


async def _ask_thrice(journal: Journal, work: Callable[[], Awaitable[int]]) -> list["asyncio.Task[int]"]:
    """Three askers, of whom the first has begun the work and the others wait."""
    asked = [asyncio.create_task(journal.once("call", "key", int, work)) for _ in range(3)]
    for _ in range(5):
        await asyncio.sleep(0)
    return asked
