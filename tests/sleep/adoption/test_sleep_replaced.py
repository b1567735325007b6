"""A rule that says the same in other words: known as the successor of the one before, and taken back to its text."""

from pathlib import Path

import pytest
from sleep_proposals import Project, offer, project

from etude.errors import InputError
from etude.sleep.adoption.adopt import adopt, kept_rules
from etude.sleep.adoption.revert import revert, revert_rule
from etude.sleep.adoption.rules import Evidence, active, lineage, render, revised, taken_back

OLD = "- Close every brief with a line that begins with 'Recommendation:'.\n"
NEW = "- Close every brief with a line that begins with 'Recommendation:' and gives a reason.\n"
OTHER = "- Cite your sources.\n"


def two_nights(tmp_path: Path) -> Project:
    """The second night sharpens the rule of the first, and adds one."""
    place = project(tmp_path)
    evidence = {OLD.strip(): Evidence(against="m1")}
    adopt(offer(place, [(place.memory, OLD)], night="n1", evidence=evidence), place.root, place.state)
    evidence = {NEW.strip(): Evidence(against="m2")}
    adopt(offer(place, [(place.memory, NEW + OTHER)], night="n2", evidence=evidence), place.root, place.state)
    return place


def test_a_rule_in_other_words_says_which_one_it_replaces_and_what_both_rest_on(tmp_path: Path) -> None:
    place = two_nights(tmp_path)
    rules = kept_rules(place.state).documents[str(place.memory)]
    sharpened, added, old = rules
    assert (sharpened.replaces, added.replaces) == (old.id, "")
    assert (old.status, old.retired, sharpened.night) == ("retired", "n2", "n2")
    assert [one.evidence.against for one in lineage(sharpened, rules)] == ["m2", "m1"]


def test_taking_back_a_rule_in_other_words_puts_its_earlier_text_in_its_place(tmp_path: Path) -> None:
    place = two_nights(tmp_path)
    sharpened, _, old = kept_rules(place.state).documents[str(place.memory)]
    with pytest.raises(InputError, match=f"no adopted document has a rule '{old.id}'"):
        revert_rule(old.id, place.state)
    report = revert_rule(sharpened.id, place.state)
    assert report.back == (OLD.strip(),)
    assert OLD + OTHER in place.memory.read_text()
    assert "gives a reason" not in place.memory.read_text()
    assert next(rule.id for rule in active(kept_rules(place.state).documents[str(place.memory)])) == old.id
    revert_rule(old.id, place.state)
    assert OLD not in place.memory.read_text()


def test_a_night_taken_back_after_other_changes_puts_earlier_texts_back(tmp_path: Path) -> None:
    place = two_nights(tmp_path)
    place.memory.write_text("Above.\n" + place.memory.read_text())
    report = revert("n2", place.state)
    assert (report.cut, report.back, report.not_put_back) == ((str(place.memory),), (OLD.strip(),), ())
    assert place.memory.read_text().startswith("Above.\n")
    assert OLD in place.memory.read_text()
    assert OTHER not in place.memory.read_text()


def test_a_rule_about_something_else_replaces_nothing(tmp_path: Path) -> None:
    before = revised((), OLD, "n1")
    rules = revised(before, OTHER, "n2")
    assert [(rule.text, rule.replaces) for rule in active(rules)] == [(OTHER.strip(), "")]
    assert active(taken_back(rules, [rules[0].id])) == ()


def test_each_rule_is_replaced_once_and_by_the_one_that_is_most_like_it() -> None:
    before = revised((), "- Always run the fast tests first.\n- Always run the slow tests last.\n", "n1")
    block = "- Always run the slow tests very last.\n- Always run the fast tests very first.\n"
    after = active(revised(before, block, "n2"))
    assert [rule.replaces for rule in after] == [before[1].id, before[0].id]
    taken = taken_back(revised(before, block, "n2"), [after[0].id])
    assert render(taken) == "- Always run the slow tests last.\n- Always run the fast tests very first.\n"
