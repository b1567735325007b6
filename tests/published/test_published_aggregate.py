"""Aggregate: duplicates are merged by code, the rest by the optimizer, and support is counted by code."""

import asyncio
import re

import pytest
from stages_doubles import Desk, append, edit_row, patch_reply

from etude.errors import OutageStop, TransientError
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


async def test_a_group_is_merged_while_another_one_is_still_being_read() -> None:
    read, order = asyncio.Event(), []

    async def late(patch: Patch) -> Patch:
        await read.wait()
        order.append("read")
        return patch

    def merging(request) -> dict:
        order.append("merged")
        read.set()
        return patch_reply(edit_row("merged", "a-0"))

    one, two, *others = patches(4)
    waiting = [there(one), there(two), *(late(patch) for patch in others)]
    desk = Desk(merge_failures=merging)
    await stage.aggregate(desk.optimizer, SKILL, (waiting, []), TWO)
    assert order[:2] == ["merged", "read"]


async def test_no_patches_make_an_empty_one() -> None:
    assert await aggregate(Desk().optimizer, SKILL, ([], []), TWO) == Patch()


async def test_patches_without_edits_count_for_nothing() -> None:
    patch = Patch(edits=(append("Sort.", "a"),), reasoning="r")
    assert await aggregate(Desk().optimizer, SKILL, ([Patch(), patch], [Patch()]), TWO) == patch


@pytest.mark.parametrize("side", [0, 1])
async def test_one_patch_needs_no_call(side: int) -> None:
    (patch,) = patches(1)
    both = ([patch], []) if side == 0 else ([], [patch])
    assert await aggregate(Desk().optimizer, SKILL, both, TWO) == patch


async def test_duplicates_are_merged_without_a_call_and_their_citations_united() -> None:
    same = [Patch(edits=(append("Sort by date.", "a"),)), Patch(edits=(append("sort  by date", "b", "a"),))]
    merged = await aggregate(Desk().optimizer, SKILL, (same, []), TWO)
    assert [(edit.content, edit.cites) for edit in merged.edits] == [("Sort by date.", ("a", "b"))]


async def test_different_patches_are_merged_by_one_call_for_each_group() -> None:
    desk = Desk(merge_failures=joined)
    merged = await aggregate(desk.optimizer, SKILL, (patches(3), []), 8)
    assert desk.prompts == ["merge_failures"]
    assert contents(merged) == list(TOPICS[:3])
    assert desk.shown().index("Be exact.") < desk.shown().index("# Patches") < desk.shown().index(TOPICS[0])


async def test_many_patches_are_merged_in_levels() -> None:
    desk = Desk(merge_failures=joined)
    merged = await aggregate(desk.optimizer, SKILL, (patches(5), []), TWO)
    # 5 patches: two groups of two and one left over, then 3 -> 2 -> 1.
    assert desk.prompts == ["merge_failures"] * 4
    assert contents(merged) == list(TOPICS[:5])
    assert [edit.cites for edit in merged.edits] == [(f"a{i}",) for i in range(5)]


async def test_successes_are_merged_with_their_own_prompt_and_both_sides_at_the_end_failures_first() -> None:
    desk = Desk(merge_failures=joined, merge_successes=joined, merge_final=joined)
    merged = await aggregate(desk.optimizer, SKILL, (patches(2), patches(2, start=2)), TWO)
    assert sorted(desk.prompts[:2]) == ["merge_failures", "merge_successes"]
    assert desk.prompts[2:] == ["merge_final"]
    text = desk.shown(2)
    places = [text.index(part) for part in ("First patch: from failures", TOPICS[0], "Second patch", TOPICS[2])]
    assert places == sorted(places)
    assert contents(merged) == list(TOPICS[:4])


async def test_levels_of_one_side_do_not_wait_for_the_other() -> None:
    both_asked = asyncio.Event()
    desk = Desk(merge_failures=joined, merge_successes=joined, merge_final=joined)

    class Meeting:
        """Answers once both sides have asked."""

        async def ask(self, messages, reply_type):
            asked.append(messages[0].text)
            if len(asked) == 2:
                both_asked.set()
            await asyncio.wait_for(both_asked.wait(), 30)
            return await desk.optimizer.model.ask(messages, reply_type)

    asked: list[str] = []
    optimizer = type(desk.optimizer)(Meeting(), desk.optimizer.prompts, desk.events.append)
    await aggregate(optimizer, SKILL, (patches(2), patches(2, start=2)), TWO)
    assert len(asked) == 3


