"""Update modes, accumulation, the autonomous schedule and skill-aware reflection, each through whole runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Skill, Trainer
from etude.config import OptimizerSection, merge
from etude.models.simulated import SimulatedModel
from etude.prompts import Prompts
from etude.published.update_modes.skill_aware import reminders_in
from etude.records import ChatRequest, Reply
from etude.simulation import SEED_SKILL, make_tasks
from etude.simulation.families import RULES
from etude.simulation.rules import Teaching, states
from etude.skill import Document

TASKS = make_tasks(None, 60, seed=3)
REGION = "<!-- etude:begin house -->\nAnswer in English.\n<!-- etude:end house -->\n"
TAUGHT = "".join(f"- {rule.statements[0]}\n" for place, rule in enumerate(RULES) if place % 4)
"""Most rules, so that many failures are lapses."""


class Watched(SimulatedModel):
    """The simulated optimizer; keeps what it was asked, and may answer some prompts as told."""

    def __init__(self, name: str = "optimizer", **answers: str) -> None:
        super().__init__(name, OptimizerSection(model=f"simulated:{name}"))
        self.asked: list[str] = []
        self._answers = answers

    async def complete(self, request: ChatRequest) -> Reply:
        prompts = Prompts()
        said = request.messages[0].text
        names = [
            name for name in ("rewrite", "edit_budget", "consolidate_appendix") if said.startswith(prompts[name])
        ]
        self.asked.append(said + request.messages[-1].text)
        if names and names[0] in self._answers:
            return Reply(text=self._answers[names[0]], simulated=True)
        return await super().complete(request)

    def count(self, prompt: str) -> int:
        """How many calls had this prompt, in either part."""
        return sum(Prompts()[prompt] in said for said in self.asked)


PAPER: dict[str, Any] = {
    "search": {"policy": "paper", "batch_size": 10, "slow_update": True, "meta_skill": True},
    "reflect": {"mode": "shallow"},
}
"""The published loop, with all of its parts."""


def run(folder: Path, *, text: str = SEED_SKILL, given: dict[str, Any] | None = None, **config: Any):
    settings = {"train": {"epochs": 1}, "test": {"enabled": False}, "run": {"folder": str(folder)}}
    env = ListEnvironment(TASKS[:20], TASKS[20:30], scorer="exact")
    return Trainer(
        merge(PAPER, {**settings, **config}), env=env, skill=Skill(name="everyday-tasks", text=text), **(given or {})
    ).train()


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / "run" / name).read_text())


def steps(folder: Path, view: str) -> list[Any]:
    return [read(folder, f"steps/{path.name}/{view}.json") for path in sorted((folder / "run/steps").iterdir())]


def taught(text: str) -> set[str]:
    return {rule for rule, state in states(text, RULES).items() if state is Teaching.TAUGHT}


@pytest.mark.parametrize(
    ("mode", "rungs"),
    [
        ("patch", ("json_schema", "tool", "prompt")),
        ("rewrite_from_suggestions", ("tool",)),
        ("full_rewrite", ("prompt",)),
    ],
)
def test_each_mode_improves_the_skill_and_keeps_front_matter_and_regions(tmp_path, mode: str, rungs: Any) -> None:
    text = f"{SEED_SKILL}\n{REGION}"
    found: dict[str, str] = {}
    for rung in rungs:
        summary = run(
            tmp_path / rung,
            text=text,
            target={"model": "simulated:target-steady"},
            optimizer={"model": "simulated:optimizer-perfect", "structured": rung},
            search={"update_mode": mode, "edit_budget": 8, "schedule": "constant"},
        )
        assert summary.best.val.mean > summary.initial.val.mean
        found[rung] = (tmp_path / rung / "run" / summary.best.skill).read_text()
    assert len(set(found.values())) == 1
    before, after = Document.parse(text), Document.parse(found[rungs[0]])
    assert after.front_matter == before.front_matter
    assert after.region("house") == "Answer in English."
    assert len(taught(after.text)) > len(taught(text))


def test_a_step_whose_rewrite_failed_is_skipped_and_says_so(tmp_path) -> None:
    optimizer = Watched(rewrite="I would rather not.")
    summary = run(tmp_path, given={"optimizer": optimizer}, search={"update_mode": "rewrite_from_suggestions"})
    assert (summary.skipped, summary.accepted) == (2, 0)
    for view in (*steps(tmp_path, "gate"), *steps(tmp_path, "update")):
        assert "the rewrite gave no usable answer" in (view.get("reason"), view.get("skipped"))


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory) -> Path:
    """20 tasks in batches of 6, 6, 6 and 2, each of them a step."""
    folder = tmp_path_factory.mktemp("one-by-one")
    assert run(folder, search={**LINEAR, "batch_size": 6}).steps == 4
    return folder


LINEAR = {"schedule": "linear", "edit_budget": 8, "min_edit_budget": 2}


def test_accumulation_merges_the_patches_of_several_batches_into_one_step_of_the_schedule(
    tmp_path, one_by_one: Path
) -> None:
    assert run(tmp_path, search={**LINEAR, "batch_size": 6, "accumulation": 2}).steps == 2
    assert [len(view) for view in steps(tmp_path, "rollout")] == [12, 8]
    assert len({row["skill_hash"] for row in steps(tmp_path, "rollout")[0]}) == 1
    budgets = [[view["budget"] for view in steps(folder, "selected")] for folder in (one_by_one, tmp_path)]
    assert budgets == [[7, 5, 4, 2], [5, 2]]


AUTONOMOUS = {"schedule": "autonomous", "edit_budget": 3, "min_edit_budget": 1}


def test_a_step_without_an_edit_worth_trying_is_skipped_with_the_reason(tmp_path) -> None:
    summary = run(tmp_path, search=AUTONOMOUS, optimizer={"model": "simulated:optimizer-useless"})
    assert summary.skipped == 2
    for gate, selected in zip(steps(tmp_path, "gate"), steps(tmp_path, "selected"), strict=True):
        assert selected["budget"] == 0
        assert gate["reason"] == selected["reason"] != ""


def aware(folder: Path, *, text: str = TAUGHT, given: dict[str, Any] | None = None, **config: Any):
    search = {"skill_aware": True, **config.pop("search", {})}
    noisy = {"model": "simulated:target-noisy"}
    perfect = {"model": "simulated:optimizer-perfect"}
    settings = {"search": search, "target": noisy, "optimizer": perfect, **config}
    return run(folder, text=text, given=given, **settings)


def appendix(folder: Path, file: str) -> tuple[str, ...]:
    return reminders_in(Document.parse((folder / "run" / file).read_text()))


SHORT = '{"reasoning": "one rule", "reminders": ["Mind it."]}'


def open_gate(folder: Path, limit: int) -> Watched:
    """Every candidate is accepted; an appendix above the limit is shortened."""
    optimizer = Watched("optimizer-perfect", consolidate_appendix=SHORT)
    aware(folder, given={"optimizer": optimizer}, search={"appendix_limit": limit, "gate": False})
    return optimizer


def test_above_its_limit_the_appendix_is_consolidated_in_the_same_candidate(tmp_path) -> None:
    open_gate(tmp_path, 1)
    assert appendix(tmp_path, "skills/0002.md")[0] == "Mind it."
    row = next(row for view in steps(tmp_path, "update") for row in view["edits"] if row["edit"]["op"] == "compress")
    assert (row["fate"], row["edit"]["target"]) == ("applied", "appendix")
