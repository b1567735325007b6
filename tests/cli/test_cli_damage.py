"""Whatever something changed in a run folder, no verb ends in a traceback or tells another result in silence."""

import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from damage import (
    JOURNAL,
    READING,
    RUN,
    SETTINGS,
    TRAIN,
    Said,
    flip,
    flipped,
    harms,
    make_run,
    result,
    say,
    told_whole,
)

from etude.store import database
from made_once import made_once
from rows import few

ALL = (*READING, "train")
KEPT = ("closed", "logged")


@pytest.fixture(scope="session")
def runs_done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finished runs, `closed` and `logged`."""

    def make(folder: Path) -> None:
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            make_run(folder)

    return made_once(tmp_path_factory, "damage", make)


@pytest.fixture(scope="session")
def told(runs_done: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Said]:
    """What each verb says of the run that is closed."""
    place = tmp_path_factory.mktemp("whole")
    shutil.copytree(runs_done / "closed", place / "closed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return told_whole("closed")


@pytest.fixture
def whole(
    runs_done: Path, told: Mapping[str, Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Mapping[str, Said]:
    """What each verb says of the run that is closed; both are in the current folder."""
    monkeypatch.chdir(tmp_path)
    for kept in KEPT:
        shutil.copytree(runs_done / kept, kept)
    return told


@pytest.mark.slow
def test_a_flipped_bit_of_the_journal_does_no_harm(whole: Any) -> None:
    by_name = {"closed": whole, "logged": told_whole("logged")}
    found = [flipped(name, number, by_name[name]) for number in range(1_000, 1_300) for name in [KEPT[number % 2]]]
    assert [each for some in found for each in some] == []


def cut(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def swap_pages(path: Path) -> None:
    data, size = path.read_bytes(), 4096
    first, second = (data[number * size : (number + 1) * size] for number in (5, 9))
    path.write_bytes(data[: 5 * size] + second + data[6 * size : 9 * size] + first + data[10 * size :])


def run_sql(sql: str) -> None:
    with closing(sqlite3.connect(JOURNAL)) as journal:
        journal.execute(sql)
        journal.commit()


DAMAGES: Mapping[str, Callable[[], object]] = {
    "cut in half": lambda: cut(JOURNAL, 0.5),
    "cut by a byte": lambda: JOURNAL.write_bytes(JOURNAL.read_bytes()[:-1]),
    "cut to its first page": lambda: JOURNAL.write_bytes(JOURNAL.read_bytes()[:4096]),
    "empty": lambda: JOURNAL.write_bytes(b""),
    "zeros": lambda: JOURNAL.write_bytes(bytes(len(JOURNAL.read_bytes()))),
    "two pages swapped": lambda: swap_pages(JOURNAL),
    "no journal": JOURNAL.unlink,
    "no facts": lambda: run_sql("DELETE FROM facts"),
    "no identity": lambda: run_sql("DELETE FROM meta WHERE name = 'identity'"),
    "another identity": lambda: run_sql("UPDATE meta SET value = '{}' WHERE name = 'identity'"),
    "no meta": lambda: run_sql("DELETE FROM meta"),
    "no table of facts": lambda: run_sql("DROP TABLE facts"),
    "another bill": lambda: run_sql("UPDATE spend_settled SET calls = calls - 1"),
    "a bill is missing": lambda: run_sql("DELETE FROM spend_settled WHERE role = 'target'"),
    "no bill": lambda: run_sql("DELETE FROM spend_settled"),
    "requests are missing": lambda: run_sql("DELETE FROM spend WHERE ticket % 2"),
    "a line of bytes": lambda: run_sql("UPDATE facts SET value = CAST(x'ff00' AS TEXT)"),
    "facts of other types": lambda: run_sql("UPDATE facts SET value = 5, seconds = 'x'"),
    "another answer to each": lambda: run_sql("UPDATE facts SET value = replace(value, 'a', 'b')"),
    "answers exchanged": lambda: run_sql("UPDATE facts SET value = (SELECT value FROM facts LIMIT 1)"),
    "an answer under another name": lambda: run_sql(
        "UPDATE facts SET key_hash = 'x' || key_hash WHERE key_hash = (SELECT MIN(key_hash) FROM facts)"
    ),
    "summary cut": lambda: cut(RUN / "summary.json", 0.7),
    "summary empty": lambda: cut(RUN / "summary.json", 0),
    "no summary is an object": lambda: (RUN / "summary.json").write_text("[]"),
    "provenance cut": lambda: cut(RUN / "provenance.json", 0.5),
    "a step cut": lambda: cut(RUN / "steps/0001/gate.json", 0.5),
    "summary with what is no number": lambda: (RUN / "summary.json").write_text(
        re.sub(r"\b0\.\d+", "1e999", (RUN / "summary.json").read_text())
    ),
    "attempts cut": lambda: cut(RUN / "steps/0001/rollout.json", 0.5),
}


@pytest.mark.slow
def test_a_flipped_bit_of_the_events_ends_in_no_traceback(whole: Any) -> None:
    """A changed number in this log cannot be told from another: what a run came to is never read from it."""
    for number in range(24):
        verb = ("view", "cost", "show", "runs", "train", "blame")[number % 6]

        def damage(number: int = number) -> str:
            return flip(RUN / "events.jsonl", random.Random(number))

        found = harms("closed", damage, [verb], whole)
        assert verb in ("view", "cost") or found == []
        assert all(each.endswith("another result in silence") for each in found)


def test_the_journal_of_another_run_is_refused(whole: Any) -> None:
    shutil.copytree("closed", "demo")
    assert say(("train", *SETTINGS, "--train.seed", "7", "--name", "other")).code == 0
    shutil.copy("demo/runs/other/journal.db", JOURNAL)
    for words in (TRAIN, READING["verify"]):
        said = say(words)
        assert said.code == 2
        assert "error: " in said.err
        assert "hint: " in said.err


def test_a_fact_that_was_changed_is_paid_for_again_with_one_warning(whole: Any) -> None:
    shutil.copytree("closed", "demo")
    run_sql("UPDATE facts SET value = replace(value, 'a', 'b')")
    said = say(TRAIN)
    assert result("train", said) == result("train", whole["train"])
    assert said.err.count("was changed in journal") == 1
    assert say(TRAIN).err.count("was changed in journal") == 0


def test_a_journal_that_another_program_holds_is_said(whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree("closed", "demo")
    run_sql("DELETE FROM facts WHERE rowid IN (SELECT rowid FROM facts LIMIT 1)")  # one to be paid for again
    monkeypatch.setattr(database, "BUSY_MILLISECONDS", 50)
    with closing(sqlite3.connect(JOURNAL, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        said = say(TRAIN)
    assert said.code in (1, 2)
    assert "held by another program" in said.err


def test_what_others_put_into_a_run_folder_is_left_aside(whole: Any) -> None:
    def put() -> str:
        for name in ("steps/.DS_Store", "steps/x/gate.json", "steps/0001 copy/candidate.md", "skills/0001 copy.md"):
            (RUN / name).parent.mkdir(exist_ok=True)
            (RUN / name).write_text("# Theirs\n")
        return "files of others"

    assert harms("closed", put, ALL, whole) == []


FAST = ("a bill is missing", "cut in half", "another answer to each", "attempts cut")


@pytest.mark.parametrize("damage", few(DAMAGES, *FAST))
def test_damage_does_no_harm(damage: str, whole: Any) -> None:
    found = harms("closed", lambda: f"{damage} {DAMAGES[damage]() and ''}", ALL, whole)
    assert found == []
