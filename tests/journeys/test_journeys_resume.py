"""Kill a run anywhere, start it again: the result is the same, and nothing that was answered is paid for twice."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small_run import EVIDENCE, PAPER, World, facts, killed_at_writes, settings, train, tree, verified

from etude.errors import BudgetStop, OutageStop, TransientError

SEARCHES = {"paper": (PAPER, 5), "evidence": (EVIDENCE, 4)}
"""Settings, and the number of training and of validation tasks."""


class Whole(NamedTuple):
    """A run that nothing disturbed."""

    folder: Path
    world: World
    search: Mapping[str, Any]
    size: int


@pytest.fixture(scope="module", params=SEARCHES)
def undisturbed(tmp_path_factory, request) -> Whole:
    (search, size), folder, world = SEARCHES[request.param], tmp_path_factory.mktemp("undisturbed"), World()
    train(folder, world, settings(folder, search), size=size)
    return Whole(folder, world, search, size)


def test_a_run_killed_before_or_after_a_write_ends_as_an_undisturbed_one(tmp_path, undisturbed) -> None:
    ends_alike_when_killed(undisturbed, tmp_path, every=37)


def ends_alike_when_killed(undisturbed: Whole, tmp_path: Path, every: int = 1) -> None:
    """Kill it before and after writes, one of `every`: `tests/slow/test_slow_resume.py` takes each."""
    folder, world, search, size = undisturbed
    assert facts(folder) <= 100
    wanted, place, first = tree(folder), tmp_path / "killed", World()
    moments = killed_at_writes(
        lambda: train(place, first, settings(place, search), size=size), place, first, tmp_path / "left", every
    )
    assert len(moments) > facts(folder) / every
    for left, answered, lost in moments:
        again = World()
        train(left, again, settings(left, search), size=size)
        assert tree(left) == wanted, left.name
        assert answered + again.answered == world.answered + lost, left.name


def test_a_finished_run_started_again_calls_nobody_and_keeps_its_time(tmp_path, undisturbed) -> None:
    folder, _, search, size = undisturbed
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    summary = tmp_path / "run" / "summary.json"
    long = json.loads(summary.read_text())
    long["cost"]["wall_seconds"] = 1234.5
    summary.write_text(json.dumps(long))

    def refuse(_: int) -> None:
        raise AssertionError("a finished run made a call")

    config = settings(tmp_path, search)
    again = train(tmp_path, World(refuse), config, size=size)
    assert tree(tmp_path) == tree(folder)
    assert verified(tmp_path, config, size=size)
    assert again.cost.wall_seconds == json.loads(summary.read_text())["cost"]["wall_seconds"] == 1234.5


@pytest.mark.parametrize("calls", [20])
def test_an_outage_stops_the_run_and_the_resumed_run_is_the_same(tmp_path, undisturbed, calls: int) -> None:
    folder, whole, search, size = undisturbed
    down = True

    def outage(answered: int) -> None:
        if down and answered >= calls:
            raise TransientError("connection refused", unreachable=True)

    world = World(outage)
    quick = settings(tmp_path, search, limits={"concurrency": 1, "outage_seconds": 0.3})
    with pytest.raises(OutageStop) as stop:
        train(tmp_path, world, quick, size=size)
    assert "connection refused" in str(stop.value)
    assert world.answered == calls
    assert stop.value.summary.stopped == stop.value.message
    down = False
    train(tmp_path, world, settings(tmp_path, search), size=size)
    assert tree(tmp_path) == tree(folder)
    assert world.answered == whole.answered


def test_a_budget_stops_the_run_and_a_larger_one_leads_to_the_same_result(tmp_path, undisturbed) -> None:
    folder, whole, search, size = undisturbed
    world = World()
    with pytest.raises(BudgetStop, match=r"limits\.calls = 10"):
        train(tmp_path, world, settings(tmp_path, search, limits={"concurrency": 1, "calls": 10}), size=size)
    assert world.answered == 10
    train(tmp_path, world, settings(tmp_path, search), size=size)
    assert tree(tmp_path) == tree(folder)
    assert world.answered == whole.answered


def test_a_run_comes_out_the_same_with_other_slots_also_when_it_is_resumed_with_them(tmp_path, undisturbed) -> None:
    folder, _, search, size = undisturbed

    def run(place: Path, slots: int, **limits: int) -> dict[str, bytes]:
        config = settings(place, search, limits={"concurrency": slots, **limits})
        train(place, World(), config, size=size)
        assert verified(place, config, size=size)
        return without_settings(place)

    assert run(tmp_path / "many", 64) == without_settings(folder)
    with pytest.raises(BudgetStop):
        run(tmp_path / "cut", 64, calls=15)
    assert run(tmp_path / "cut", 2) == without_settings(folder)


def without_settings(folder: Path) -> dict[str, bytes]:
    return {name: text for name, text in tree(folder).items() if name != "config.yaml"}
