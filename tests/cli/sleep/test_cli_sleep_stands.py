"""How nights stand whose proposal was adopted in parts, whose adoption was killed, or whose report cannot be read."""

import json
import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli_said import Captured, data, said
from sleep_proposals import Project, both, offer
from small_night import Small
from watched import told

from etude.cli.main import main
from etude.sleep.adoption.adopt import adopt
from etude.sleep.adoption.revert import revert
from etude.sleep.report import NightReport
from forked import exit_code

ENDS = "an adoption or a revert has not ended: the next adopt, revert or run finishes it"
NOTHING_ELSE = "nothing else was done: `etude sleep status` shows how nights stand"


@pytest.fixture
def two(sleeper: Small) -> Project:
    """After a night that proposes a skill and a memory file."""
    place = Project(sleeper.project, sleeper.state.folder)
    sleeper.state.make()
    offered(place, 1)
    return place


def offered(place: Project, night: int, rule: str = "- Learned.") -> None:
    """A night that proposes this rule for both documents as they are."""
    shown(place, night, both(place, night=f"{night:04d}", rule=rule))


def shown(place: Project, night: int, folder: Path) -> None:
    """The report of a night with that proposal."""
    report = NightReport(
        night=night,
        status="proposed",
        project=str(place.root),
        started=datetime(2026, 3, 2, tzinfo=UTC),
        target="t",
        optimizer="o",
        proposal=str(folder),
    )
    (folder.parent / "night.json").write_text(report.model_dump_json())


def status(capsys: Captured) -> list[dict[str, Any]]:
    return json.loads("\n".join(said(capsys, "status", "--json")))["nights"]


def killed(place: Project, at: str, what: str = "adopt", night: str = "0001") -> None:
    """Leave what a process leaves that is killed while it adopts, or reverts."""

    def work() -> int:
        with told(lambda step: os.kill(os.getpid(), signal.SIGKILL) if step == at else None):
            if what == "adopt":
                adopt(place.state / "nights" / night / "proposal", place.root, place.state)
            else:
                revert(night, place.state)
        return 0

    assert exit_code(work) == -signal.SIGKILL


def rules(capsys: Captured) -> dict[str, tuple[str, str]]:
    """By the text of a rule: its id and how it stands."""
    return {rule["text"]: (rule["id"], rule["state"]) for rule in data(capsys, "status")["rules"]}


def test_what_is_left_of_a_proposal_waits_and_is_adopted_without_naming_it(two: Project, capsys: Captured) -> None:
    before = two.files()
    name, state = rules(capsys)["- Of the skill."]
    assert state == "waits"
    assert len(said(capsys, "adopt", "--rule", name)) == 2
    assert [row["status"] for row in status(capsys)] == ["partly adopted"]
    assert rules(capsys)["- Of the skill."] == (name, "adopted")
    assert said(capsys, "status")[-1] == "1 rule waits for you: etude sleep review, or etude sleep adopt for all"
    following = said(capsys, "show")
    assert [line.strip() for line in following[following.index("next:") + 1 :]][:3] == [
        "etude sleep review",
        "etude sleep adopt",
        "etude sleep revert 1",
    ]
    assert said(capsys, "adopt")[0].startswith(f"adopted  {two.memory}: ")
    assert [row["status"] for row in status(capsys)] == ["adopted"]
    assert refused(capsys, "adopt")[0] == "error: no rule of night 1 waits: it is adopted"
    assert refused(capsys, "adopt", "--rule", name)[0] == f"error: {name} of night 1 is adopted already"
    assert len(said(capsys, "revert")) == 2
    assert two.files() == before
    assert [row["status"] for row in status(capsys)] == ["reverted"]


def test_a_rejected_rule_does_not_wait(two: Project, capsys: Captured) -> None:
    name, _ = rules(capsys)["- Of the skill."]
    assert said(capsys, "reject", "--rule", name) == [f"rejected  {name}  - Of the skill."]
    assert rules(capsys)["- Of the skill."] == (name, "rejected")
    said(capsys, "adopt")
    assert "- Of the skill." not in two.skill.read_text()
    learned, _ = rules(capsys)["- Learned."]
    assert refused(capsys, "reject", "--rule", learned)[0] == f"error: rule {learned} is adopted"
    assert "proposes no rule 'x'" in refused(capsys, "reject", "--rule", "x")[0]


def answers(monkeypatch: pytest.MonkeyPatch, *given: str) -> None:
    left = iter(given)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda prompt: next(left))


