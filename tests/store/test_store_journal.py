import asyncio
import json
import os
import signal
from itertools import product
from pathlib import Path

import pytest
from journal_contract import JournalContract
from pydantic_core import PydanticSerializationError
from watched import watched_writes

from etude.errors import DataError, IdentityError, StopRun
from etude.records import Reply
from etude.redaction import Redactor
from etude.store import SqliteJournal
from etude.store.journal import DECISION
from forked import exit_code
from memory_doubles import MemoryJournal
from rows import few


class TestSqliteJournal(JournalContract):
    def make_journal(self, folder: Path) -> SqliteJournal:
        return SqliteJournal(folder / "journal.db")

    def close_journal(self, journal) -> None:
        journal.close()


class TestMemoryJournal(JournalContract):
    def make_journal(self, folder: Path) -> MemoryJournal:
        return MemoryJournal()


@pytest.fixture
def journal(tmp_path):
    journal = SqliteJournal(tmp_path / "journal.db")
    yield journal
    journal.close()


def works(value):
    async def work():
        return value

    return work


async def never():
    raise AssertionError("the fact is known")


class Killed(BaseException):
    pass


class KillAt:
    """Stops the process, as far as a test can, before or after one of the writes."""

    def __init__(self, moment: str, number: int) -> None:
        self.at = (moment, number)
        self.seen: list[tuple[str, int]] = []

    def __call__(self, moment: str, number: int) -> None:
        self.seen.append((moment, number))
        if (moment, number) == self.at:
            raise Killed


async def test_a_fact_is_readable_by_others_as_soon_as_once_returns(journal):
    await journal.once("call", "key", int, works(1))
    reader = SqliteJournal(journal.database.path, read_only=True)
    assert reader.get("call", "key", int) == 1
    await journal.once("call", "other", int, works(2))
    assert reader.get("call", "other", int) == 2
    reader.close()


async def test_keys_are_kept_for_people_unless_they_are_long(journal):
    await journal.once("call", {"b": "é", "a": 1}, int, works(1))
    await journal.once("call", {"a": "x" * 5000}, int, works(2))
    assert journal.database.rows("SELECT key FROM facts ORDER BY value") == [('{"a":1,"b":"é"}',), (None,)]


async def test_half_a_surrogate_pair_becomes_a_replacement_character_both_times(journal):
    first = await journal.once("call", "key", Reply, works(Reply(text="a\ud83db \ud83d\ude00")))
    assert first == await journal.once("call", "key", Reply, never) == Reply(text="a\ufffdb 😀")


async def test_secrets_are_not_stored_and_never_seen_again(tmp_path):
    journal = SqliteJournal(tmp_path / "journal.db", redactor=Redactor({"MY_KEY": "open-sesame-1"}))
    key = {"prompt": "open-sesame-1"}
    first = await journal.once("call", key, Reply, works(Reply(text="say open-sesame-1 twice")))
    assert first == await journal.once("call", key, Reply, never) == Reply(text="say [redacted:MY_KEY] twice")
    journal.close()
    assert b"sesame" not in (tmp_path / "journal.db").read_bytes()


async def test_a_result_of_another_type_is_refused_and_not_stored(journal):
    with pytest.raises(PydanticSerializationError):
        await journal.once("call", "key", Reply, works({"text": "x"}))
    assert journal.counts() == {}


async def test_a_fact_that_no_longer_fits_its_type_is_an_error_not_a_new_call(journal):
    await journal.once("call", "key", int, works(1))
    with pytest.raises(IdentityError, match="a fact of kind 'call'") as caught:
        await journal.once("call", "key", Reply, never)
    assert caught.value.hint == "use the version of etude that made it, or another `run.name`"


async def test_stopped_before_a_write_nothing_is_stored_and_after_it_everything(tmp_path):
    path = tmp_path / "journal.db"
    SqliteJournal(path).close()
    before = KillAt("before", 2)
    with watched_writes(before):
        journal = SqliteJournal(path)
    await journal.once("call", 1, int, works(1))
    with pytest.raises(Killed):
        await journal.once("call", 2, int, works(2))
    journal.close()
    assert before.seen == [("before", 1), ("after", 1), ("before", 2)]
    with watched_writes(KillAt("after", 1)):
        journal = SqliteJournal(path)
    assert journal.counts() == {"call": 1}
    with pytest.raises(Killed):
        await journal.once("call", 2, int, works(2))
    journal.close()
    journal = SqliteJournal(path)
    assert await journal.once("call", 2, int, never) == 2
    journal.close()


@pytest.mark.parametrize(
    ("moment", "number"), few(product(("before", "after"), (1, 2, 7)), ("before", 2), ("after", 7))
)
def test_a_killed_process_leaves_a_readable_journal(tmp_path, moment, number):
    def kill(*at):
        if at == (moment, number):
            os.kill(os.getpid(), signal.SIGKILL)

    async def work():
        return "x" * 20_000

    async def write():
        with watched_writes(kill):
            journal = SqliteJournal(tmp_path / "journal.db")
        for call in range(10):
            await journal.once("call", call, str, work)

    assert exit_code(lambda: asyncio.run(write())) == -signal.SIGKILL
    journal = SqliteJournal(tmp_path / "journal.db")
    assert journal.database.rows("PRAGMA integrity_check") == [("ok",)]
    # the first write makes the tables
    expected = number - 1 if moment == "after" else max(number - 2, 0)
    assert journal.counts().get("call", 0) == expected
    journal.close()


