"""Edits that say the same are one edit."""

from collections.abc import Sequence

from etude.records import Edit
from etude.stages.shared.proposals import folded


def unite(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Merge edits that differ in case, blanks and punctuation only: the first stays, citations are united."""
    united: list[Edit] = []
    for edit in edits:
        twin = next((i for i, other in enumerate(united) if same(edit, other)), None)
        if twin is None:
            united.append(edit)
        else:
            united[twin] = citing(united[twin], edit.cites)
    return tuple(united)


def same(one: Edit, other: Edit) -> bool:
    """The same text. Likeness would not do: "use" and "do not use" are nearly alike, and so are "x > 5", "x < 5"."""
    return (one.op, one.target) == (other.op, other.target) and folded(one.content) == folded(other.content)


def citing(edit: Edit, more: Sequence[str]) -> Edit:
    """The edit with further citations."""
    return edit.model_copy(update={"cites": tuple(dict.fromkeys((*edit.cites, *more)))})
