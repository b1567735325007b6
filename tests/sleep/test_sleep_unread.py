"""Nights that nobody looks at: one proposal, no doubles, and each rule is taken, left and taken back on its own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz import fuzz
from scripted import task_file, written
from small_night import Small

from etude.prompts import Prompts
from etude.records import ChatRequest
from etude.sleep.adoption.adopt import adopt, kept_rules, reject
from etude.sleep.adoption.proposal import DocumentChange, read_proposal, stage
from etude.sleep.adoption.revert import revert_rule
from etude.sleep.adoption.rules import Rule, active
from etude.sleep.report import NightReport
from etude.sleep.tasks.mined import Quote, SessionRef
from etude.testing import ScriptedModel
from etude.workbench import Given

WORDS = {"yes": "Say yes.", "LOUD": "Say it loudly.", "EUR": "Name EUR."}


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path, n=0)


def tasks(small: Small, night: int, *words: str) -> dict[str, Any]:
    def task(number: int, split: str) -> dict[str, Any]:
        word = words[number % len(words)]
        intent = f"Question {split} {night} {number} about {word}."
        checks = [{"op": "contains", "arg": word}]
        return {"id": f"{split}{night}-{number}", "intent": intent, "split": split, "checks": checks}

    rows = [task(number, split) for split in ("train", "val") for number in range(2)]
    return {**task_file(small.root, rows), "skill": False, "memory": True, "confirm_trials": 2}


def given(said: Mapping[str, str]) -> Given:
    """A target that says a word for each of these rules that it reads, and an optimizer that writes the rule of each
    check that failed, in its own words, below what is there."""

    def answer(request: ChatRequest) -> str:
        read = request.messages[0].text.lower()
        return " ".join(["Well:", *(word for word, rule in WORDS.items() if rule.rstrip(".").lower() in read)])

    def improve(request: ChatRequest) -> str:
        asked, shown = request.messages[0].text, request.messages[-1].text
        new = [rule for word, rule in said.items() if f"about {word}." in shown]
        there = shown.partition("begin learned -->")[2].partition("<!-- etude:end")[0].strip()
        whole = [there] if there and Prompts()["return_document"] in asked else []
        return written(request, "\n".join([*whole, *new]))

    return Given(target=ScriptedModel(answer, name="x:target"), optimizer=ScriptedModel(improve, name="x:optimizer"))


def offered(report: NightReport) -> DocumentChange:
    (found,) = read_proposal(Path(report.proposal)).documents
    return found


def night(small: Small, number: int, word: str, rule: str) -> NightReport:
    return small.night(tasks(small, number, word), given=given({word: rule}))


def test_unread_nights_are_one_proposal_of_which_each_rule_is_taken_on_its_own(small: Small) -> None:
    memory = small.project / "CLAUDE.md"
    text = memory.read_bytes()
    reports = [night(small, at, word, f"- {rule}") for at, (word, rule) in enumerate(WORDS.items(), 1)]
    # One more night sees an old need again, and would put it in other words.
    reports.append(night(small, 4, "yes", "- Always say yes."))
    assert [one.status for one in reports] == ["proposed"] * 3 + ["no change"]
    added = offered(reports[2]).added
    assert [rule.text for rule in added] == [f"- {rule}" for rule in WORDS.values()]
    assert [rule.night for rule in added] == ["0001", "0002", "0003"]
    assert not [1 for a in added for b in added if a.id < b.id and fuzz.token_sort_ratio(a.text, b.text) > 80]
    assert all(rule.evidence.trial for rule in added)
    assert memory.read_bytes() == text

    folder, place = Path(reports[2].proposal), (small.project, small.state.folder)
    memory.write_bytes(text + b"By hand.\n")
    for rule in reversed(added):  # in any order
        adopt(folder, *place, rules=[rule.id])
    block = [line for line in memory.read_text().splitlines() if line.startswith("- ")]
    assert block == [rule.text for rule in added]
    revert_rule(added[1].id, small.state.folder)
    block = [line for line in memory.read_text().splitlines() if line.startswith("- ")]
    assert block == [rule.text for at, rule in enumerate(added) if at != 1]
    assert b"By hand." in memory.read_bytes()


def asked_for(report: NightReport, quote: Quote) -> None:
    """The first rule that a night proposes has words of a user, as if its sessions had held them."""
    proposal = read_proposal(Path(report.proposal))
    first, *others = proposal.documents[0].rules
    first = first.model_copy(update={"evidence": first.evidence.model_copy(update={"quotes": (quote,)})})
    document = proposal.documents[0].model_copy(update={"rules": (first, *others)})
    stage(Path(report.proposal).parent, proposal.model_copy(update={"documents": (document,)}))


def test_a_rule_in_better_words_takes_the_place_of_the_one_that_waits(small: Small) -> None:
    night(small, 1, "yes", "- Say yes.")
    found = night(small, 2, "LOUD", "- Say it loudly.")
    quote = Quote(text="say yes to me", session=SessionRef(source="codex", id="s1"))
    asked_for(found, quote)
    first, _ = offered(found).added
    shown: list[str] = []

    def reword(request: ChatRequest) -> str:
        better = "- Say yes. Name EUR."
        if Prompts()["sleep_wishes"] in request.messages[0].text:
            shown.append(request.messages[-1].text)
            return json.dumps({"asked_by": [], "wishes": []})
        return written(request, f"{better}\n- Say it loudly.\n").replace('"append"', '"replace"')

    models = Given(optimizer=ScriptedModel(reword, name="x:optimizer"))
    report = small.night(tasks(small, 3, "EUR"), given={**given({}), **models})
    assert report.status == "proposed"
    added = offered(report).added
    assert [rule.text for rule in added] == ["- Say yes. Name EUR.", "- Say it loudly."]
    assert added[0].replaces == first.id
    assert "say yes to me" in shown[0]
    assert added[0].evidence.quotes == ()  # they are looked at again, for its new words
    adopt(Path(report.proposal), small.project, small.state.folder)
    kept = active(kept_rules(small.state.folder).documents[str(small.project / "CLAUDE.md")])
    assert [rule.text for rule in kept] == [rule.text for rule in added]


def test_what_was_turned_down_is_not_proposed_again_in_nearly_the_same_words(small: Small) -> None:
    report = night(small, 1, "yes", "- Say yes.")
    (rule,) = offered(report).added
    reject(Path(report.proposal), small.state.folder, [rule.id])
    again = night(small, 2, "yes", "- say YES")
    assert again.status == "no change"
    assert 'rules left out, since they were turned down: "say YES"' in again.notes
    rules: tuple[Rule, ...] = kept_rules(small.state.folder).rejected
    assert [one.id for one in rules] == [rule.id]
