"""The contract of trackers. Inherit it in a test class and say how to read what the service has kept."""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from etude.connect import Tracker
from etude.envs import ListEnvironment
from etude.errors import BudgetStop
from etude.records import Skill
from etude.records.summary import Summary
from etude.simulation import SEED_SKILL, make_tasks
from etude.trainer import Trainer

SECRET = "sk-proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"
"""Looks like a key, and stands in the settings and in the skill."""


class ServiceContent(NamedTuple):
    """What a service has of one run."""

    config: Mapping[str, Any]
    """Settings by dotted names."""
    curves: Mapping[str, Sequence[tuple[int, float]]]
    """Target calls and value, in order, by the name of the value."""
    skills: Sequence[str]
    """The text of each accepted skill, in order."""
    verdict: str
    everything: str
    """All texts that it has, however they are laid out."""


class TrackerContract:
    """What every tracker must do.

    class TestMine(TrackerContract):
        def make_tracker(self):
            return Mine()

        def kept(self):
            return Kept(...)
    """

    curves: Sequence[str] = ("score/validation", "score/best", "score/training", "steps/rejected", "skill/tokens")
    """Values that it keeps as curves."""
    tells_earlier: bool = True
    """It keeps what happened in a run before it was tracked."""

    @abstractmethod
    def make_tracker(self) -> Tracker:
        """A new tracker; all that a test makes report to the same place."""
        raise NotImplementedError

    @abstractmethod
    def kept(self) -> ServiceContent:
        """What the service has of the run that was reported last."""
        raise NotImplementedError

    def test_it_keeps_curves_settings_skills_and_verdict(self, tmp_path: Path) -> None:
        """As the run folder has them; and no key."""
        summary = self._train(tmp_path)
        kept = self.kept()
        assert kept.config["search.batch_size"] == 8
        assert kept.config["reflect.preferences"] == "Never write [redacted:api-key]."
        assert kept.verdict == summary.verdict
        expected = _curves(Path(summary.folder))
        assert {name: list(kept.curves[name]) for name in self.curves} == {
            name: expected[name] for name in self.curves
        }
        assert kept.skills == _skills(Path(summary.folder))
        assert kept.skills
        assert SECRET not in kept.everything

    def test_a_resumed_run_has_each_point_once(self, tmp_path: Path) -> None:
        """Whatever process it came from."""
        with pytest.raises(BudgetStop):
            self._train(tmp_path, calls=60)
        summary = self._train(tmp_path)
        self._train(tmp_path)
        kept, expected = self.kept(), _curves(Path(summary.folder))
        assert {name: list(kept.curves[name]) for name in self.curves} == {
            name: expected[name] for name in self.curves
        }
        assert kept.verdict == summary.verdict

    def test_a_run_that_is_tracked_from_its_third_process_on_has_all_points(self, tmp_path: Path) -> None:
        """Unless its service can only keep what happens now."""
        for calls in (40, 60):
            with pytest.raises(BudgetStop):
                self._train(tmp_path, calls=calls, tracked=False)
        before = len(_curves(tmp_path / "tracked")["steps/rejected"])
        summary = self._train(tmp_path)
        expected = _curves(Path(summary.folder))["steps/rejected"]
        assert list(self.kept().curves["steps/rejected"]) == expected[0 if self.tells_earlier else before :]

    def _train(self, folder: Path, *, calls: int | None = None, tracked: bool = True) -> Summary:
        tasks = make_tasks("counting", 40, seed=2)
        env = ListEnvironment(train=tasks[:16], val=tasks[16:28], test=tasks[28:], scorer="exact")
        config = {
            "search": {"policy": "paper", "batch_size": 8},
            "train": {"epochs": 2},
            "test": {"no_skill": False},
            "reflect": {"preferences": f"Never write {SECRET}."},
            "run": {"folder": str(folder), "name": "tracked"},
            "limits": {"calls": calls},
        }
        skill = Skill(name="counting", text=f"{SEED_SKILL}\nNever write {SECRET}.\n")
        sinks = [self.make_tracker()] if tracked else []
        return Trainer(config, env=env, skill=skill, sinks=sinks, progress=False).train()


def _curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What `events.jsonl` comes to, with the first of the points that are told again when a run is resumed."""
    calls, counts, seen = 0, {"accepted": 0, "rejected": 0, "skipped": 0}, set[int]()
    curves: dict[str, list[tuple[int, float]]] = {}
    for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        calls += event["kind"] == "call_finished" and event["role"] == "target"
        if event["kind"] != "decided" or event["step"] in seen:
            continue
        seen.add(event["step"])
        counts[event["action"]] += 1
        found = {"score/validation": event["current"], "score/best": event["best"]}
        found |= {f"steps/{action}": count for action, count in counts.items()} | {
            "skill/tokens": event["skill_tokens"]
        }
        found["score/training"] = event["solved"] / event["tasks"]
        for name, value in found.items():
            curves.setdefault(name, []).append((calls, value))
    return curves


def _skills(folder: Path) -> list[str]:
    """The skill after each step that accepted one, without what looks like a key."""
    kept: list[str] = []
    for file in sorted(folder.glob("steps/*/gate.json")):
        if json.loads(file.read_text(encoding="utf-8"))["action"] == "accepted":
            text = (folder / f"skills/{file.parent.name}.md").read_text(encoding="utf-8")
            kept.append(text.replace(SECRET, "[redacted:api-key]"))
    return kept
