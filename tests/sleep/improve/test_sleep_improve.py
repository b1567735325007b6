"""What a night makes of what it knows of its documents, and what its proposal carries."""

import json
from pathlib import Path

import pytest
from briefs_sessions import START, write_claude
from small_night import Small, later

from etude.errors import BudgetStop, DataError
from etude.records import ChatRequest, Edit, LedgerEntry
from etude.sleep.adoption.adopt import reject
from etude.sleep.adoption.proposal import read_proposal
from etude.sleep.adoption.rules import Rule
from etude.sleep.improve.known import NightMemory, remembered, tried_edits
from etude.sleep.report import NightReport
from etude.sleep.tasks.gather import archive, archived


def test_what_nights_know_and_cannot_be_read_is_named_before_anything_is_asked(small: Small) -> None:
    small.state.make()
    known = small.state.folder / "known.json"
    known.write_text('{"tried": [')
    with pytest.raises(DataError, match=r"known\.json' cannot be read") as error:
        small.night()
    assert (error.value.exit_code, error.value.hint) == (2, "restore it, or remove it")
    assert (small.answered, small.state.numbers()) == (0, [])


def test_an_interrupted_night_goes_on_from_what_was_known_when_it_began(small: Small) -> None:
    def stop(request: ChatRequest) -> None:
        if small.answered == 12:
            raise BudgetStop("enough 7712")

    small.before = stop
    with pytest.raises(BudgetStop):
        small.night()
    at_first = (small.state.night(1) / "known.json").read_text()
    assert json.loads(at_first)["tried"] == {}
    edit = LedgerEntry(step=1, edit=Edit(op="append", content="- Another night's."), fate="applied", accepted=True)
    of_another = NightMemory(tried={str(small.skill): tried_edits([edit], {})})
    (small.state.folder / "known.json").write_text(of_another.model_dump_json())
    small.before = lambda request: None
    report = small.night()
    assert (report.night, report.status) == (1, "proposed")
    assert (small.state.night(1) / "known.json").read_text() == at_first
    assert not any("Another night's." in text for text in small.optimizer.answered)


def test_edits_are_kept_with_the_real_tasks_they_cite_and_not_told_where_one_is_held_out() -> None:
    edit = Edit(op="append", content="- Be brief.", cites=("a1", "a2", "a3", "gone"))
    entry = LedgerEntry(step=1, edit=edit, fate="applied", accepted=False)
    tried = tried_edits([entry], {"a1": "recall:m1", "a2": "m2~b3", "a3": "m2"})
    assert [one.edit.cites for one in tried] == [("m1", "m2")]
    memory = NightMemory(tried={"/p/SKILL.md": tried})
    assert memory.ledger("/p/SKILL.md", {"m3"}) == tried
    assert memory.ledger("/p/SKILL.md", {"m2"}) == ()
    assert memory.ledger("/p/other", ()) == ()


def report_rules(report: NightReport) -> list[Rule]:
    """What a night proposes."""
    documents = read_proposal(Path(report.proposal)).documents if report.proposal else ()
    return [rule for one in documents for rule in one.added]


def test_the_optimizer_is_not_told_of_earlier_edits_from_what_is_held_out_now(one: Small) -> None:
    small, report = one, one.report()
    reject(Path(report.proposal), small.state.folder, [rule.id for rule in report_rules(report)])
    (tried,) = remembered(small.state).tried.values()
    cited = {name for entry in tried for name in entry.edit.cites}
    assert cited
    sides = {True: "val", False: "train"}
    archive(small.state, [one.model_copy(update={"split": sides[one.id in cited]}) for one in archived(small.state)])
    write_claude(small.home, small.turns[:5], str(small.project), later(START, days=50))
    seen: list[str] = []
    small.before = lambda request: seen.append("\n".join(message.text for message in request.messages))
    again = small.night()
    assert not {rule.text for rule in report_rules(again)} & {rule.text for rule in report_rules(report)}
    assert any("The user has turned down these rules" in text for text in seen)
    assert {task["split"] for task in small.tasks(2) if task["id"] in cited} == {"val"}
    assert not [text for text in seen if "# Earlier edits and their outcomes" in text]
