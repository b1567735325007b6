"""Rules that earlier nights wrote are left out on trial; what nothing misses goes, and can be put back."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import ValidationError
from small_night import Kept, Small

from etude.cli.main import main
from etude.errors import BudgetStop
from etude.records import ChatRequest, Skill
from etude.skill import Document
from etude.sleep.adoption.adopt import adopt, kept_rules
from etude.sleep.adoption.proposal import DocumentChange, Proposal, read_proposal, stage
from etude.sleep.adoption.revert import revert
from etude.sleep.adoption.rules import Evidence, Rule, active, block_of, revised
from etude.sleep.adoption.structure import plain
from etude.sleep.config import SleepSection
from etude.sleep.improve.changes import Place
from etude.sleep.improve.retire import Standing, due, left_out
from etude.sleep.live_documents import read_document
from etude.sleep.report import NightReport

IDLE = "- Never mention the weather."
BY_HAND = "- Written by hand."
RETIRE = {"retire": 3, "confirm_trials": 2}


def rule_of(small: Small, text: str) -> Rule:
    return next(rule for rule in kept_rules(small.state.folder).documents[str(small.skill)] if rule.text == text)


def with_rules(
    small: Small, night: str, text: str, evidence: Evidence | None = None, place: Place = "skill", ran: str = ""
) -> None:
    """Adopt a night (under another name, `ran`) that added this rule to a document."""
    path = small.skill if place == "skill" else small.project / "CLAUDE.md"
    live = read_document(path, place, small.project)
    before = revised(kept_rules(small.state.folder).documents.get(live.real, ()), block(live.opening), "")
    opening = Document.parse(live.opening)
    whole = opening.with_learned("\n".join([opening.learned or "", text])).render()
    rules = revised(before, block_of(whole), night, {text: evidence} if evidence else {})
    rules = tuple(rule.model_copy(update={"night": ran}) if ran and rule.text == text else rule for rule in rules)
    proposal = Proposal(
        night=night, project=str(small.project), documents=(DocumentChange(live=live, rules=rules, before=before),)
    )
    adopt(stage(small.state.folder / night, proposal), small.project, small.state.folder)


def block(text: str) -> str:
    return text.partition("begin learned -->\n")[2].partition("<!-- etude:end")[0]


@pytest.fixture(scope="module")
def in_place(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(adopted(tmp_path_factory.mktemp("adopted") / "now"))


@pytest.fixture
def small(in_place: Kept) -> Small:
    return in_place.again()


def adopted(root: Path) -> Small:
    """A rule that is needed and one that is not missed are in place, and one that the user wrote."""
    small = Small(root)
    report = small.night()
    adopt(Path(report.proposal), small.project, small.state.folder)
    with_rules(small, "0000", IDLE)
    text = small.skill.read_text()
    small.skill.write_text(text.replace("<!-- etude:end", f"{BY_HAND}\n<!-- etude:end"))
    small.write(5, 9)
    return small


class Tried(NamedTuple):
    small: Small
    report: NightReport
    before: bytes
    needed: Rule
    kept: Kept


@pytest.fixture(scope="module")
def tried_once(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """After a night that left rules out on trial, and that may adopt what needs no person."""
    small = adopted(tmp_path_factory.mktemp("tried") / "now")
    before, needed = small.skill.read_bytes(), rule_of(small, block(small.skill.read_text()).splitlines()[0])
    report = small.night({**RETIRE, "auto_adopt": True})
    return Tried(small, report, before, needed, Kept(small))


@pytest.fixture
def tried(tried_once: Tried) -> Tried:
    tried_once.kept.again()
    return tried_once


def test_a_rule_that_nothing_misses_is_proposed_for_removal_and_no_other(tried: Tried) -> None:
    document = tried.report.documents[0]
    assert (tried.report.status, document.status) == ("proposed", "accepted")
    assert document.reason.endswith("rules retired, which nothing misses: 1")
    (proposed,) = read_proposal(Path(tried.report.proposal)).documents
    assert proposed.text.encode() == tried.before.replace(f"{IDLE}\n".encode(), b"")
    idle = next(rule for rule in proposed.rules if rule.text == IDLE)
    assert (idle.status, idle.retired) == ("retired", "0002")
    assert idle.ablation.endswith("fresh attempts at each with and without it: 2; none does worse without")
    assert next(rule for rule in proposed.rules if rule.id == tried.needed.id).status == "active"


def test_a_rule_that_stays_is_reported_with_the_tasks_that_missed_it(tried: Tried) -> None:
    said = re.search(
        f"; left out on trial: {re.escape(repr(plain(tried.needed.text, 80)))}, "
        r"(\d+) of \d+ tasks do worse without it \((.*)\): stays; rules retired",
        tried.report.documents[0].reason,
    )
    assert said is not None
    named = said[2].rstrip("…").split(", ")
    assert 0 < len(named) <= int(said[1])


def test_a_removal_is_explained(tried: Tried, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--project", str(tried.small.project), "--state", str(tried.small.base)]
    assert main(["sleep", "show", "2", "--details", *place]) == 0
    said = capsys.readouterr().out
    assert f"  {rule_of(tried.small, IDLE).id}  retired: {IDLE}" in said
    assert "fresh attempts at each with and without it: 2; none does worse without" in said


def test_a_removal_waits_for_a_person_and_what_was_put_back_is_not_left_out_again(tried: Tried) -> None:
    small, report = tried.small, tried.report
    idle, before = rule_of(small, IDLE), small.skill.read_bytes()
    assert report.held_back == (f"rule {idle.id} is to be taken out, which a person decides",)
    adopt(Path(report.proposal), small.project, small.state.folder)
    assert IDLE not in small.skill.read_text()
    assert BY_HAND in small.skill.read_text()
    revert("0002", small.state.folder)
    assert small.skill.read_bytes() == before
    assert rule_of(small, IDLE).status == "active"
    small.write(11, 13)
    assert "retired" not in small.night(RETIRE).documents[0].reason
    assert trials_of(small)[idle.id] == 2


def trials_of(small: Small) -> dict[str, int]:
    """The night of the last trial of each rule of the skill."""
    return json.loads((small.state.folder / "known.json").read_text())["trials"][str(small.skill)]


def test_a_rule_that_cannot_be_tried_leaves_its_place_to_the_next(small: Small) -> None:
    shown = "- Greet the reader."
    with_rules(small, "0000y", shown, Evidence(tasks=("gone",)), ran="000")
    known = Standing(kept_rules(small.state.folder).documents[str(small.skill)])
    assert due(known)[0].text == shown
    small.night({**RETIRE, "retire": 1})
    assert len(trials_of(small)) == 1
    assert due(known)[0].id not in trials_of(small)


def test_a_night_killed_in_a_trial_goes_on_from_there(small: Small) -> None:
    def stop(request: ChatRequest) -> None:
        if list(small.state.night(2).rglob("retire-*")):
            stopped.append(request)
            if len(stopped) == 5:
                raise BudgetStop("enough 7712")

    stopped: list[ChatRequest] = []
    at_first = small.answered
    small.before = stop
    with pytest.raises(BudgetStop):
        small.night(RETIRE)
    small.before = lambda request: None
    report = small.night(RETIRE)
    assert (report.night, report.starts) == (2, 2)
    assert report.documents[0].reason.endswith("rules retired, which nothing misses: 1")
    assert report.spent.calls == small.answered - at_first + 1  # the one that was stopped had been sent


def test_the_budget_of_the_night_holds_for_the_trials_of_both_documents(small: Small) -> None:
    with_rules(small, "0000m", "- Never mention the tides.", place="memory")
    both = Kept(small)
    asked = {**RETIRE, "retire": 1, "memory": True}
    report = small.night(asked)
    assert [document.reason.endswith(", which nothing misses: 1") for document in report.documents] == [True, True]
    tight, calls = both.again(), report.spent.calls
    at_first = tight.answered
    with pytest.raises(BudgetStop, match=f"limits.calls = {calls - 1} is reached"):
        tight.night(asked, limits={"calls": calls - 1, "concurrency": 1})
    assert tight.answered - at_first == calls - 1


def test_rules_go_by_age_and_what_a_person_wrote_never() -> None:
    old, sharper = "- End every brief with a recommendation.", "- End every brief with a clear recommendation."
    first = revised((), f"{old}\n", "0001")
    second = revised(first, f"{old}\n- By hand.\n", "")
    third = revised(second, f"- Newer.\n{old}\n- By hand.\n", "0003")
    rules = revised(third, f"- Newest.\n- Newer.\n{sharper}\n- By hand.\n", "0004")
    assert [rule.text for rule in due(Standing(rules))] == [sharper, "- Newer.", "- Newest."]


def test_what_a_person_wrote_is_not_left_out_in_the_words_of_a_night_either() -> None:
    by_hand = revised((), "- Always answer in British English.\n", "")
    reworded = revised(by_hand, "- Always answer in British English, please.\n", "0005")
    assert active(reworded)[0].replaces
    assert due(Standing(reworded)) == ()
    again = revised(reworded, "- Always answer in proper British English, please.\n", "0006")
    assert due(Standing(again)) == ()


def test_each_rule_has_its_turn_and_what_a_person_put_back_has_none() -> None:
    rules = revised(revised((), "- One.\n", "0001"), "- One.\n- Two.\n- Three.\n", "0002")
    one, two, three = active(rules)
    tried = {one.id: 4, two.id: 3}
    assert due(Standing(rules, tried)) == (three, two, one)
    rules = (one, two, three.model_copy(update={"ablation": "none does worse without"}))
    assert due(Standing(rules, tried)) == (two, one)
    reworded = revised(rules, "- One!\n- Two.\n- Three.\n", "0005")
    assert [rule.text for rule in due(Standing(reworded, tried))] == ["- Two.", "- One!"]


def test_rules_take_turns_so_that_one_that_is_tried_keeps_no_other_from_its_trial(small: Small) -> None:
    tides = "- Never mention the tides."
    with_rules(small, "0000z", tides)
    for last, text in ((9, IDLE), (12, tides)):
        report = small.night({**RETIRE, "retire": 1})
        assert trials_of(small)[rule_of(small, text).id] == report.night
        small.write(last, last + 3)
    assert len(trials_of(small)) == 2


def test_leaving_a_rule_out_changes_nothing_else() -> None:
    head = "# By hand\n\n\n<!-- etude:begin learned -->\n"
    tail = "<!-- etude:end learned -->\n\nBelow.\n"
    rules = revised((), "- One.\n\n- Two.\n", "0001", {"- One.": Evidence(tasks=("m1",))})
    document = Skill(text=head + "- One.\n\n- Two.\n" + tail)
    shorter = left_out(document, rules, active(rules)[0].id)
    assert shorter is not None
    assert shorter.text == head + "- Two.\n" + tail
    assert left_out(document, rules, "00000000") is None
    assert left_out(Skill(text="# No block\n"), rules, active(rules)[0].id) is None


def test_trials_need_fresh_attempts() -> None:
    with pytest.raises(ValidationError, match="retire needs fresh attempts, and confirm_trials is 0"):
        SleepSection(retire=1, confirm_trials=0)
