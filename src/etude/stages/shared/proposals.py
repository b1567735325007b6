"""What reflect and merge calls return. Every form ends as edits; this one has edits in place."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

from pydantic import BeforeValidator, model_validator

from etude.records import Edit, PatchOp
from etude.stages.shared.optimizer import ReplyForm

Source = Literal["failures", "successes"]


def _listed(cites: Any) -> Any:
    """Ids as a list, where they came as text, or as nothing."""
    cites = () if cites is None else cites
    return [name for name in re.split(r"[\s,;]+", cites) if name] if isinstance(cites, str) else cites


def _text(value: Any) -> Any:
    return "" if value is None else value


Cites = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Text = Annotated[str, BeforeValidator(_text)]
"""A text that may be missing."""


class Proposals(ReplyForm):
    """The answer of a reflect or merge call."""

    noun: ClassVar[str] = "edits"
    """What the proposals are called when the optimizer is told how many there may be."""
    whole: ClassVar[bool] = False
    """A proposal is the whole answer, so that a merged one rests on all the evidence of those it was made from."""

    reasoning: Text = ""

    @abstractmethod
    def proposed(self) -> tuple[Edit, ...]:
        """What is to be changed, with the citations as the optimizer wrote them."""

    def reminded(self) -> tuple[Edit, ...]:
        """What the agent is to be reminded of, likewise."""
        return ()

    def lapses(self) -> tuple[str, ...]:
        """Ids of failures that the skill is not to blame for."""
        return ()


class EditReply(ReplyForm):
    """An edit as the optimizer writes it. What its operation does not use may be missing, and does not count."""

    op: PatchOp
    target: str
    content: str
    reason: Text = ""
    cites: Cites = ()

    @model_validator(mode="before")
    @classmethod
    def _with_unused(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        given = cast(dict[str, Any], row)
        unused = {"append": "target", "delete": "content"}.get(str(given.get("op")))
        return given if unused is None else {**given, unused: ""}

    def edit(self) -> Edit:
        """The edit."""
        return Edit.model_validate(self.model_dump())


class PatchReply(Proposals):
    """Edits in place."""

    returns: ClassVar[str] = "return_edits"

    edits: tuple[EditReply, ...]

    def proposed(self) -> tuple[Edit, ...]:
        return tuple(row.edit() for row in self.edits)


class Forms(NamedTuple):
    """The forms of one way to update."""

    failures: type[Proposals]
    """Of an analysis of failures."""
    successes: type[Proposals]
    """Of an analysis of successes."""
    merged: type[Proposals]
    """Of a merge."""

    def of(self, source: Source) -> type[Proposals]:
        """Of an analysis."""
        return self.failures if source == "failures" else self.successes


def valid_edits(edits: Sequence[Edit], citable: Sequence[str]) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
    """The edits that cite at least one attempt they may cite, and the others. Other ids are dropped."""
    kept: list[Edit] = []
    dropped: list[Edit] = []
    known = set(citable)
    for edit in edits:
        cites = tuple(dict.fromkeys(cite for cite in edit.cites if cite in known))
        (kept if cites else dropped).append(edit.model_copy(update={"cites": cites}))
    return tuple(kept), tuple(dropped)


def folded(text: str) -> str:
    """Text without case, blanks, list marks, emphasis and a final stop."""
    return " ".join(re.sub(r"^\s*[-*+]\s|\*\*|__", " ", text.casefold()).split()).rstrip(".! ")


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
