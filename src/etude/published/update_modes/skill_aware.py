"""`patch` with `skill_aware`: edits for what the skill lacks, and the appendix for what the agent ignored: short
reminders of rules that stand in the skill, in a protected region.

The region may be the user's own, with text of theirs in it. Only the list under the heading `## Reminders` belongs to
the appendix: every other line stays as it is.

Source of the idea: EmbodiSkill (arXiv 2605.10332), as taken up by SkillOpt.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from etude.published.asking import ask_or_warn
from etude.published.update_modes.forms import RoutedReply
from etude.published.update_modes.patch import InPlace
from etude.records import AppliedEdit, Candidate, Edit, Skill
from etude.skill import Document
from etude.skill.lines import lines_of
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.proposals import Forms, PatchReply, folded
from etude.stages.shared.render import fence

REGION = "appendix"
"""Name of the protected region."""

_HEADING = "## Reminders"


class _Consolidated(ReplyForm):
    reasoning: str
    reminders: tuple[str, ...]


class _Parts(NamedTuple):
    """The lines of the region."""

    above: list[str]
    reminders: list[str]
    below: list[str]


def reminders_in(document: Document) -> tuple[str, ...]:
    """The reminders of the appendix, in their order."""
    return tuple(line[2:].strip() for line in _parts(document).reminders)


def add_reminders(document: Document, edits: Sequence[Edit]) -> tuple[Document, tuple[AppliedEdit, ...]]:
    """Put the reminders at the end of the appendix, except those that differ from one there in case, blanks and
    punctuation only."""
    lines = list(reminders_in(document))
    items = (line.text for line in lines_of(document.region(REGION) or ""))
    known = {folded(_one_line(line)) for line in items if line.startswith("- ")}
    applied: list[AppliedEdit] = []
    for edit in edits:
        line = _one_line(edit.content)
        if not line or folded(line) in known:
            detail = "the appendix already says so" if line else "the reminder is empty"
            applied.append(AppliedEdit(edit=edit, fate="no_change", detail=detail))
        else:
            known.add(folded(line))
            lines.append(line)
            applied.append(AppliedEdit(edit=edit, fate="applied"))
    if any(result.fate == "applied" for result in applied):
        document = _with(document, lines)
    return document, tuple(applied)


async def consolidate(optimizer: Optimizer, document: Document) -> tuple[Document, tuple[AppliedEdit, ...]]:
    """Ask for a shorter list of reminders, as one more edit. One that is not shorter, or empty, changes nothing."""
    before = reminders_in(document)
    shown = "\n".join(f"- {line}" for line in before)
    sections = [f"# Appendix\n\n{fence('appendix', shown)}"]
    otherwise = "the appendix was not consolidated, there was no usable answer"
    reply = await ask_or_warn(optimizer, "consolidate_appendix", sections, _Consolidated, otherwise)
    if reply is None:
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


def _with(document: Document, reminders: Sequence[str]) -> Document:
    above, _, below = _parts(document)
    gap_above = [""] if above and above[-1].strip() else []
    gap_below = [""] if below and below[0].strip() else []
    ours = [_HEADING, "", *(f"- {line}" for line in reminders)]
    return document.with_region(REGION, "\n".join([*above, *gap_above, *ours, *gap_below, *below]))


def _parts(document: Document) -> _Parts:
    """The list under the last heading of the appendix, and what stands around it. An item that continues in a second
    line is none of ours, which have one."""
    lines = [line.text for line in lines_of(document.region(REGION) or "")]
    heading = max((index for index, line in enumerate(lines) if line.rstrip() == _HEADING), default=None)
    if heading is None:
        return _Parts(lines, [], [])
    start = heading + 1
    while start < len(lines) and not lines[start].strip():
        start += 1
    stop = start
    while stop < len(lines) and lines[stop].startswith("- "):
        stop += 1
    if start < stop < len(lines) and lines[stop].strip():
        stop -= 1
    return _Parts(lines[:heading], lines[start:stop], lines[stop:])


def _one_line(text: str) -> str:
    """The reminder without line ends and list mark."""
    return re.sub(r"^[-*+](\s|$)", "", " ".join(text.split()))


class SkillAware(InPlace):
    """Edits in place, and reminders in the appendix; both are part of one candidate.

    Args:
        repair: as in `InPlace`.
        limit: most reminders before they are consolidated; 0 never consolidates.
    """

    forms: ClassVar[Forms] = Forms(RoutedReply, PatchReply, PatchReply)

    def __init__(self, *, repair: bool, limit: int) -> None:
        super().__init__(repair=repair)
        self._limit = limit

    async def apply(self, optimizer: Optimizer, skill: Skill, edits: Sequence[Edit]) -> Candidate:
        candidate = await super().apply(optimizer, skill, [edit for edit in edits if edit.op != "remind"])
        document = Document.parse(candidate.skill.text)
        document, reminded = add_reminders(document, [edit for edit in edits if edit.op == "remind"])
        fates = (*candidate.edits, *reminded)
        if 0 < self._limit < len(reminders_in(document)):
            document, compressed = await consolidate(optimizer, document)
            fates += compressed
        return candidate.model_copy(update={"skill": skill.with_text(document.text), "edits": fates})
