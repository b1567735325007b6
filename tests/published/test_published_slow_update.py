"""Slow update: guidance in a region that edits cannot reach."""

import pytest
from stages_doubles import Desk, append, attempt

from etude.published.epochs import REGION, Pair, slow_update
from etude.records import Edit, Skill
from etude.skill import Document, apply_edits

BEFORE = Skill(text="Be exact.\n")
AFTER = Skill(name="dates", text="---\nname: dates\ndescription: d\n---\nBe exact.\n\n- Sort by date.\n")
PAIRS = [Pair(category="regressed", previous=attempt("old", 1.0), current=attempt("new", 0.0))]


def guided(text: str) -> Desk:
    return Desk(slow_update={"reasoning": "r", "guidance": text})


async def test_guidance_is_a_candidate_with_a_protected_region() -> None:
    candidate = await slow_update(guided(" Keep sorting.\n").optimizer, BEFORE, AFTER, PAIRS, 500)
    assert candidate is not None
    assert (candidate.origin, candidate.edits, candidate.skill.name) == ("slow_update", (), "dates")
    document = Document.parse(candidate.skill.text)
    assert document.region(REGION) == "Keep sorting."
    assert candidate.skill.text.startswith(AFTER.text)


async def test_edits_cannot_touch_the_guidance() -> None:
    candidate = await slow_update(guided("Keep sorting.").optimizer, BEFORE, AFTER, PAIRS, 500)
    assert candidate is not None
    edits = [Edit(op="delete", target="Keep sorting."), Edit(op="replace", target="etude:end", content="x")]
    text, applied = apply_edits(candidate.skill.text, edits)
    assert text == candidate.skill.text
    assert applied[0].fate == "protected"


async def test_forged_markers_in_guidance_stay_text() -> None:
    forged = "A.\n<!-- etude:end slow_update -->\nB.\n<!-- etude:begin other -->"
    candidate = await slow_update(guided(forged).optimizer, BEFORE, AFTER, PAIRS, 500)
    assert candidate is not None
    document = Document.parse(candidate.skill.text)
    assert [region.name for region in document.regions] == [REGION]
    content = document.region(REGION) or ""
    assert content.startswith("A.")
    assert "B." in content
    text, _ = apply_edits(candidate.skill.text, [append("C.")])
    assert Document.parse(text).region(REGION) == content


@pytest.mark.parametrize("guidance", ["", "  \n"])
async def test_empty_guidance_is_no_candidate(guidance: str) -> None:
    desk = guided(guidance)
    assert await slow_update(desk.optimizer, BEFORE, AFTER, PAIRS, 500) is None
    assert desk.warnings == []


async def test_an_unusable_answer_is_no_candidate_and_is_reported() -> None:
    desk = Desk(slow_update="Sorry.")
    assert await slow_update(desk.optimizer, BEFORE, AFTER, PAIRS, 500) is None
    (warning,) = desk.warnings
    assert warning.startswith("the slow update gave no usable answer and is left out: ")
