"""The appendix: short reminders of rules that stand in the skill and were ignored, in a protected region.

Source of the idea: EmbodiSkill (arXiv 2605.10332), as taken up by SkillOpt.
"""

import re
from collections.abc import Sequence

from skillgrad.errors import UnusableReply
from skillgrad.records import AppliedEdit, Edit
from skillgrad.skill import Document
from skillgrad.stages.optimizer import Optimizer, ReplyForm
from skillgrad.stages.proposals import folded
from skillgrad.stages.render import fence

__all__ = ["REGION", "add_reminders", "consolidate", "reminders_in"]

REGION = "appendix"
"""Name of the protected region."""

_HEADING = "## Reminders"


class _Consolidated(ReplyForm):
    reasoning: str
    reminders: tuple[str, ...]


def reminders_in(document: Document) -> tuple[str, ...]:
    """The reminders of the appendix, in their order."""
    lines = (document.region(REGION) or "").splitlines()
    return tuple(line[2:].strip() for line in lines if line.startswith("- "))


def add_reminders(document: Document, edits: Sequence[Edit]) -> tuple[Document, tuple[AppliedEdit, ...]]:
    """Put the reminders at the end of the appendix, but for those that differ from one there in case, blanks and
    punctuation only."""
    known = {folded(line): line for line in reminders_in(document)}
    applied: list[AppliedEdit] = []
    for edit in edits:
        line = _one_line(edit.content)
        if not line or folded(line) in known:
            detail = "the appendix already says so" if line else "the reminder is empty"
            applied.append(AppliedEdit(edit=edit, fate="no_change", detail=detail))
        else:
            known[folded(line)] = line
            applied.append(AppliedEdit(edit=edit, fate="applied"))
    if any(result.fate == "applied" for result in applied):
        document = _with(document, list(known.values()))
    return document, tuple(applied)


async def consolidate(optimizer: Optimizer, document: Document) -> tuple[Document, tuple[AppliedEdit, ...]]:
    """Ask for a shorter list of reminders, as one more edit. One that is not shorter, or empty, changes nothing."""
    before = reminders_in(document)
    shown = "\n".join(f"- {line}" for line in before)
    try:
        reply = await optimizer.ask(
            "consolidate_appendix", [f"# Appendix\n\n{fence('appendix', shown)}"], _Consolidated
        )
    except UnusableReply as error:
        optimizer.warn(f"the appendix was not consolidated, there was no usable answer: {error.message}")
        return document, ()
    different: dict[str, str] = {}
    for line in map(_one_line, reply.reminders):
        different.setdefault(folded(line), line)
    after = [line for line in different.values() if line]
    written = "\n".join(f"- {line}" for line in after)
    if not after or len(after) > len(before) or len(written) >= len(shown):
        optimizer.warn(f"the appendix keeps its {len(before)} reminders, the answer was no shorter list")
        return document, ()
    edit = Edit(op="compress", target=REGION, content=written, reason=reply.reasoning)
    detail = f"from {len(before)} to {len(after)} reminders"
    return _with(document, after), (AppliedEdit(edit=edit, fate="applied", detail=detail),)


def _with(document: Document, lines: Sequence[str]) -> Document:
    return document.with_region(REGION, "\n".join([_HEADING, "", *(f"- {line}" for line in lines)]))


def _one_line(text: str) -> str:
    """The reminder without line ends and list mark."""
    return re.sub(r"^[-*+](\s|$)", "", " ".join(text.split()))
