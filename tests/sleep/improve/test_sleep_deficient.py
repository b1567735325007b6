"""A project whose skills have known gaps, as in the public deficient-skill benchmark: a night fills every gap, and an
optimizer that games the checks or has nothing to say changes nothing.

Training tasks have the checks of a hurried person. Held-out tasks have stricter ones, which nobody shows to
the optimizer, and a rubric that a third model judges by.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from briefs_sessions import sessions, strict_checks, training_checks
from scripted import rewriting, task_file
from small_night import run_night

from etude.sleep.adoption.proposal import read_proposal
from etude.sleep.config import make_sleep_config
from etude.sleep.report import DocumentReport, NightReport
from etude.sleep.state import Surroundings, state_of
from etude.workbench import Given

RUBRICS = {
    "structure": "The brief names the key risks and says how confident it is.",
    "verbose": "The brief is concise.",
    "brain-first": "The brief cites a source.",
    "verdict": "The brief gives a clear recommendation.",
}
GAPS = ("structure", "verdict")
SKILL = "---\nname: {0}\ndescription: How briefs are written here.\n---\n\n# Briefs\n\nWrite   clearly.\n"


class Night(NamedTuple):
    report: NightReport
    project: Path
    state: Path

    @property
    def folder(self) -> Path:
        return self.state / "nights" / "0001"

    @property
    def documents(self) -> dict[str, DocumentReport]:
        return {document.name: document for document in self.report.documents}

    @property
    def proposed(self) -> dict[str, str]:
        """The proposed documents, by the name of their skill."""
        if not (self.folder / "proposal").exists():
            return {}
        documents = read_proposal(self.folder / "proposal").documents
        return {Path(one.live.path).parent.name: one.text for one in documents}


def tasks(gaps: Sequence[str], seed: int, *, strict: bool = True) -> list[dict[str, Any]]:
    """Four training tasks for each gap, two to hold out and two that are left alone."""
    found: list[dict[str, Any]] = []
    for gap in gaps:
        for number, turn in enumerate(sessions(gap, seed, 8)):
            split = ("train", "train", "val", "test")[number // 2]
            task: dict[str, Any] = {"id": f"{gap}-{number}", "intent": turn.prompt, "split": split, "skill": gap}
            task["sessions"] = [{"source": "claude-code", "id": f"session-{gap}-{number}"}]
            held_out = strict and split != "train"
            task |= {"checks": strict_checks(gap), "rubric": RUBRICS[gap]} if held_out else {}
            found.append({"checks": training_checks(gap), **task})
    return found


def night(
    root: Path,
    optimizer: str,
    seed: int,
    gaps: Sequence[str],
    *,
    strict: bool = True,
    more: Sequence[dict[str, Any]] = (),
    sleep: dict[str, Any] | None = None,
    given: Given | None = None,
) -> Night:
    project = root / "project"
    for gap in gaps:
        folder = project / ".claude" / "skills" / gap
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(gap))
    (project / "CLAUDE.md").write_text("# House rules\n\nUse   tabs.\n")
    config = make_sleep_config(
        {
            "target": {"model": "simulated:target"},
            "optimizer": {"model": optimizer},
            "judge": {"model": "simulated:judge"},
            "train": {"seed": seed},
            "sleep": {
                "project": str(project),
                **task_file(root, [*tasks(gaps, seed, strict=strict), *more]),
                "skill": "each",
                **(sleep or {}),
            },
        }
    )
    around = Surroundings(home=root, environ={})
    report = run_night(config, around, given=given)
    return Night(report, project, state_of(config, around).folder)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Night:
    """After a night on all skills, with an optimizer that learns."""
    return night(tmp_path_factory.mktemp("all"), "simulated:optimizer", 0, GAPS)


def test_every_skill_goes_from_0_to_1_on_held_out_tasks_in_one_night(found: Night) -> None:
    assert found.report.status == "proposed"
    assert sorted(found.documents) == sorted(GAPS)
    for document in found.documents.values():
        assert (document.status, document.baseline, document.candidate) == ("accepted", 0.0, 1.0)
        assert document.confirmed is not None
        assert document.confirmed.mean == 1.0
        assert (document.train, document.held_out) == (4, 2)
    for gap, text in found.proposed.items():
        assert text.startswith(SKILL.format(gap))
    assert len(found.proposed) == len(GAPS)


def test_gaming_the_checks_stages_nothing(tmp_path: Path) -> None:
    found = night(tmp_path, "simulated:optimizer-hacker", 0, ("structure",))
    assert (found.report.status, found.proposed) == ("no change", {})
    assert {(document.status, document.candidate) for document in found.documents.values()} == {("rejected", None)}


def test_what_games_the_training_checks_passes_them(tmp_path: Path) -> None:
    """Or else it would show nothing that such an optimizer is rejected."""
    found = night(tmp_path, "simulated:optimizer-hacker", 0, ("structure",), strict=False)
    assert {document.candidate for document in found.documents.values()} == {1.0}
    assert all("empty" in text for text in found.proposed.values())


def test_an_edit_that_changes_nothing_is_not_staged(tmp_path: Path) -> None:
    document = rewriting("")
    found = night(tmp_path, "x:optimizer", 0, ("structure",), given={"optimizer": document})
    assert (found.report.status, found.proposed) == ("no change", {})
    assert found.documents["structure"].status == "unchanged"
    assert len(document.requests) > 1


def test_a_skill_whose_tasks_are_all_held_out_is_named_in_the_report(tmp_path: Path) -> None:
    more = [{**task, "split": "val"} for task in tasks(["verbose"], 0) if task["split"] == "val"]
    folder = tmp_path / "project" / ".claude" / "skills" / "verbose"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.format("verbose"))
    found = night(tmp_path, "simulated:optimizer-perfect", 0, ("structure",), more=more)
    document = found.documents["verbose"]
    assert (document.status, document.reason) == ("unchanged", "there are no training tasks for it")
    assert (document.train, document.held_out) == (0, 2)
    assert sorted(found.proposed) == ["structure"]
