"""Taking a night or a rule back."""

from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sleep_proposals import HAND, Project, both, ids, offer, project

from etude.errors import InputError
from etude.skill import Document
from etude.sleep.adoption.adopt import adopt, kept_rules, receipts
from etude.sleep.adoption.revert import Reverted, revert, revert_rule

BLOCK = "\n<!-- etude:begin learned -->\n- Learned.\n<!-- etude:end learned -->\n"


def adopted(tmp_path: Path, memory: str | None = HAND) -> Project:
    place = project(tmp_path, memory)
    adopt(both(place), place.root, place.state)
    return place


def active_ids(place: Project, path: Path) -> list[str]:
    return [rule.id for rule in kept_rules(place.state).documents[str(path)] if rule.status == "active"]


def test_a_night_taken_back_leaves_every_byte_mode_and_folder_as_it_was(tmp_path: Path) -> None:
    place = project(tmp_path)
    before = place.files()
    adopt(both(place), place.root, place.state)
    assert revert("n1", place.state) == Reverted(restored=(str(place.memory), str(place.skill)))
    assert place.files() == before
    assert [receipt.reverted for receipt in receipts(place.state)] == [True]
    assert [rule.status for rule in kept_rules(place.state).documents[str(place.memory)]] == ["retired"]


@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=30).map(lambda data: data.decode("utf-8", "ignore")), st.text("ab -#`\n\r", max_size=40))
def test_any_document_comes_back_byte_for_byte(tmp_path_factory, head: str, tail: str) -> None:
    text = f"x{head}{tail}"
    place = project(tmp_path_factory.mktemp("any"), text)
    before = place.files()
    adopt(both(place), place.root, place.state)
    revert("n1", place.state)
    assert place.files() == before


