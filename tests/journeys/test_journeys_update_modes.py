"""Every update mode and option resumes as an undisturbed run: killed at writes all over the run, it ends the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small_run import Left, World, killed_at_writes, settings, tree, verified
from small_run import train as train_small

from etude.config import merge
from etude.records.provenance import Provenance
from etude.simulation.families import RULES
from rows import few

OPTIONS: dict[str, dict[str, Any]] = {
    "rewrite from suggestions": {"search": {"update_mode": "rewrite_from_suggestions"}},
    "full rewrite": {"search": {"update_mode": "full_rewrite"}},
    "autonomous": {"search": {"schedule": "autonomous", "edit_budget": 3}},
    "skill-aware": {
        "target": {"model": "simulated:target-noisy"},
        "train": {"seed": 2},
        "search": {"skill_aware": True, "appendix_limit": 1, "minibatch_size": 3, "gate": False},
    },
    "accumulation": {"train": {"epochs": 2}, "search": {"batch_size": 2, "accumulation": 2}},
}


TAUGHT = "".join(f"- {rule.statements[0]}\n" for rule in RULES if rule.id != "sorting.letters")
"""A skill that a target can ignore."""


def train(folder: Path, world: World, option: str, config: dict[str, Any] | None = None, **given: Any) -> None:
    config = config or merge(settings(folder), OPTIONS[option])
    train_small(folder, world, config, **text_of(option), **given)


def text_of(option: str) -> dict[str, Any]:
    return {"text": TAUGHT, "size": 12} if option == "skill-aware" else {"size": 12} if option == "autonomous" else {}


def world_of(option: str, before: Callable[[int], None] = lambda number: None) -> World:
    return World(before, "target-noisy" if option == "skill-aware" else "target")


class Whole(NamedTuple):
    """A run that nothing disturbed, and what kills at some of its writes would have left."""

    option: str
    folder: Path
    world: World
    moments: list[Left]


@pytest.fixture(scope="module", params=few(OPTIONS, "skill-aware"))
def whole(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Whole:
    return run_whole(request.param, tmp_path_factory.mktemp("whole"), every=67)


def run_whole(option: str, folder: Path, every: int) -> Whole:
    place, world = folder / "whole", world_of(option)
    moments = killed_at_writes(lambda: train(place, world, option), place, world, folder / "left", every=every)
    return Whole(option, place, world, moments)


def test_a_run_killed_at_a_write_ends_as_an_undisturbed_one(whole: Whole) -> None:
    """`tests/slow/test_slow_resume.py` takes more of the writes."""
    ends_alike_when_killed(whole)


def ends_alike_when_killed(whole: Whole) -> None:
    wanted = tree(whole.folder)
    assert any(b'"fate": "applied"' in text for name, text in wanted.items() if name.endswith("update.json"))
    assert whole.moments
    for left, answered, lost in whole.moments:
        again = world_of(whole.option)
        train(left, again, whole.option)
        assert tree(left) == wanted, left.name
        assert answered + again.answered == whole.world.answered + lost, left.name


def test_concurrency_changes_nothing_in_the_result(tmp_path: Path, whole: Whole) -> None:
    many = merge(merge(settings(tmp_path), OPTIONS[whole.option]), {"limits": {"concurrency": 32}})
    many["optimizer"] = {"model": "simulated:optimizer"}
    train(tmp_path, world_of(whole.option), whole.option, many)
    one, other = tree(whole.folder), tree(tmp_path)
    assert {name: text for name, text in one.items() if name != "config.yaml"} == {
        name: text for name, text in other.items() if name != "config.yaml"
    }


def test_a_finished_run_started_again_calls_nobody(whole: Whole) -> None:
    def refuse(_: int) -> None:
        raise AssertionError("a finished run made a call")

    train(whole.folder, world_of(whole.option, refuse), whole.option)
    target = whole.world.target.name.partition(":")[2]
    config = merge(settings(whole.folder), OPTIONS[whole.option])
    assert verified(whole.folder, config, target=target, **text_of(whole.option))


def test_the_skill_aware_run_has_reminders_and_consolidates_them(whole: Whole) -> None:
    said = b"".join(text for name, text in tree(whole.folder).items() if name.endswith("update.json"))
    assert (b'"op": "remind"' in said) == (b'"op": "compress"' in said) == (whole.option == "skill-aware")
    found = Provenance.model_validate_json((whole.folder / "run" / "provenance.json").read_bytes())
    reminders = [edit for change in found.changes for edit in change.edits if edit.edit.op == "remind"]
    assert all(edit.failures and edit.facts for edit in reminders)
    assert bool(reminders) == (whole.option == "skill-aware")
