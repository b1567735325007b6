"""What a person decides on the page goes the way of the command line, rule by rule."""

import json
import re
from pathlib import Path

import pytest
from sleep_proposals import Project, offer, project
from small_night import Small
from view_asking import ask

from etude.errors import DataError, InputError
from etude.sleep.adoption.rules import Answers, Evidence, Trial
from etude.sleep.review import Reviews
from etude.sleep.state import SleepState
from etude.view.server import serving
from etude.view.shelf import Shelf

TRIED = Evidence(
    trial=Trial(tasks=4, without=1, with_it=4, missed=("t",), example=Answers(asked="a", before="b", after="c"))
)


@pytest.fixture
def place(tmp_path: Path) -> Project:
    """A project after a night that proposes three rules for its memory file."""
    place = project(tmp_path)
    offer(place, [(place.memory, "- One.\n- Two.\n- Three.\n")], night="0001", evidence={"- One.": TRIED})
    return place


def reviews(place: Project) -> Reviews:
    return Reviews(place.root, SleepState(place.state))


def test_a_night_has_the_words_of_its_report(place: Project) -> None:
    shown = reviews(place).night(1)
    assert [(rule.text, rule.document, rule.state) for rule in shown.rules] == [
        (f"- {text}.", "CLAUDE.md", "waits") for text in ("One", "Two", "Three")
    ]
    first = shown.rules[0]
    assert (first.tasks, first.without, first.with_it) == (4, 1, 4)
    assert "Without this rule 1 of 4 tasks came out right, with it 4 of 4." in first.lines
    assert [line.night for line in reviews(place).nights()] == [1]
    with pytest.raises(DataError):
        reviews(place).night(2)


def told(folder: Path) -> tuple[str, list[tuple[str, str, str, list[str]]], list[str]]:
    """What `report.md` says: its first line; each rule with its text, its id, what stands in brackets after it
    and the lines below it; and the statistics."""
    blocks = re.findall(r"^```text\n(.*?)\n```$", (folder / "report.md").read_text(), re.MULTILINE | re.DOTALL)
    first, *parts = blocks[0].split("\n\n")
    rules: list[tuple[str, str, str, list[str]]] = []
    for part in parts:
        head, *lines = part.splitlines()
        found = re.fullmatch(r"\d+\. (.*)  \[(\w+)\](?: \((.*)\))?", head)
        assert found is not None
        rules.append((found[1], found[2], found[3] or "", [line.removeprefix("   ") for line in lines]))
    return first, rules, blocks[1].splitlines() if len(blocks) > 1 else []


def test_the_screen_of_a_night_agrees_with_the_file_of_its_report(tmp_path: Path) -> None:
    small = Small(tmp_path, n=8)
    for _ in range(3):  # one finds a rule, one leaves it waiting, one has nothing to read
        small.night({"max_tasks": 4, "memory": True})
        last = small.state.numbers()[-1]
        shown = Reviews(small.project, small.state).night(last)
        first, rules, statistics = told(small.state.night(last))
        new = [rule for rule in shown.rules if rule.since is None]
        if shown.rules:
            assert f"proposes {len(new)} new rule" in first
            assert ("of earlier nights." in first) == (len(new) < len(shown.rules))
        else:
            assert first == f"Night {last} proposes nothing: {shown.reason}."
        assert [
            (rule.text.removeprefix("- "), rule.id, f"since night {rule.since}" if rule.since else "", [*rule.lines])
            for rule in shown.rules
        ] == rules
        assert all(rule.state == "waits" for rule in shown.rules)
        for rule, (_, _, _, lines) in zip(shown.rules, rules, strict=True):
            right = re.search(
                r"Without this rule (\d+) of (\d+) tasks came out right, with it (\d+) of", "\n".join(lines)
            )
            assert right is not None
            assert [rule.without, rule.tasks, rule.with_it] == [int(number) for number in right.groups()]
            assert f"about {rule.tokens} tokens" in lines[-1]
            assert f"It goes into {rule.document}" in lines[-1]
        assert [*shown.statistics] == statistics
    assert [line.status for line in Reviews(small.project, small.state).nights()] == [
        "nothing to do",
        "proposed",
        "proposed",
    ]


def test_each_rule_is_taken_in_its_own_words_or_turned_down(place: Project) -> None:
    one, two, three = (rule.id for rule in reviews(place).night(1).rules)
    body = {"what": "take", "rules": [two], "words": {two: "- Two, in other words."}}
    decisions = ({"what": "take", "rules": [one]}, body, {"what": "reject", "rules": [three]})
    with serving(Shelf([], place.root, reviews=reviews(place))) as server:
        stamp = reviews(place).stamp()
        for each in decisions:
            assert ask(server, "act/nights/1", "POST", json.dumps(each), x_etude_token=server.token)[0] == 200
        assert reviews(place).stamp() != stamp
        status, _, told = ask(server, "act/nights/1", "POST", json.dumps(decisions[0]), x_etude_token=server.token)
        assert (status, "is adopted already" in json.loads(told)["error"]) == (409, True)
        for wrong in ("", "{}", '{"what": "take", "rules": []}', '{"what": "burn", "rules": ["a"]}'):
            assert ask(server, "act/nights/1", "POST", wrong, x_etude_token=server.token)[0] == 400
        assert ask(server, "act/nights/1", "POST", json.dumps(body))[0] == 403
    text = place.memory.read_text()
    assert "- One.\n- Two, in other words." in text
    assert "Three" not in text
    assert text.startswith("# House rules")
    states = [rule.state for rule in reviews(place).night(1).rules]
    assert (states[0], states[2]) == ("adopted", "rejected")


def test_a_rule_that_is_not_there_changes_nothing(place: Project) -> None:
    before = place.files()
    with pytest.raises(InputError):
        reviews(place).decide(1, ["nothing"], "take")
    assert place.files() == before
