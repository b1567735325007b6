"""Decisions replayed on recorded outcomes: on records made here, and on real ones where they are present."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import replay

REAL = Path(__file__).parents[2] / "shared" / "data" / "outcomes"
SURE = {f"task {number}": "11111" if number % 2 else "00000" for number in range(30)}
COINS = {f"task {number}": "".join(random.Random(number).choices("01", (3, 2), k=12)) for number in range(30)}


def share(found: list[Any], name: str) -> float:
    return sum(bool(getattr(one, name)) for one in found) / len(found)


def test_an_edit_that_changes_nothing_hardly_ever_enters_however_noisy_the_agent_is() -> None:
    for kind in (replay.null, replay.endless):
        found = replay.contests(kind, "coins", COINS, 150)
        assert share(found, "entered") <= 0.08
        assert share(found, "one_passed") > 0.4, "which a rule without a control takes for the effect of the edit"
    assert share(replay.contests(replay.null, "sure", SURE, 20), "one_passed") == 0


def test_an_edit_that_works_enters_within_a_few_attempts() -> None:
    found = replay.contests(replay.helping, "sure", SURE, 150)
    assert share(found, "entered") >= 0.8
    assert sum(one.with_edit + one.without for one in found) / len(found) <= 10


def test_no_recorded_attempt_is_used_twice() -> None:
    draw = replay.drawn({"a": "00t", "b": "1", "c": "0"}, random.Random(1))
    assert draw.seconds == {"a": False, "c": None}
    assert draw.further == {"a": [False], "b": [], "c": []}
    (found,) = replay.contests(replay.null, "two attempts", {"a": "00", "b": "00"}, 1)
    assert (found.entered, found.with_edit, found.ran_out) == (False, 0, True)
    left = replay.CITED * 10  # of twelve, two are spent before
    assert all(one.with_edit + one.without <= left for one in replay.contests(replay.null, "coins", COINS, 50))


def test_the_command_reads_a_folder_and_writes_tables(tmp_path: Path) -> None:
    lines = [f"20250101_clerk_small,{task},{outcomes}" for task, outcomes in COINS.items()]
    (tmp_path / "terminal_bench.csv").write_text("\n".join(["agent,task,outcomes", *lines]) + "\n")
    lines = [f"{task},{outcomes}" for task, outcomes in SURE.items()]
    (tmp_path / "tau_airline.csv").write_text("\n".join(["task,outcomes", *lines]) + "\n")
    out = tmp_path / "replay.json"
    assert replay.main(["--draws", "5", "--data", str(tmp_path), "--out", str(out)]) == 0
    tables = json.loads(out.read_text())["tables"]
    assert [[row[0] for row in table["rows"]] for table in tables] == [["clerk, small", "tau-bench airline"]] * 2
    assert all(len(row) == len(table["columns"]) for table in tables for row in table["rows"])


@pytest.mark.slow
def test_rules_keep_their_rates_on_the_noise_of_real_agents() -> None:
    if not REAL.exists():
        pytest.skip("recorded outcomes are not on this machine: they are not shipped")
    for name, records in replay.recorded(REAL).items():
        nulls = replay.contests(replay.null, name, records, 60)
        helps = replay.contests(replay.helping, name, records, 60)
        assert share(nulls, "entered") <= 0.12, name
        assert share(helps, "entered") >= 0.75, name
