"""Every update mode and option resumes as an undisturbed run: killed at writes all over the run, it ends the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_run import World, killed_at_writes, settings, tree, verified
from small_run import train as train_small

from etude.config import merge
from etude.records.provenance import Provenance
from etude.simulation.families import RULES

OPTIONS: dict[str, dict[str, Any]] = {
    "rewrite from suggestions": {"update": {"mode": "rewrite_from_suggestions"}},
    "full rewrite": {"update": {"mode": "full_rewrite"}},
    "autonomous": {"select": {"schedule": "autonomous", "edit_budget": 3}},
    "skill-aware": {
        "reflect": {"skill_aware": True, "appendix_limit": 1, "minibatch_size": 3},
        "gate": {"enabled": False},
        "target": {"model": "simulated:target-noisy"},
        "train": {"seed": 2},
    },
    "accumulation": {"train": {"epochs": 2, "batch_size": 2, "accumulation": 2}},
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


@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
def test_a_run_killed_at_a_write_ends_as_an_undisturbed_one(tmp_path, option: str) -> None:
    place, world = tmp_path / "whole", world_of(option)
    every = 31 if option == "skill-aware" else 11  # that run is the longest
    moments = killed_at_writes(lambda: train(place, world, option), place, world, tmp_path / "left", every=every)
    wanted = tree(place)
    assert any(b'"fate": "applied"' in text for name, text in wanted.items() if name.endswith("update.json"))
    for left, answered, lost in moments:
        again = world_of(option)
        train(left, again, option)
        assert tree(left) == wanted, left.name
        assert answered + again.answered == world.answered + lost, left.name


@pytest.mark.parametrize("option", OPTIONS)
def test_concurrency_changes_nothing_in_the_result(tmp_path, option: str) -> None:
    train(tmp_path / "one", world_of(option), option)
    many = merge(merge(settings(tmp_path / "many"), OPTIONS[option]), {"limits": {"concurrency": 32}})
    many["optimizer"] = {"model": "simulated:optimizer"}
    train(tmp_path / "many", world_of(option), option, many)
    one, other = tree(tmp_path / "one"), tree(tmp_path / "many")
    assert {name: text for name, text in one.items() if name != "config.yaml"} == {
        name: text for name, text in other.items() if name != "config.yaml"
    }


@pytest.mark.parametrize("option", OPTIONS)
def test_a_finished_run_started_again_calls_nobody(tmp_path, option: str) -> None:
    train(tmp_path, world_of(option), option)

    def refuse(_: int) -> None:
        raise AssertionError("a finished run made a call")

    train(tmp_path, world_of(option, refuse), option)
    target = world_of(option).target.name.partition(":")[2]
    assert verified(tmp_path, merge(settings(tmp_path), OPTIONS[option]), target=target, **text_of(option))


def test_the_skill_aware_run_has_reminders_and_consolidates_them(tmp_path) -> None:
    train(tmp_path, world_of("skill-aware"), "skill-aware")
    said = b"".join(text for name, text in tree(tmp_path).items() if name.endswith("update.json"))
    assert b'"op": "remind"' in said
    assert b'"op": "compress"' in said
    found = Provenance.model_validate_json((tmp_path / "run" / "provenance.json").read_bytes())
    reminders = [edit for change in found.changes for edit in change.edits if edit.edit.op == "remind"]
    assert all(edit.failures and edit.facts for edit in reminders)
    assert reminders
