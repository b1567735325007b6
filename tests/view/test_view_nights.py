"""What a person decides on the page goes the way of the command line, rule by rule."""

import json
from pathlib import Path

import pytest
from sleep_proposals import Project, offer, project
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
