"""A key that stands in a document of the user stays there: no night writes it to its state, or takes it out."""

from pathlib import Path

import pytest
from small_night import Small
from test_sleep_carry import SLEEP, a_night
from test_sleep_consolidate import BLOCK, SKILL, VAL, Optimizer

from etude import Skill
from etude.sleep.adoption.proposal import read_proposal
from etude.sleep.improve.block import changed, with_changed
from etude.sleep.improve.changes import Known
from etude.sleep.improve.context import Documents

KEY = "abcd1234efgh5678"


@pytest.fixture(autouse=True)
def service_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", KEY)


def with_block(text: str) -> Skill:
    return SKILL.with_text(SKILL.text.replace(BLOCK.format(""), BLOCK.format(text)))


def test_a_key_beside_the_block_is_not_in_the_state_of_a_candidate_that_is_carried(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.skill.parent.mkdir(parents=True)
    small.skill.write_text(f"---\nname: learned\ndescription: Learnt rules.\n---\n\nThe service key is {KEY}.\n")
    report = small.night({"confirm_trials": 2})
    assert report.documents[0].carried
    files = [path for path in small.state.folder.rglob("*") if path.is_file()]
    assert {"known.json", "diagnostics.json"} <= {path.name for path in files}
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []

    small.write(5, 14)
    report = small.night({"confirm_trials": 2})
    assert (report.status, report.documents[0].origin) == ("proposed", 1)
    folder = Path(report.proposal)
    text = (folder / read_proposal(folder).items[0].file).read_text()
    assert f"The service key is {KEY}.\n" in text
    assert "Key Risks" in text


def test_a_carried_candidate_is_put_together_from_its_block_and_the_document_around_it(tmp_path: Path) -> None:
    first = a_night(tmp_path)
    assert first.carried is not None
    assert first.carried.text == "- Say yes.\n"
    second = a_night(tmp_path, Known(night=2, carried=first.carried), val=VAL)
    assert (second.status, second.after) == ("accepted", with_block("- Say yes.\n"))


def test_of_a_document_without_a_block_all_is_what_may_have_changed(tmp_path: Path) -> None:
    whole = Skill(name="learned", text=f"What was learned:\n\nThe key is {KEY}.\n")
    documents = Documents(skill=whole)
    first = a_night(tmp_path, documents=documents)
    assert first.carried is not None
    assert first.carried.text == first.after.text == "- Say yes.\n"
    second = a_night(tmp_path, Known(night=2, carried=first.carried), val=VAL, documents=documents)
    assert (second.status, second.after.text) == ("accepted", "- Say yes.\n")
    for document in (whole, SKILL, with_block("- One.\n")):
        assert with_changed(document, changed(document)) == document


def test_a_key_in_a_region_that_is_protected_stays_in_it(tmp_path: Path) -> None:
    mine = SKILL.with_text(f"{SKILL.text}\n<!-- etude:begin mine -->\nKey {KEY}.\n<!-- etude:end mine -->\n")
    change = a_night(tmp_path, documents=Documents(skill=mine), val=VAL, sleep={**SLEEP, "confirm_trials": 3})
    assert change.status == "accepted"
    assert change.after.text == mine.text.replace(BLOCK.format(""), BLOCK.format("- Say yes.\n"))


def test_a_block_that_only_lost_the_value_of_a_key_in_the_run_folder_is_no_candidate(tmp_path: Path) -> None:
    documents = Documents(skill=with_block(f"- The key is {KEY}.\n"))
    change = a_night(tmp_path, documents=documents, optimizer=Optimizer("Say no."))
    assert (change.status, change.after, change.confirmed) == ("rejected", documents.skill, None)
    assert change.reason == "candidate 0.0000 = current 0.0000"
