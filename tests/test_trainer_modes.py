"""Update modes and skill-aware reflection, each through whole runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Skill, Trainer
from etude.config import OptimizerSection, merge
from etude.errors import ConfigError
from etude.models.simulated import SimulatedModel
from etude.prompts import Prompts
from etude.published.update_modes.appendix import reminders_in
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
        self.asked.append(said + request.messages[-1].text)
        if said.startswith(prompts["rewrite"]) and "rewrite" in self._answers:
            return Reply(text=self._answers["rewrite"], simulated=True)
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
    env = ListEnvironment(TASKS[:20], TASKS[20:40], scorer="exact")
    return Trainer(
        merge(PAPER, {**settings, **config}), env=env, skill=Skill(name="everyday-tasks", text=text), **(given or {})
    ).train()


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / "run" / name).read_text())


def steps(folder: Path, view: str) -> list[Any]:
    return [read(folder, f"steps/{path.name}/{view}.json") for path in sorted((folder / "run/steps").iterdir())]


def ops(folder: Path) -> set[str]:
    return {row["edit"]["op"] for view in steps(folder, "update") for row in view["edits"]}


def taught(text: str) -> set[str]:
    return {rule for rule, state in states(text, RULES).items() if state is Teaching.TAUGHT}


MODES = ("patch", "rewrite_from_suggestions", "full_rewrite")
OPS = {
    "patch": {"append", "insert_after", "replace", "delete"},
    "rewrite_from_suggestions": {"add", "remove", "merge", "reorganise", "compress", "clarify"},
    "full_rewrite": {"rewrite"},
}
RETURNS = {
    "patch": "return_edits",
    "rewrite_from_suggestions": "return_suggestions",
    "full_rewrite": "return_document",
}


@pytest.fixture(scope="module")
def by_mode(tmp_path_factory) -> dict[str, tuple[Path, Watched]]:
    """A run in each mode: its folder, and the optimizer. Those that write documents have a budget of one edit."""
    found: dict[str, tuple[Path, Watched]] = {}
    for mode in MODES:
        folder, optimizer = tmp_path_factory.mktemp(mode), Watched()
        budget = {} if mode == "patch" else {"edit_budget": 1}
        run(folder, given={"optimizer": optimizer}, search={"update_mode": mode, **budget})
        found[mode] = folder, optimizer
    return found


def test_each_mode_asks_for_its_form_and_makes_its_operations(by_mode) -> None:
    for mode, (folder, optimizer) in by_mode.items():
        assert {name for name in RETURNS.values() if optimizer.count(name)} == {RETURNS[mode]}
        assert ops(folder)
        assert ops(folder) <= OPS[mode]
        assert bool(optimizer.count("rewrite")) is (mode == "rewrite_from_suggestions")
    assert len({(folder / "run/steps/0001/candidate.md").read_text() for folder, _ in by_mode.values()}) == 3


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_improves_the_skill_and_keeps_front_matter_and_regions(tmp_path, mode: str) -> None:
    text = f"{SEED_SKILL}\n{REGION}"
    found: dict[str, str] = {}
    for rung in ("json_schema", "tool", "prompt"):
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
    before, after = Document.parse(text), Document.parse(found["prompt"])
    assert after.front_matter == before.front_matter
    assert after.region("house") == "Answer in English."
    assert len(taught(after.text)) > len(taught(text))


def test_a_step_whose_rewrite_failed_is_skipped_and_says_so(tmp_path) -> None:
    optimizer = Watched(rewrite="I would rather not.")
    summary = run(tmp_path, given={"optimizer": optimizer}, search={"update_mode": "rewrite_from_suggestions"})
    assert (summary.skipped, summary.accepted) == (2, 0)
    for view in (*steps(tmp_path, "gate"), *steps(tmp_path, "update")):
        assert "the rewrite gave no usable answer" in (view.get("reason"), view.get("skipped"))


def aware(folder: Path, *, text: str = TAUGHT, given: dict[str, Any] | None = None, **config: Any):
    search = {"skill_aware": True, **config.pop("search", {})}
    noisy = {"model": "simulated:target-noisy"}
    perfect = {"model": "simulated:optimizer-perfect"}
    settings = {"search": search, "target": noisy, "optimizer": perfect, **config}
    return run(folder, text=text, given=given, **settings)


def appendix(folder: Path, file: str) -> tuple[str, ...]:
    return reminders_in(Document.parse((folder / "run" / file).read_text()))


def test_without_skill_aware_reflection_there_are_no_reminders(tmp_path) -> None:
    aware(tmp_path, search={"skill_aware": False, "gate": False})
    assert "remind" not in ops(tmp_path)
    assert appendix(tmp_path, "skills/0002.md") == ()


@pytest.mark.parametrize("mode", ["rewrite_from_suggestions", "full_rewrite"])
def test_skill_aware_reflection_goes_with_patch_only_and_nothing_is_written(tmp_path, mode: str) -> None:
    with pytest.raises(ConfigError, match=r"search\.skill_aware"):
        run(tmp_path, search={"update_mode": mode, "skill_aware": True})
    assert list(tmp_path.iterdir()) == []