def claim(journal, identity):
    """Claim it, and have a fact that depends on it."""

    async def work() -> int:
        return 1

    journal.claim_identity(identity)
    asyncio.run(journal.once("reply", "key", int, work))


def test_an_identity_that_nothing_depends_on_is_replaced(journal):
    journal.claim_identity({"model": "typo"})
    claim(journal, {"model": "right"})
    assert journal.identity == {"model": "right"}
    with pytest.raises(IdentityError, match="model"):
        journal.claim_identity({"model": "typo"})


def test_the_same_identity_may_be_claimed_again(journal):
    assert journal.identity is None
    identity = {"train": {"seed": 42, "epochs": 4}, "prompts": {}, "order": (1, 2)}
    journal.claim_identity(identity)
    journal.claim_identity({"order": [1, 2], "prompts": {}, "train": {"epochs": 4, "seed": 42}})
    assert journal.identity == {"train": {"seed": 42, "epochs": 4}, "prompts": {}, "order": [1, 2]}


def test_another_identity_is_refused_and_every_difference_named(journal):
    claim(
        journal, {"train": {"seed": 42, "epochs": 4}, "env": {"name": "dataset", "path": "a" * 80}, "x": 1, "y": None}
    )
    with pytest.raises(IdentityError) as caught:
        journal.claim_identity(
            {"train": {"seed": 43, "epochs": 4}, "env": {"name": "dataset", "limit": 5, "path": "b"}, "x": {"y": 1}}
        )
    assert str(caught.value) == (
        f"run {journal.database.path.parent.name!r} in {str(journal.database.path.parent)!r} was made with other "
        "settings:\n"
        "  env.limit: was not set, now 5\n"
        f'  env.path: was "{"a" * 58}…, now "b"\n'
        "  train.seed: was 42, now 43\n"
        '  x: was 1, now {"y":1}\n'
        "  y: was null, now not set\n"
        "hint: use the old settings, or give another `run.name`; a fork of this run (`fork`) has its answers"
    )


def test_what_an_identity_holds_as_a_digest_is_named_by_its_setting_or_in_words(journal):
    claim(journal, {"env": {"fingerprint": "1f"}, "data": {"train": "aa"}, "models": {"target": "3c"}})
    then, now = {"env": {"scorer": "exact"}, "run": {"name": "a"}}, {"env": {"scorer": "f1"}, "run": {"name": "b"}}
    with pytest.raises(IdentityError) as caught:
        journal.claim_identity(
            {"env": {"fingerprint": "2f"}, "data": {"train": "bb"}, "models": {"target": "4c"}}, lambda: (then, now)
        )
    assert caught.value.message.splitlines()[1:] == [
        '  env.scorer: was "exact", now "f1"',
        "  the training tasks are others",
        "  the target is another model",
    ]


@pytest.mark.parametrize(("old", "new"), [(1, True), (0, False), ("1", 1), (None, {}), ([], {}), ({}, {"a": 1})])
def test_identities_differ_even_where_python_finds_them_equal(journal, old, new):
    claim(journal, {"setting": old})
    with pytest.raises(IdentityError, match="setting"):
        journal.claim_identity({"setting": new})


def test_identities_hold_no_secrets(tmp_path):
    journal = SqliteJournal(tmp_path / "journal.db", redactor=Redactor({"MY_KEY": "open-sesame-1"}))
    journal.claim_identity({"extra_body": {"pass": "open-sesame-1", "api_key": "abc"}})
    journal.claim_identity({"extra_body": {"pass": "open-sesame-1", "api_key": "abc"}})
    assert journal.identity == {"extra_body": {"pass": "[redacted:MY_KEY]", "api_key": "[redacted:authorization]"}}
    journal.close()


async def test_a_fork_takes_all_facts_but_the_decisions(tmp_path, journal):
    journal.claim_identity({"seed": 1})
    for number in range(300):
        await journal.once("call", number, int, works(number))
    await journal.once(DECISION, "step 1", bool, works(True))
    fork = SqliteJournal(tmp_path / "fork.db")
    await fork.once("call", 0, int, works(0))
    fork.fork_from(journal.database.path)
    assert fork.counts() == {"call": 300}
    assert await fork.once("call", 299, int, never) == 299
    assert fork.identity is None
    assert journal.counts() == {"call": 300, "decision": 1}
    fork.close()


async def test_a_fork_stopped_half_way_copied_nothing(tmp_path, journal):
    await journal.once("call", 1, int, works(1))
    with watched_writes(KillAt("before", 2)):
        fork = SqliteJournal(tmp_path / "fork.db")
    with pytest.raises(Killed):
        fork.fork_from(journal.database.path)
    assert fork.counts() == {}
    fork.close()


def test_there_must_be_a_journal_to_fork_from(tmp_path, journal):
    with pytest.raises(DataError, match="there is no journal"):
        journal.fork_from(tmp_path / "absent.db")


async def test_what_is_stored_is_plain_json(journal):
    await journal.once("call", "key", Reply, works(Reply(text="é\n")))
    [(value, seconds, created)] = journal.database.rows("SELECT value, seconds, created FROM facts")
    assert json.loads(value)["text"] == "é\n"
    assert seconds >= 0
    assert created.endswith("+00:00")


async def test_reading_only_leaves_the_file_alone(journal):
    reader = SqliteJournal(journal.database.path, read_only=True)
    with pytest.raises(StopRun, match="readonly"):
        await reader.once("call", "key", int, works(1))
    reader.close()
    assert journal.counts() == {}
