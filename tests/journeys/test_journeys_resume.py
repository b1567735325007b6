"""Kill a run anywhere, start it again: the result is the same, and nothing that was answered is paid for twice."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small_run import EVIDENCE, PAPER, World, facts, killed_at_writes, settings, tree, verified
from small_run import train as train_small

from etude.config import merge
from etude.errors import BudgetStop, OutageStop, TransientError
from etude.records.provenance import Provenance
from etude.records.summary import Summary
from etude.simulation import SEED_SKILL
from etude.simulation.families import RULES
from rows import few

TAUGHT = "".join(f"- {rule.statements[0]}\n" for rule in RULES if rule.id != "sorting.letters")
"""A skill that a target can ignore."""


class Kind(NamedTuple):
    """A small run, by what is searched for how."""

    search: Mapping[str, Any]
    size: int = 5
    """Training tasks, and validation tasks."""
    text: str = SEED_SKILL
    target: str = "target"
    every: int = 67
    """It is killed at one of so many writes."""
    slow: int = 11
    """The same of `tests/slow/test_slow_resume.py`."""

    def world(self, before: Callable[[int], None] = lambda number: None) -> World:
        return World(before, self.target)

    def config(self, folder: Path, **limits: Any) -> dict[str, Any]:
        return merge(settings(folder, {}), {**self.search, "limits": {"concurrency": 1, **limits}})

    def train(self, folder: Path, world: World, config: dict[str, Any] | None = None) -> Summary:
        return train_small(folder, world, config or self.config(folder), size=self.size, text=self.text)

    def verified(self, folder: Path, config: dict[str, Any] | None = None) -> bool:
        made = config or self.config(folder)
        return verified(folder, made, size=self.size, text=self.text, target=self.target)


def of_paper(**search: Any) -> dict[str, Any]:
    return merge(PAPER, {"search": search})


AWARE = of_paper(skill_aware=True, appendix_limit=1, minibatch_size=3, gate=False)
AWARE |= {"target": {"model": "simulated:target-noisy"}, "train": {"seed": 2}}
KINDS = {
    "paper": Kind(PAPER, every=67, slow=1),
    "evidence": Kind(EVIDENCE, 4, every=167, slow=1),
    "rewrite from suggestions": Kind(of_paper(update_mode="rewrite_from_suggestions")),
    "full rewrite": Kind(of_paper(update_mode="full_rewrite")),
    "autonomous": Kind(of_paper(schedule="autonomous", edit_budget=3), 12),
    "skill-aware": Kind(AWARE, 12, TAUGHT, "target-noisy", every=127, slow=31),
    "accumulation": Kind(of_paper(batch_size=2, accumulation=2)),
}


class Whole(NamedTuple):
    """A run that nothing disturbed."""

    folder: Path
    world: World
    kind: Kind


@pytest.fixture(scope="module", params=few(KINDS, "paper", "evidence"))
def undisturbed(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Whole:
    kind, folder = KINDS[request.param], tmp_path_factory.mktemp("undisturbed")
    world = kind.world()
    kind.train(folder, world)
    return Whole(folder, world, kind)


def test_a_run_killed_before_or_after_a_write_ends_as_an_undisturbed_one(tmp_path: Path, undisturbed: Whole) -> None:
    ends_alike_when_killed(undisturbed, tmp_path, undisturbed.kind.every)


def ends_alike_when_killed(undisturbed: Whole, tmp_path: Path, every: int) -> None:
    """Kill it before and after writes, one of `every`: `tests/slow/test_slow_resume.py` takes more."""
    folder, world, kind = undisturbed
    wanted, place, first = tree(folder), tmp_path / "killed", kind.world()
    moments = killed_at_writes(lambda: kind.train(place, first), place, first, tmp_path / "left", every)
    assert len(moments) > facts(folder) / every
    for left, answered, lost in moments:
        again = kind.world()
        kind.train(left, again)
        assert tree(left) == wanted, left.name
        assert answered + again.answered == world.answered + lost, left.name


def test_a_finished_run_started_again_calls_nobody_and_keeps_its_time(tmp_path: Path, undisturbed: Whole) -> None:
    folder, _, kind = undisturbed
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    summary = tmp_path / "run" / "summary.json"
    long = json.loads(summary.read_text())
    long["cost"]["wall_seconds"] = 1234.5
    summary.write_text(json.dumps(long))

    def refuse(_: int) -> None:
        raise AssertionError("a finished run made a call")

    again = kind.train(tmp_path, kind.world(refuse))
    assert tree(tmp_path) == tree(folder)
    assert kind.verified(tmp_path)
    assert again.cost.wall_seconds == json.loads(summary.read_text())["cost"]["wall_seconds"] == 1234.5


def test_an_outage_stops_the_run_and_the_resumed_run_is_the_same(tmp_path: Path, undisturbed: Whole) -> None:
    folder, whole, kind = undisturbed
    down = True

    def outage(answered: int) -> None:
        if down and answered >= 20:
            raise TransientError("connection refused", unreachable=True)

    world = kind.world(outage)
    with pytest.raises(OutageStop) as stop:
        kind.train(tmp_path, world, kind.config(tmp_path, outage_seconds=0.3))
    assert "connection refused" in str(stop.value)
    assert world.answered == 20
    assert stop.value.summary.stopped == stop.value.message
    down = False
    kind.train(tmp_path, world)
    assert tree(tmp_path) == tree(folder)
    assert world.answered == whole.answered


def test_a_budget_stops_the_run_and_a_larger_one_leads_to_the_same_result(tmp_path: Path, undisturbed: Whole) -> None:
    folder, whole, kind = undisturbed
    world = kind.world()
    with pytest.raises(BudgetStop, match=r"limits\.calls = 10"):
        kind.train(tmp_path, world, kind.config(tmp_path, calls=10))
    assert world.answered == 10
    kind.train(tmp_path, world)
    assert tree(tmp_path) == tree(folder)
    assert world.answered == whole.answered


def test_a_run_comes_out_the_same_with_other_slots_also_when_it_is_resumed_with_them(
    tmp_path: Path, undisturbed: Whole
) -> None:
    folder, _, kind = undisturbed

    def run(place: Path, slots: int, **limits: int) -> dict[str, bytes]:
        config = kind.config(place, concurrency=slots, **limits)
        config["optimizer"] = {"model": "simulated:optimizer"}
        kind.train(place, kind.world(), config)
        assert kind.verified(place, config)
        return without_settings(place)

    assert run(tmp_path / "many", 64) == without_settings(folder)
    with pytest.raises(BudgetStop):
        run(tmp_path / "cut", 64, calls=15)
    assert run(tmp_path / "cut", 2) == without_settings(folder)


def without_settings(folder: Path) -> dict[str, bytes]:
    return {name: text for name, text in tree(folder).items() if name != "config.yaml"}


def test_the_skill_aware_run_has_reminders_and_consolidates_them(undisturbed: Whole) -> None:
    said = b"".join(text for name, text in tree(undisturbed.folder).items() if name.endswith("update.json"))
    aware = undisturbed.kind is KINDS["skill-aware"]
    assert (b'"op": "remind"' in said) == (b'"op": "compress"' in said) == aware
    found = Provenance.model_validate_json((undisturbed.folder / "run" / "provenance.json").read_bytes())
    reminders = [edit for change in found.changes for edit in change.edits if edit.edit.op == "remind"]
    assert all(edit.failures and edit.facts for edit in reminders)
    assert bool(reminders) == aware
