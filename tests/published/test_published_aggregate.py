"""Aggregate: duplicates are merged by code, the rest by the optimizer, and support is counted by code."""

import re

from stages_doubles import Desk, append, edit_row, patch_reply

from etude.prompts import Prompts
from etude.published import aggregate as stage
from etude.published.update_modes.forms import DocumentReply, SuggestionsReply
from etude.records import ChatRequest, Edit, Patch, Skill

SKILL = Skill(text="Be exact.\n")
TWO = 2

TOPICS = (
    "Sort by date.",
    "Round to cents.",
    "Name the unit.",
    "Quote the source.",
    "Trim blanks.",
    "Use the last row.",
)


def patches(count: int, *, start: int = 0) -> list[Patch]:
    """Patches of one edit each, all about different things."""
    return [Patch(edits=(append(TOPICS[start + i], f"a{start + i}"),)) for i in range(count)]


def contents(patch: Patch) -> list[str]:
    return [edit.content for edit in patch.edits]


def joined(request: ChatRequest) -> object:
    """The answer that keeps all edits that were shown."""
    rows = re.findall(r'"content": "(.*?)",\n\s*"reason": "",\n\s*"cites": \[\s*"(.*?)"', request.messages[1].text)
    return patch_reply(*(edit_row(content, cite) for content, cite in rows))


async def there(patch: Patch) -> Patch:
    return patch


async def aggregate(optimizer, skill, patches, *more) -> Patch:
    """The stage, with patches that are there already."""
    failures, successes = ([there(patch) for patch in side] for side in patches)
    return await stage.aggregate(optimizer, skill, (failures, successes), *more)


async def test_an_answer_that_cannot_be_used_falls_back_to_the_united_edits_and_is_reported() -> None:
    desk = Desk(merge_failures="Sorry.", merge_successes=joined, merge_final="Sorry.")
    merged = await aggregate(desk.optimizer, SKILL, (patches(2), patches(2, start=2)), TWO)
    assert contents(merged) == list(TOPICS[:4])
    assert [edit.support for edit in merged.edits] == [1] * 4
    assert len(desk.warnings) == 2
    assert all("gave no usable answer and was done by code" in warning for warning in desk.warnings)


async def test_a_side_that_is_alone_needs_no_last_merge() -> None:
    for sides in ((patches(1), []), ([], patches(1))):
        assert contents(await aggregate(Desk().optimizer, SKILL, sides, TWO)) == [TOPICS[0]]


async def test_a_merged_edit_without_citations_rests_on_all_that_was_merged() -> None:
    reply = patch_reply(edit_row("Sort by date, then round to cents."), edit_row("Round.", "a1", "made-up"))
    merged = await aggregate(Desk(merge_failures=reply).optimizer, SKILL, (patches(2), []), TWO)
    assert {edit.content: edit.cites for edit in merged.edits} == {
        "Sort by date, then round to cents.": ("a0", "a1"),
        "Round.": ("a1",),
    }


def suggestion(content: str, *cites: str) -> Edit:
    return Edit(op="add", content=content, cites=cites)


async def test_a_merge_of_suggestions_returns_suggestions() -> None:
    desk = Desk(merge_failures={"reasoning": "r", "suggestions": [edit_row("Both.", "a", "b", op="merge")]})
    given = [Patch(edits=(suggestion("One.", "a"),)), Patch(edits=(suggestion("Two.", "b"),))]
    merged = await aggregate(desk.optimizer, SKILL, (given, []), TWO, SuggestionsReply)
    assert [(edit.op, edit.content, edit.cites) for edit in merged.edits] == [("merge", "Both.", ("a", "b"))]
    assert desk.asked[0][1].messages[0].text.endswith(Prompts()["return_suggestions"])


def rewrite(content: str, *cites: str) -> Patch:
    return Patch(edits=(Edit(op="rewrite", content=content, cites=cites),))


async def test_documents_that_cannot_be_merged_stay_beside_each_other() -> None:
    desk = Desk(merge_failures="Sorry.")
    merged = await aggregate(
        desk.optimizer, SKILL, ([rewrite("One.", "a"), rewrite("Two.", "b")], []), TWO, DocumentReply
    )
    assert contents(merged) == ["One.", "Two."]
