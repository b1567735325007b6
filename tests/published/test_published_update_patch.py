"""Mode `patch`: every edit gets a fate, and what missed is asked about once."""

import pytest
from stages_doubles import Desk, append

from etude.published.update_modes.patch import InPlace
from etude.records import Candidate, Edit, Skill

TEXT = "Be exact.\n\n- Sort by date.\n- Round to cents.\n"
GUARDED = TEXT + "\n<!-- etude:begin slow_update -->\nKeep this.\n<!-- etude:end slow_update -->\n"
REPLACE = Edit(op="replace", target="- Order by time of birth.", content="- Sort by age.", cites=("a",))


def fates(candidate: Candidate) -> list[str]:
    return [applied.fate for applied in candidate.edits]


async def made(desk: Desk, *edits: Edit, text: str = TEXT, repair: bool = True) -> Candidate:
    return await InPlace(repair=repair).apply(desk.optimizer, Skill(name="s", text=text), edits)


async def test_edits_are_made_one_after_the_other() -> None:
    candidate = await made(
        Desk(),
        append("- Trim blanks."),
        Edit(op="replace", target="Trim blanks.", content="Trim all blanks."),
        Edit(op="insert_after", target="- Sort by date.", content="- Newest first."),
        Edit(op="delete", target="- Round to cents."),
    )
    assert candidate.skill == Skill(
        name="s", text="Be exact.\n\n- Sort by date.\n- Newest first.\n- Trim all blanks.\n"
    )
    assert (candidate.origin, fates(candidate)) == ("step", ["applied"] * 4)


async def test_what_is_not_done_says_why() -> None:
    candidate = await made(
        Desk(), append("Be exact."), Edit(op="delete", target="Keep this."), REPLACE, text=GUARDED, repair=False
    )
    assert fates(candidate) == ["no_change", "protected", "missed"]
    assert candidate.skill.text == GUARDED
    assert all(applied.detail for applied in candidate.edits)


async def test_files_beside_the_skill_travel_along() -> None:
    skill = Skill.model_validate({"text": TEXT, "files": {"scripts/run.py": {"data": b"pass"}}})
    candidate = await InPlace(repair=True).apply(Desk().optimizer, skill, [append("New.")])
    assert candidate.skill.files == skill.files


@pytest.mark.parametrize(
    "anchors",
    [
        [{"index": 0, "target": "- Not there either, whatever it says."}],
        [{"index": 0, "target": "Keep this."}],
        [{"index": 7, "target": "- Sort by date."}, {"index": -1, "target": "- Sort by date."}],
    ],
    ids=["absent", "protected", "no such edit"],
)
async def test_what_cannot_be_repaired_stays_missed_without_a_second_call(anchors: list[object]) -> None:
    desk = Desk(repair_anchors={"anchors": anchors})
    candidate = await made(desk, REPLACE, text=GUARDED)
    assert (fates(candidate), candidate.skill.text) == (["missed"], GUARDED)
    assert desk.prompts == ["repair_anchors"]


async def test_an_edit_is_repaired_once_however_often_it_is_answered() -> None:
    anchors = [{"index": 0, "target": "- Sort by date."}, {"index": 0, "target": "- Round to cents."}]
    candidate = await made(Desk(repair_anchors={"anchors": anchors}), REPLACE)
    assert candidate.skill.text == "Be exact.\n\n- Sort by date.\n- Sort by age.\n"


async def test_an_unusable_repair_leaves_the_edits_missed_and_is_reported() -> None:
    desk = Desk(repair_anchors="Sorry.")
    candidate = await made(desk, REPLACE, append("New."))
    assert fates(candidate) == ["missed", "applied"]
    assert "New." in candidate.skill.text
    (warning,) = desk.warnings
    assert warning.startswith("a repair of 1 anchors gave no usable answer: ")
