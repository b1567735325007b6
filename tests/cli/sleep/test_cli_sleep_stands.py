"""How nights stand whose proposal was adopted in parts, whose adoption was killed, or whose report cannot be read."""

import json
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli_said import Captured, said
from sleep_proposals import Project, both, offer
from small_night import Small
from task_files import mark_reviewed
from watched import CHILD

from etude.cli.main import main
from etude.cli.sleep.settings import Nights
from etude.sleep.report import NightReport
from etude.sleep.state import SleepState

KILLED = """
import os, signal, sys
from pathlib import Path
from etude.sleep.adoption.adopt import adopt
from etude.sleep.adoption.revert import revert
from watched import told

def listen(name):
    if name == sys.argv[5]:
        os.kill(os.getpid(), signal.SIGKILL)

project, state, night = Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
if sys.argv[1] == "adopt":
    with told(listen):
        adopt(state / "nights" / night / "proposal", project, state)
else:
    with told(listen):
        revert(night, state)
"""
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
    words = [what, str(place.root), str(place.state), night, at]
    assert (
        subprocess.run([sys.executable, "-c", KILLED, *words], env=CHILD, check=False).returncode == -signal.SIGKILL
    )


def test_what_is_left_of_a_proposal_waits_and_is_adopted_without_naming_it(two: Project, capsys: Captured) -> None:
    before = two.files()
    assert len(said(capsys, "adopt", "1", "--only", "skill")) == 2
    assert [row["status"] for row in status(capsys)] == ["partly adopted"]
    waits = "night 1 waits for you: etude sleep diff 1, then etude sleep adopt 1"
    assert said(capsys, "status")[-1] == waits
    following = said(capsys, "explain")
    assert [line.strip() for line in following[following.index("next:") + 1 :]][:3] == [
        "etude sleep diff 1",
        "etude sleep adopt 1",
        "etude sleep revert 1",
    ]
    assert said(capsys, "adopt")[0].startswith(f"adopted  {two.memory}: ")
    assert [row["status"] for row in status(capsys)] == ["adopted"]
    assert main(["sleep", "adopt", "1"]) == 2
    assert "night 1 is adopted already" in capsys.readouterr().err
    assert len(said(capsys, "revert")) == 2
    assert two.files() == before
    assert [row["status"] for row in status(capsys)] == ["reverted"]


def test_a_part_of_a_proposal_is_taken_back(two: Project, capsys: Captured) -> None:
    before = two.files()
    said(capsys, "adopt", "--only", "memory")
    assert said(capsys, "revert") == [f"restored  {two.memory}: as it was before"]
    assert two.files() == before


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


def test_a_plain_revert_that_finishes_one_leaves_other_nights_alone(two: Project, capsys: Captured) -> None:
    said(capsys, "adopt")
    first = two.files()
    offered(two, 2, "- Second.")
    said(capsys, "adopt", "2")
    killed(two, "end", "revert", "0002")
    assert said(capsys, "revert") == [NOTHING_ELSE]
    assert two.files() == first
    assert [row["status"] for row in status(capsys)] == ["adopted", "reverted"]


def test_a_named_night_is_reverted_after_another_revert_was_finished(two: Project, capsys: Captured) -> None:
    before = two.files()
    said(capsys, "adopt")
    offered(two, 2, "- Second.")
    said(capsys, "adopt", "2")
    killed(two, "end", "revert", "0002")
    assert len(said(capsys, "revert", "1")) == 2
    assert two.files() == before


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
    assert main(["sleep", "explain"]) == 2
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


def test_a_proposal_that_another_one_has_overtaken_does_not_wait(two: Project, capsys: Captured) -> None:
    offered(two, 2, "- Second.")
    said(capsys, "adopt")
    assert [row["status"] for row in status(capsys)] == ["outdated", "adopted"]
    assert "for you" not in "\n".join(said(capsys, "status"))
    assert main(["sleep", "adopt"]) == 2
    assert "error: night 2 is adopted already" in capsys.readouterr().err
    said(capsys, "revert")
    assert [row["status"] for row in status(capsys)] == ["proposed", "reverted"]