def test_a_night_can_be_adopted_again_after_it_was_taken_back(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    revert("n1", place.state)
    receipt = adopt(place.state / "nights/n1/proposal", place.root, place.state)
    assert receipt.number == 2
    revert("n1", place.state)
    assert place.memory.read_text() == HAND


def test_a_folder_with_other_files_stays(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    (place.skill.parent / "notes.md").write_text("mine")
    revert("n1", place.state)
    assert sorted(path.name for path in place.skill.parent.iterdir()) == ["notes.md"]


def test_of_a_document_changed_since_only_the_rules_are_taken_out(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    place.memory.write_text("Above.\n" + place.memory.read_text() + "Below.\n")
    report = revert("n1", place.state)
    assert report == Reverted(restored=(str(place.skill),), cut=(str(place.memory),))
    assert place.memory.read_text() == "Above.\n" + HAND + "\nBelow.\n"
    assert active_ids(place, place.memory) == []


@pytest.mark.parametrize(
    ("now", "left", "gone"),
    [("- Learned.\n- Mine.", "- Mine.", ()), ("- Learned, and fixed.", "- Learned, and fixed.", ("- Learned.",))],
    ids=["another rule", "a changed rule"],
)
def test_what_a_person_wrote_into_the_block_stays(tmp_path: Path, now: str, left: str, gone: tuple[str, ...]) -> None:
    place = adopted(tmp_path)
    place.memory.write_text(place.memory.read_text().replace("- Learned.", now))
    assert revert("n1", place.state).gone == gone
    assert Document.parse(place.memory.read_text()).learned == left


def test_a_block_that_was_there_before_stays_when_its_last_rule_goes(tmp_path: Path) -> None:
    place = project(tmp_path, HAND + "\n<!-- etude:begin learned -->\n<!-- etude:end learned -->\n")
    adopt(offer(place, [(place.memory, "- a\n")]), place.root, place.state)
    place.memory.write_text(place.memory.read_text() + "Below.\n")
    revert("n1", place.state)
    assert Document.parse(place.memory.read_text()).learned == ""


@pytest.mark.parametrize("text", ["No block any more.\n", None])
def test_a_document_without_the_block_or_the_file_has_nothing_to_take_out(tmp_path: Path, text: str | None) -> None:
    place = adopted(tmp_path)
    place.memory.unlink()
    if text is not None:
        place.memory.write_text(text)
    report = revert("n1", place.state)
    assert (report.cut, report.gone) == ((), ("- Learned.",))
    assert (place.memory.read_text() if place.memory.exists() else None) == text


def test_one_rule_is_taken_out_by_its_id(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    first, second = active_ids(place, place.skill)
    assert revert_rule(second, place.state) == Reverted(cut=(str(place.skill),))
    assert Document.parse(place.skill.read_text()).learned == "- Learned."
    assert active_ids(place, place.skill) == [first]
    assert place.memory.read_text() == HAND + BLOCK
    with pytest.raises(InputError, match=f"no adopted document has a rule '{second}'"):
        revert_rule(second, place.state)
    revert("n1", place.state)
    assert not place.skill.exists()


def test_a_rule_that_a_person_takes_out_and_writes_again_stays_when_its_night_is_taken_back(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    _, second = active_ids(place, place.skill)
    revert_rule(second, place.state)
    place.skill.write_text(
        place.skill.read_text().replace("- Learned.\n", "- Learned.\n- Of the skill.\n") + "Mine.\n"
    )
    assert revert("n1", place.state).gone == ()
    assert Document.parse(place.skill.read_text()).learned == "- Of the skill."


def test_a_rule_that_a_night_wrote_into_two_documents_is_taken_out_of_both(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    (rule,) = active_ids(place, place.memory)
    assert revert_rule(rule, place.state) == Reverted(restored=(str(place.memory),), cut=(str(place.skill),))
    assert place.memory.read_text() == HAND
    assert Document.parse(place.skill.read_text()).learned == "- Of the skill."


@pytest.mark.parametrize("text", [HAND, HAND + BLOCK.replace("Learned.", "Learned, and fixed by hand.")])
def test_a_rule_that_is_not_in_its_document_is_named_and_neither_text_nor_record_change(
    tmp_path: Path, text: str
) -> None:
    place = adopted(tmp_path)
    (rule,) = active_ids(place, place.memory)
    place.memory.write_text(text)
    report = revert_rule(rule, place.state)
    assert report == Reverted(cut=(str(place.skill),), gone=("- Learned.",))
    assert place.memory.read_text() == text
    assert active_ids(place, place.memory) == [rule]
    assert rule not in active_ids(place, place.skill)


def test_a_night_that_is_not_adopted_is_refused_and_the_others_named(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    with pytest.raises(InputError, match="nothing of night 'n2' is adopted") as error:
        revert("n2", place.state)
    assert error.value.hint == "adopted: n1"
    revert("n1", place.state)
    with pytest.raises(InputError) as error:
        revert("n1", place.state)
    assert error.value.hint == "no night is adopted"


@pytest.mark.parametrize("data", [b"\xff", b"<!-- etude:begin learned -->\n"])
def test_a_document_that_can_no_longer_be_read_is_left_alone(tmp_path: Path, data: bytes) -> None:
    place = adopted(tmp_path)
    place.memory.write_bytes(data)
    before = place.files()
    with pytest.raises(InputError, match=r"CLAUDE.md'"):
        revert("n1", place.state)
    assert place.files() == before


def test_a_file_that_became_a_link_or_a_folder_is_left_alone(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    text = place.memory.read_text()
    place.memory.unlink()
    place.memory.mkdir()
    with pytest.raises(InputError, match="is not a regular file"):
        revert("n1", place.state)
    place.memory.rmdir()
    (place.root / "other.md").write_text(text)
    place.memory.symlink_to("other.md")
    with pytest.raises(InputError, match="is a link now"):
        revert("n1", place.state)
    assert (place.root / "other.md").read_text() == text


def test_a_file_that_cannot_be_read_any_more_is_named(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    (receipt,) = receipts(place.state)
    text = receipt.place(place.state).read_text().replace("CLAUDE.md", f"{'a' * 300}.md")
    receipt.place(place.state).write_text(text)
    with pytest.raises(InputError, match=r"a.md' cannot be read: .*too long"):
        revert("n1", place.state)
    assert place.skill.exists()


def test_a_document_that_was_put_back_by_hand_and_adopted_again_is_restored_once(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    place.memory.write_text(HAND)
    proposal = place.state / "nights/n1/proposal"
    adopt(proposal, place.root, place.state, rules=ids(proposal, "CLAUDE.md"))
    assert revert("n1", place.state).restored == (str(place.memory), str(place.skill))
    assert place.memory.read_text() == HAND


def test_a_file_whose_mode_was_changed_since_keeps_that_mode(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    place.memory.chmod(0o600)
    revert("n1", place.state)
    assert (place.memory.read_text(), place.memory.stat().st_mode & 0o777) == (HAND, 0o600)


NIGHTS = {
    "n1": "- Write dates as ISO.\n- Two spaces here.\n",
    "n2": "- Write dates as ISO.\n- Two spaces here.\n- Name the unit always.\n",
    "n3": "- Write dates as ISO 8601.\n- Name the unit always.\n- Close with a list.\n",
}


def adopted_nights(tmp_path: Path, nights: dict[str, str], memory: str | None = HAND) -> Project:
    place = project(tmp_path, memory)
    for night, block in nights.items():
        adopt(offer(place, [(place.memory, block)], night=night), place.root, place.state)
    return place


@pytest.mark.parametrize("order", list(permutations(NIGHTS)))
def test_in_whatever_order_nights_are_taken_back_nothing_of_them_is_left(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    place, left = adopted_nights(tmp_path, NIGHTS), list(order)
    while left:
        night = left.pop(0)
        if night == "n1" and "n3" in left:  # the third one has other words for a rule of the first
            with pytest.raises(InputError, match="`etude sleep revert n3` first"):
                revert(night, place.state)
            left.append(night)
        else:
            revert(night, place.state)
    assert place.memory.read_text() == HAND
    assert active_ids(place, place.memory) == []


@pytest.mark.parametrize("memory", [HAND, None])
@pytest.mark.parametrize("later", ["- Write dates as ISO 8601.\n", "- Name units too please.\n"])
def test_a_night_whose_rule_another_one_replaced_is_taken_back_after_that_one(
    tmp_path: Path, memory: str | None, later: str
) -> None:
    place = adopted_nights(tmp_path, {"n1": "- Write dates as ISO.\n", "n2": later}, memory)
    with pytest.raises(InputError, match="night n2 put other rules in the place of some of night n1"):
        revert("n1", place.state)
    revert("n2", place.state)
    revert("n1", place.state)
    assert (place.memory.read_text() if place.memory.exists() else None) == memory


def test_the_rules_of_a_night_can_be_taken_out_one_by_one(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    before, first, second = place.files(), *active_ids(place, place.skill)
    revert_rule(first, place.state)
    assert revert_rule(second, place.state).restored == (str(place.skill),)
    assert set(place.files()) < set(before)
    assert not (place.root / ".claude").exists()


def test_a_file_that_an_adoption_made_stays_while_it_holds_more_than_that(tmp_path: Path) -> None:
    place = adopted(tmp_path)
    place.skill.write_text(place.skill.read_text() + "Mine.\n")
    revert("n1", place.state)
    assert place.skill.read_text().endswith("---\n\nMine.\n")


@pytest.mark.parametrize("text", ["# Mine\nno newline", "# Mine\r\nno newline", "# Mine\n\n\n", "", "\ufeff"])
def test_with_its_last_rule_a_document_is_byte_for_byte_what_it_was(tmp_path: Path, text: str) -> None:
    place = project(tmp_path, text)
    before = place.files()
    adopt(both(place), place.root, place.state)
    (rule,) = active_ids(place, place.memory)
    report = revert_rule(rule, place.state)
    assert str(place.memory) in report.restored
    assert place.memory.read_bytes() == text.encode()
    revert("n1", place.state)
    assert place.files() == before


def test_a_night_stands_while_a_rule_that_it_took_out_is_not_back(tmp_path: Path) -> None:
    nights = {"n1": "- Write dates as ISO.\n- Two spaces here.\n", "n2": "- Two spaces here.\n- Close with a list.\n"}
    place = adopted_nights(tmp_path, nights)
    _, later = active_ids(place, place.memory)
    revert_rule(later, place.state)
    assert revert("n2", place.state).not_put_back == ("- Write dates as ISO.",)
