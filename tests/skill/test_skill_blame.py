"""Which change put a line there: every line has one origin, whatever edits, deletions and rewrites did."""

from hypothesis import given, settings
from hypothesis import strategies as st

from etude.records import AppliedEdit, Edit
from etude.skill.blame import INITIAL, Origin, blame, carried, texts_of
from etude.skill.edits import apply_edits

TEXT = "# Sums\n\n- Check the units.\n- Show the steps.\n"


def blamed(before: str, edits: list[Edit]) -> dict[str, Origin]:
    """The origin of each line that says something, after these edits in place."""
    after, fates = apply_edits(before, edits)
    origins = blame([INITIAL] * len(texts_of(before)), (before, after), fates, 0)
    return {line: origin for line, origin in zip(texts_of(after), origins, strict=True) if line}


def test_what_a_deletion_leaves_of_a_line_is_still_that_line() -> None:
    found = blamed("- Check the units. Show the steps.\n- Stay.\n", [Edit(op="delete", target=" Show the steps.")])
    assert found == {"- Check the units.": INITIAL, "- Stay.": INITIAL}


def test_a_rewrite_owns_its_new_lines_and_lines_that_it_moves_keep_their_origin() -> None:
    after = "# Sums\n\n- Show the steps.\n- Think twice.\n- Check the units.\n"
    rewrite = AppliedEdit(edit=Edit(op="rewrite", content=after), fate="applied")
    before = [INITIAL, INITIAL, Origin(0, 1), INITIAL]
    assert blame(before, (TEXT, after), [rewrite], 1) == [INITIAL, INITIAL, INITIAL, Origin(1, 0), Origin(0, 1)]


def test_lines_of_several_suggestions_belong_to_the_change_and_reminders_to_their_edit() -> None:
    suggestions = [AppliedEdit(edit=Edit(op="add", content=what), fate="applied") for what in ("carry", "round")]
    after = f"{TEXT}- Carry the one.\n"
    assert blame([INITIAL] * 4, (TEXT, after), suggestions, 2)[-1] == Origin(2)
    reminders = [AppliedEdit(edit=Edit(op="remind", content=what), fate="applied") for what in ("Round.", "Carry.")]
    region = (
        f"{TEXT}\n<!-- etude:begin appendix -->\n## Reminders\n\n- Round.\n- Carry.\n<!-- etude:end appendix -->\n"
    )
    origins = dict(zip(texts_of(region), blame([INITIAL] * 4, (TEXT, region), reminders, 3), strict=True))
    assert (origins["- Round."], origins["- Carry."]) == (Origin(3, 0), Origin(3, 1))
    assert origins["- Check the units."] == INITIAL


LINES = st.lists(st.sampled_from(["- a b", "- c d", "- e f", "", "# h"]), min_size=1, max_size=8)
EDITS = st.lists(
    st.builds(
        Edit,
        op=st.sampled_from(["append", "insert_after", "replace", "delete"]),
        target=st.sampled_from(["- a b", "c d", "- e f", "# h", "new"]),
        content=st.sampled_from(["- new 1", "- new 2\n- new 3", "# h"]),
    ),
    max_size=5,
)


@settings(max_examples=40, deadline=None)
@given(LINES, EDITS)
def test_every_line_has_one_origin_which_is_the_initial_skill_or_an_edit_that_was_made(lines, edits) -> None:
    before = "".join(f"{line}\n" for line in lines)
    after, fates = apply_edits(before, edits)
    origins = blame([INITIAL] * len(lines), (before, after), fates, 0)
    assert len(origins) == len(texts_of(after))
    for line, origin in zip(texts_of(after), origins, strict=True):
        if origin == INITIAL:
            assert not line or line in before
        else:
            assert origin.edit is not None
            made = fates[origin.edit]
            assert made.fate == "applied"
            assert made.edit.op != "delete"
            assert not line or {*line.split()} & {*made.edit.content.split()}


@settings(max_examples=40, deadline=None)
@given(LINES, LINES)
def test_lines_carry_their_marks_and_no_mark_comes_twice(before, after) -> None:
    found = carried(list(range(len(before))), before, after, -1)
    kept = [(mark, line) for mark, line in zip(found, after, strict=True) if mark >= 0]
    assert all(before[mark] == line for mark, line in kept)
    assert len({mark for mark, _ in kept}) == len(kept)
    for line in {*before} - {""}:
        assert sum(text == line for _, text in kept) == min(before.count(line), after.count(line))
