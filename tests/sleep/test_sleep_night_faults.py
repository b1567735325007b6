"""What is wrong around a night: found before anything is paid for, told in its report, and never the loss of it."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from scripted import task_file
from small_night import Finished, Small
from watched import killed_adoption

from etude.errors import BudgetStop, DataError
from etude.records import ChatRequest
from etude.sleep.adoption.adopt import receipts
from etude.sleep.adoption.transaction import locked
from etude.sleep.night import TASKS, read_tasks
from etude.sleep.report import read_report, unfinished

QUICK = {"confirm_trials": 0}
"""What passes the gate is proposed."""


def test_an_adoption_that_fails_leaves_a_finished_night_with_a_proposal_that_waits(tmp_path: Path) -> None:
    small = Small(tmp_path, n=12)
    sleep = {"auto_adopt": True, "confirm_trials": 3, "val_fraction": 0.5}
    with ExitStack() as stack:

        def adopts_elsewhere(request: ChatRequest) -> None:
            if "# Current skill" in request.messages[-1].text:
                stack.enter_context(locked(small.state.folder))
                small.before = lambda request: None

        small.before = adopts_elsewhere
        report = small.night(sleep)
    assert (report.status, report.resumes, report.documents[0].verdict) == ("proposed", False, "ship")
    assert [text.startswith("documents are being adopted or reverted in ") for text in report.held_back] == [True]
    assert [document.status for document in report.documents] == ["accepted"]
    assert read_report(small.state, 1) == report
    assert not small.skill.exists()


def test_tasks_of_an_interrupted_night_that_cannot_be_read_end_it_and_the_next_one_begins(small: Small) -> None:
    def stop(request: ChatRequest) -> None:
        if small.answered == 12:
            raise BudgetStop("enough 7712")

    small.before = stop
    with pytest.raises(BudgetStop):
        small.night(QUICK)
    small.before = lambda request: None
    assert unfinished(small.state) == 1
    (small.state.night(1) / TASKS).write_text('{"tasks": [{"version": 9}]}')
    with pytest.raises(DataError, match=r"tasks\.json' cannot be read") as error:
        small.night(QUICK)
    assert error.value.hint == "the next run begins a new night"
    with pytest.raises(DataError, match=r"tasks\.json' cannot be read"):
        read_tasks(small.state, 1)
    assert unfinished(small.state) is None
    report = small.night(QUICK)
    assert (report.night, report.status, report.sessions) == (2, "proposed", {"claude-code": 5})


OUT_OF_ORDER = {
    "a link out of the project": lambda path, root: path.symlink_to(root / "outside" / "SKILL.md"),
    "too long": lambda path, root: path.write_text("word " * 30_000),
}


@pytest.mark.parametrize("what", OUT_OF_ORDER)
def test_one_skill_that_cannot_be_improved_costs_no_other_document_its_night(
    small: Small, finished: Finished, what: str
) -> None:
    (small.root / "outside").mkdir()
    (small.root / "outside" / "SKILL.md").write_text("# Elsewhere\n")
    path = small.project / ".claude" / "skills" / "briefs" / "SKILL.md"
    path.parent.mkdir(parents=True)
    OUT_OF_ORDER[what](path, small.root)
    tasks = finished.small.tasks()
    held = task_file(small.root, [{**task, "skill": "briefs", "night": None} for task in tasks])
    report = small.night({**held, **QUICK, "skill": "each"})
    assert report.status == "proposed"
    assert [document.name for document in report.documents] == ["learned"]
    (note,) = [note for note in report.notes if "briefs" in note]
    assert note.startswith("the skill 'briefs' is not improved: ")


def test_that_an_interrupted_adoption_was_finished_is_in_the_report_of_the_next_night(one: Small) -> None:
    small = one
    killed_adoption(Path(small.report().proposal), small.project, small.state.folder, "replace 0")
    (note,) = small.night(QUICK).notes
    assert note == "an interrupted adoption or revert was finished"
    assert len(receipts(small.state.folder)) == 1
    assert small.skill.exists()