def test_what_is_left_of_a_proposal_waits_only_while_its_document_is_what_it_was(
    two: Project, capsys: Captured
) -> None:
    said(capsys, "adopt", "--only", "skill")
    two.memory.write_text("By hand.\n")
    assert [row["status"] for row in status(capsys)] == ["partly adopted"]
    assert "for you" not in "\n".join(said(capsys, "status"))
    following = said(capsys, "explain")
    assert [line.strip() for line in following[following.index("next:") + 1 :]][:2] == [
        "etude sleep diff 1",
        "etude sleep revert 1",
    ]


def test_what_is_advised_for_an_outdated_proposal_brings_another(sleeper: Small, capsys: Captured) -> None:
    said(capsys, "run")
    sleeper.skill.parent.mkdir(parents=True)
    sleeper.skill.write_text("---\nname: learned\ndescription: By hand.\n---\nBy hand.\n")
    assert [row["status"] for row in status(capsys)] == ["outdated"]
    assert said(capsys, "explain")[1] == "night 1  outdated"
    assert "  etude sleep tasks 1 --to tasks.json" in said(capsys, "explain")
    assert main(["sleep", "adopt"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == f"error: '{sleeper.skill}' changed since the night read it"
    first, second = hint.split("`")[1::2]
    assert main(first.split()[1:]) == 0
    mark_reviewed(Path("tasks.json"))
    assert main(second.split()[1:]) == 0
    assert [row["status"] for row in status(capsys)] == ["outdated", "proposed"]
    assert said(capsys, "adopt")[0].startswith("adopted  ")
    assert "By hand." in sleeper.skill.read_text()


def refused(capsys: Captured, *words: str) -> list[str]:
    """The error and the hint of a verb."""
    assert main(["sleep", *words]) == 2
    return capsys.readouterr().err.splitlines()


def test_documents_are_adopted_by_the_names_that_the_program_shows(sleeper: Small, capsys: Captured) -> None:
    place = Project(sleeper.project, sleeper.state.folder)
    sleeper.state.make()
    skills = [sleeper.project / ".claude" / "skills" / name / "SKILL.md" for name in ("briefs", "learned")]
    shown(place, 1, offer(place, [(path, "- Learned.\n") for path in skills], night="0001"))
    assert said(capsys, "adopt", "--only", "learned")[0].startswith(f"adopted  {skills[1]}: ")
    assert not skills[0].exists()
    error, hint = refused(capsys, "adopt", "--only", "advice")
    assert error == "error: night 1 proposes nothing for 'advice'"
    assert hint == (
        "hint: allowed: .claude/skills/briefs/SKILL.md, .claude/skills/learned/SKILL.md, briefs, learned, skill"
    )


def test_what_is_in_place_is_adopted_already_also_where_it_is_named(two: Project, capsys: Captured) -> None:
    said(capsys, "adopt", "1", "--only", "skill")
    for name in ("skill", "learned", ".claude/skills/learned/SKILL.md"):
        assert refused(capsys, "adopt", "1", "--only", name)[0] == f"error: {name} of night 1 is adopted already"
    assert len(said(capsys, "adopt", "1", "--only", "learned", "--only", "memory")) == 2
    assert [row["status"] for row in status(capsys)] == ["adopted"]


def test_a_proposal_waits_while_any_of_its_documents_is_what_the_night_read(two: Project, capsys: Captured) -> None:
    with two.memory.open("a") as file:
        file.write("By hand.\n")
    assert [row["status"] for row in status(capsys)] == ["proposed"]
    waits = "night 1 waits for you: etude sleep diff 1, then etude sleep adopt 1"
    assert said(capsys, "status")[-1] == waits
    assert "  etude sleep adopt 1" in said(capsys, "explain")
    assert refused(capsys, "adopt") == [
        "error: memory changed since night 1 read it",
        "hint: `etude sleep adopt 1 --only learned` takes the rest",
    ]
    assert said(capsys, "adopt", "1", "--only", "learned")[0].startswith(f"adopted  {two.skill}: ")
    assert "for you" not in "\n".join(said(capsys, "status"))


def test_several_nights_that_wait_are_named(two: Project, capsys: Captured) -> None:
    offered(two, 2, "- Second.")
    assert said(capsys, "status")[-1] == "nights 1, 2 wait for you: etude sleep diff N, then etude sleep adopt N"


def test_a_proposal_of_which_nothing_can_be_adopted_is_outdated(two: Project, capsys: Captured) -> None:
    two.memory.write_text("By hand.\n")
    two.skill.parent.mkdir(parents=True)
    two.skill.write_text("---\nname: learned\ndescription: By hand.\n---\n")
    assert [row["status"] for row in status(capsys)] == ["outdated"]
    assert main(["sleep", "diff"]) == 0
    assert capsys.readouterr().err == "note: night 1 is outdated\n"


def test_a_difference_says_where_it_does_not_wait(two: Project, capsys: Captured) -> None:
    main(["sleep", "diff"])
    assert capsys.readouterr().err == ""
    said(capsys, "adopt")
    main(["sleep", "diff"])
    assert capsys.readouterr().err == "note: night 1 is adopted\n"
    found = json.loads("\n".join(said(capsys, "diff", "--json")))
    assert found["stands"] == "adopted"


def test_a_night_of_which_nothing_is_adopted_is_not_reverted(two: Project, capsys: Captured) -> None:
    error, hint = refused(capsys, "revert", "1")
    assert error == "error: no night is adopted"
    assert hint == "hint: `etude sleep status` shows the nights, `etude sleep run` works through one"


def test_adoptions_are_read_once_for_all_nights(two: Project, capsys: Captured) -> None:
    said(capsys, "adopt")
    nights = Nights(two.root, SleepState(two.state), ())
    assert nights.stands(1) == "adopted"
    shutil.rmtree(two.state / "adopted")
    assert nights.stands(1) == "adopted"
    assert Nights(two.root, SleepState(two.state), ()).stands(1) != "adopted"


def test_a_rule_that_was_taken_out_is_named_by_explain_and_its_night_can_still_be_reverted(
    sleeper: Small, capsys: Captured
) -> None:
    place = Project(sleeper.project, sleeper.state.folder)
    sleeper.state.make()
    before = place.files()
    blocks = [(place.memory, "- Of the memory.\n"), (place.skill, "- Of the skill.\n")]
    shown(place, 1, offer(place, blocks, night="0001"))
    said(capsys, "adopt")
    brought = json.loads("\n".join(said(capsys, "explain", "--json")))["rules"]
    (rule,) = [one["id"] for one in brought if one["text"] == "- Of the skill."]
    said(capsys, "revert", "--rule", rule)
    assert any(line.endswith(f"Of the skill.  [{rule}] (taken out)") for line in said(capsys, "explain"))
    found = json.loads("\n".join(said(capsys, "explain", "--json")))
    assert found["taken_out"] == [{"document": str(place.skill), "id": rule}]
    assert said(capsys, "revert", "1") == [f"restored  {place.memory}: as it was before"]
    assert place.files() == before


def test_a_rule_that_a_person_took_out_is_not_found(two: Project, capsys: Captured) -> None:
    said(capsys, "adopt")
    two.skill.write_text(two.skill.read_text().replace("- Of the skill.\n", ""))
    assert "not found - Of the skill." in said(capsys, "revert", "1")


def test_an_adoption_that_came_with_a_project_is_not_taken_back_outside_of_it(two: Project, capsys: Captured) -> None:
    said(capsys, "adopt")
    outside = two.root.parent / "outside" / "CLAUDE.md"
    outside.parent.mkdir()
    outside.write_bytes(two.memory.read_bytes())
    for record in (two.state / "adopted" / "0001~1.json", two.state / "rules.json"):
        record.write_text(record.read_text().replace(str(two.memory), str(outside)))
    for words in (["revert"], ["revert", "1"]):
        assert main(["sleep", *words]) == 2
        assert "outside of the project" in capsys.readouterr().err
    assert outside.read_bytes() == two.memory.read_bytes()
