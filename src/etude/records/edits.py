"""Edits of a skill, and what became of each."""

from typing import Literal

from etude.records.record import Record, digest
from etude.records.skills import Skill

PatchOp = Literal["append", "insert_after", "replace", "delete"]
SuggestionOp = Literal["add", "remove", "merge", "reorganise", "compress", "clarify"]
EditOp = Literal[PatchOp, SuggestionOp, "rewrite", "remind"]


class Edit(Record):
    """One operation on the skill, with the evidence for it.

    Which operations there are depends on the update mode: edits in place (`PatchOp`), suggestions for the call that
    rewrites the document (`SuggestionOp`), a whole document (`rewrite`), a reminder for the appendix (`remind`).
    """

    op: EditOp
    target: str = ""
    """The anchor: text of the skill that `insert_after`, `replace` and `delete` refer to. Of a suggestion: the part
    of the skill that is meant."""
    content: str = ""
    """The text to write; of a suggestion, what to do."""
    reason: str = ""
    cites: tuple[str, ...] = ()
    """Ids of the attempts this edit answers, each checked by code."""

    @property
    def id(self) -> str:
        """8 hex digits over what the edit does; reasons and evidence do not count."""
        return digest([self.op, self.target, self.content])[:8]

    @property
    def support(self) -> int:
        """How many attempts stand behind the edit."""
        return len(self.cites)


EditFate = Literal["applied", "repaired", "missed", "protected", "no_change", "dropped"]


class AppliedEdit(Record):
    """An edit and what became of it.

    applied    done; the anchor was found
    repaired   done; a repair call found the anchor that was meant
    missed     not done: the anchor is absent or ambiguous
    protected  not done: the anchor lies in or touches a protected region or the front matter
    no_change  not done: it would leave the text as it is, has nothing to add, or the rewrite left it out
    dropped    tested and left out again: no failure was seen to need it
    """

    edit: Edit
    fate: EditFate
    detail: str = ""


class LeftOut(Record):
    """An edit that is not tried."""

    edit: Edit
    why: str
    faulty: bool = False
    """The optimizer is to blame: the edit copies a task, or names a place that there is not."""


class Patch(Record):
    """Edits that belong together."""

    edits: tuple[Edit, ...] = ()
    reasoning: str = ""


class Candidate(Record):
    """A skill text that asks to be accepted."""

    skill: Skill
    origin: Literal["step", "slow_update", "tidy"]
    edits: tuple[AppliedEdit, ...] = ()
    unusable: str = ""
    """Why it is not worth evaluating, as far as that is known when it is made; else empty."""