def test_a_review_takes_leaves_edits_and_turns_down_each_rule(
    sleeper: Small, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Project(sleeper.project, sleeper.state.folder)
    sleeper.state.make()
    block = "".join(f"- {text}\n" for text in ("Take.", "Leave.", "Edit.", "Never."))
    shown(place, 1, offer(place, [(place.memory, block)], night="0001"))
    answers(monkeypatch, "t", "?", "l", "e", "Edited.", "n")
    lines = said(capsys, "review")
    assert lines[-2:] == ["taken: 2, rejected: 1, wait: 1", "take it back with: etude sleep revert 1"]
    assert sum(line.startswith(f"{at} of 4: ") for line in lines for at in range(5)) == 4
    text = place.memory.read_text()
    assert text.endswith("learned -->\n- Take.\n- Edited.\n<!-- etude:end learned -->\n")
    states = {text: state for text, (_, state) in rules(capsys).items()}
    assert states == {"- Take.": "adopted", "- Edited.": "adopted", "- Leave.": "waits", "- Never.": "rejected"}
    answers(monkeypatch, "q")
    assert said(capsys, "review")[-1] == "taken: 0, rejected: 0, wait: 1"
    said(capsys, "revert", "1")
    assert "learned" not in place.memory.read_text()


def test_a_rule_for_two_documents_is_one_rule_in_a_review(
    two: Project, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, "t", "l")
    lines = said(capsys, "review")
    assert [line[:8] for line in lines if " of 2: " in line] == ["1 of 2: ", "2 of 2: "]
    assert "   The same for .claude/skills/learned/SKILL.md." in lines
    assert lines[-2] == "taken: 1, rejected: 0, wait: 1"
    assert "- Learned." in two.memory.read_text()
    assert "- Learned." in two.skill.read_text()


def test_a_review_without_anybody_to_answer_names_the_other_ways(two: Project, capsys: Captured) -> None:
    error, hint = refused(capsys, "review")
    assert (error, "adopt --rule ID" in hint) == ("error: a review asks questions, and nobody can answer here", True)
    said(capsys, "adopt")
    assert refused(capsys, "review")[0] == "error: no rule waits"


def test_an_adoption_that_was_killed_when_all_was_replaced_is_finished_and_not_made_again(
    two: Project, capsys: Captured
) -> None:
    killed(two, "end")
    assert said(capsys, "status")[-1] == ENDS
    capsys.readouterr()
    assert main(["sleep", "adopt"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "note: an interrupted adoption or revert was finished\n"
    assert captured.out.splitlines() == [NOTHING_ELSE]
    assert [row["status"] for row in status(capsys)] == ["adopted"]
    assert ENDS not in said(capsys, "status")


def test_a_plain_adopt_that_finishes_one_leaves_other_proposals_alone(two: Project, capsys: Captured) -> None:
    offered(two, 2, "- Second.")
    killed(two, "end", night="0002")
    adopted = two.files()
    assert json.loads("\n".join(said(capsys, "adopt", "--json")))["recovered"] == {"left": []}
    assert two.files() == adopted
    assert "- Second." in two.memory.read_text()


@pytest.mark.parametrize("named", [[], ["1"]])
def test_a_revert_that_finishes_one_leaves_other_nights_alone(
    two: Project, capsys: Captured, named: list[str]
) -> None:
    said(capsys, "adopt")
    first = two.files()
    offered(two, 2, "- Second.")
    said(capsys, "adopt")
    killed(two, "end", "revert", "0002")
    assert said(capsys, "revert", *named) == [NOTHING_ELSE]
    assert two.files() == first
    assert [row["status"] for row in status(capsys)] == ["adopted", "reverted"]


def test_an_adoption_that_was_killed_on_the_way_is_finished_and_what_a_person_wrote_is_named(
    two: Project, capsys: Captured
) -> None:
    killed(two, "replace 1")
    two.memory.write_text("By hand.\n")
    assert main(["sleep", "revert"]) == 0
    err = capsys.readouterr().err.splitlines()
    assert err[0] == "note: an interrupted adoption or revert was finished"
    assert err[1] == f"note: {str(two.memory)!r} was changed since and left as it is"
    assert two.memory.read_text() == "By hand.\n"


def test_a_night_whose_report_cannot_be_read_is_reported_from_one_that_was_killed(
    two: Project, capsys: Captured
) -> None:
    path = two.state / "nights" / "0001" / "night.json"
    path.write_text('{"night": "of another version"}')
    assert [(row["status"], row["resumes"]) for row in status(capsys)] == [("unreadable", False)]
    assert main(["sleep", "show"]) == 2
    assert capsys.readouterr().err == (
        "error: the report of night 1 cannot be read\n"
        f"hint: another version of etude wrote it, or it is damaged: {path}\n"
    )


def test_an_adopted_night_stays_adopted_whatever_becomes_of_its_report(two: Project, capsys: Captured) -> None:
    before = two.files()
    said(capsys, "adopt")
    (two.state / "nights" / "0001" / "night.json").write_text("{")
    assert [row["status"] for row in status(capsys)] == ["adopted"]
    assert len(said(capsys, "revert")) == 2
    assert two.files() == before


def test_what_waits_of_an_earlier_night_is_part_of_the_newest_proposal(two: Project, capsys: Captured) -> None:
    offered(two, 2, "- Second.")
    assert [row["status"] for row in status(capsys)] == ["in night 2", "proposed"]
    said(capsys, "adopt")
    assert "- Learned." not in two.memory.read_text()


def test_a_document_that_was_changed_by_hand_takes_the_rules_that_wait(two: Project, capsys: Captured) -> None:
    two.memory.write_text("By hand.\n")
    assert [row["status"] for row in status(capsys)] == ["proposed"]
    assert " By hand." in said(capsys, "show", "--diff")
    said(capsys, "adopt")
    assert two.memory.read_text().startswith("By hand.\n\n<!-- etude:begin learned -->\n- Learned.\n")


def test_a_rule_whose_own_line_was_changed_is_named_and_the_others_are_taken(two: Project, capsys: Captured) -> None:
    said(capsys, "adopt")
    shown(two, 2, offer(two, [(two.memory, "- Learned, in short.\n- New.\n")], night="0002"))
    two.memory.write_text(two.memory.read_text().replace("- Learned.", "- As I like it."))
    name, state = rules(capsys)["- Learned, in short."]
    assert state == "line changed"
    assert refused(capsys, "adopt", "--rule", name)[0].startswith(f"error: rule {name} changes a line of ")
    assert main(["sleep", "adopt"]) == 0
    assert f"the line that rule {name} changes was changed since night 2" in capsys.readouterr().err
    assert "- As I like it.\n- New.\n" in two.memory.read_text()


def refused(capsys: Captured, *words: str) -> list[str]:
    """The error and the hint of a verb."""
    assert main(["sleep", *words]) == 2
    return capsys.readouterr().err.splitlines()


def test_a_difference_says_where_it_does_not_wait(two: Project, capsys: Captured) -> None:
    main(["sleep", "show", "--diff"])
    assert capsys.readouterr().err == ""
    said(capsys, "adopt")
    main(["sleep", "show", "--diff"])
    assert capsys.readouterr().err == "note: night 1 is adopted\n"
    found = json.loads("\n".join(said(capsys, "show", "--diff", "--json")))
    assert found["stands"] == "adopted"


def test_a_rule_that_was_taken_out_is_named_by_explain_and_its_night_can_still_be_reverted(
    sleeper: Small, capsys: Captured
) -> None:
    place = Project(sleeper.project, sleeper.state.folder)
    sleeper.state.make()
    before = place.files()
    blocks = [(place.memory, "- Of the memory.\n"), (place.skill, "- Of the skill.\n")]
    shown(place, 1, offer(place, blocks, night="0001"))
    said(capsys, "adopt")
    brought = json.loads("\n".join(said(capsys, "show", "--json")))["rules"]
    (rule,) = [one["id"] for one in brought if one["text"] == "- Of the skill."]
    said(capsys, "revert", "--rule", rule)
    assert any(line.endswith(f"Of the skill.  [{rule}] (taken out)") for line in said(capsys, "show"))
    found = json.loads("\n".join(said(capsys, "show", "--json")))
    assert {one["id"]: one["state"] for one in found["rules"]}[rule] == "taken out"
    assert said(capsys, "revert", "1") == [f"restored  {place.memory}: as it was before"]
    assert place.files() == before


def test_a_rule_that_a_person_took_out_is_not_found(two: Project, capsys: Captured) -> None:
    said(capsys, "adopt")
    two.skill.write_text(two.skill.read_text().replace("- Of the skill.\n", ""))
    assert "not found - Of the skill." in said(capsys, "revert", "1")