async def test_support_is_what_the_proposals_cited_and_not_what_the_answer_claims() -> None:
    reply = patch_reply(edit_row(TOPICS[0], "a0", "made-up"))
    merged = await aggregate(Desk(merge_failures=reply).optimizer, SKILL, (patches(2), []), TWO)
    assert [(edit.content, edit.cites) for edit in merged.edits] == [(TOPICS[0], ("a0",))]


async def test_an_edit_that_comes_through_unchanged_keeps_its_citations_though_the_answer_forgets_them() -> None:
    reply = patch_reply(edit_row(TOPICS[0]), edit_row("Sort by date, and round.", "a1"))
    merged = await aggregate(Desk(merge_failures=reply).optimizer, SKILL, (patches(2), []), TWO)
    assert [edit.cites for edit in merged.edits] == [("a0",), ("a1",)]


async def test_an_answer_that_repeats_itself_is_united() -> None:
    reply = patch_reply(edit_row("Sort by date and round.", "a0"), edit_row("sort by date and round", "a1"))
    merged = await aggregate(Desk(merge_failures=reply).optimizer, SKILL, (patches(2), []), TWO)
    assert [(edit.content, edit.cites) for edit in merged.edits] == [("Sort by date and round.", ("a0", "a1"))]


async def test_an_answer_that_cannot_be_used_falls_back_to_the_united_edits_and_is_reported() -> None:
    desk = Desk(merge_failures="Sorry.", merge_successes=joined, merge_final="Sorry.")
    merged = await aggregate(desk.optimizer, SKILL, (patches(2), patches(2, start=2)), TWO)
    assert contents(merged) == list(TOPICS[:4])
    assert [edit.support for edit in merged.edits] == [1] * 4
    assert len(desk.warnings) == 2
    assert all("gave no usable answer and was done by code" in warning for warning in desk.warnings)


async def test_a_failed_merge_call_stops_the_run() -> None:
    with pytest.raises(OutageStop, match=r"^optimizer: 503"):
        await aggregate(Desk(merge_failures=TransientError("503")).optimizer, SKILL, (patches(2), []), TWO)


async def test_a_merged_edit_without_citations_rests_on_all_that_was_merged() -> None:
    reply = patch_reply(edit_row("Sort by date, then round to cents."), edit_row("Round.", "a1", "made-up"))
    merged = await aggregate(Desk(merge_failures=reply).optimizer, SKILL, (patches(2), []), TWO)
    assert {edit.content: edit.cites for edit in merged.edits} == {
        "Sort by date, then round to cents.": ("a0", "a1"),
        "Round.": ("a1",),
    }


async def test_what_an_operation_does_not_use_is_no_difference_when_citations_are_credited() -> None:
    delete = Edit(op="delete", target="Be exact.", cites=("a",))
    given = [Patch(edits=(delete,)), Patch(edits=(append("Sort.", "b"),))]
    reply = patch_reply(
        edit_row("(gone)", op="delete", target="Be exact."), edit_row("SORT", op="append", target="at the end")
    )
    merged = await aggregate(Desk(merge_failures=reply).optimizer, SKILL, (given, []), TWO)
    assert [(edit.op, edit.cites) for edit in merged.edits] == [("delete", ("a",)), ("append", ("b",))]


async def test_duplicates_within_one_patch_are_merged() -> None:
    patch = Patch(edits=(append("Sort by date.", "a"), append("sort by date", "b")))
    merged = await aggregate(Desk().optimizer, SKILL, ([patch], []), TWO)
    assert [(edit.content, edit.cites) for edit in merged.edits] == [("Sort by date.", ("a", "b"))]


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


async def test_a_merged_document_rests_on_the_evidence_of_all_that_it_was_merged_from() -> None:
    desk = Desk(merge_failures={"reasoning": "r", "document": "Both.", "cites": ["b", "made-up"]})
    merged = await aggregate(
        desk.optimizer, SKILL, ([rewrite("One.", "a"), rewrite("Two.", "b")], []), TWO, DocumentReply
    )
    assert [(edit.op, edit.content, edit.cites) for edit in merged.edits] == [("rewrite", "Both.", ("b", "a"))]


async def test_documents_that_cannot_be_merged_stay_beside_each_other() -> None:
    desk = Desk(merge_failures="Sorry.")
    merged = await aggregate(
        desk.optimizer, SKILL, ([rewrite("One.", "a"), rewrite("Two.", "b")], []), TWO, DocumentReply
    )
    assert contents(merged) == ["One.", "Two."]
