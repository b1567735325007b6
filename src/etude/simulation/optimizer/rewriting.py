"""Rewriting a skill: from edits, from suggestions, from several documents."""

import re
from collections.abc import Sequence

from etude.simulation.optimizer.patches import shown_edits, unite
from etude.simulation.optimizer.profiles import CHANGING, REMOVING, DraftEdit, Profile
from etude.simulation.optimizer.reading import Prompt
from etude.simulation.rules import TeachableRule, statements
from etude.simulation.text import learned_blocks, squeeze

_EMPTY_ITEM = re.compile(r"^[ \t]*[-*+][ \t]*\n", re.MULTILINE)


def write(prompt: Prompt, profile: Profile) -> dict[str, object]:
    """A whole document: what several documents come to, or the skill with all suggestions carried out."""
    shown = shown_edits(prompt)
    documents = [edit for edit in shown if edit.op == "rewrite"]
    cites = list(dict.fromkeys(name for edit in shown for name in edit.cites))
    if documents:
        text = _combined(prompt.skill, [edit.content for edit in documents], prompt.rules)
        return {"reasoning": f"Combined {len(documents)} documents.", "skill": text, "cites": cites}
    text = rewritten(prompt.skill, unite(shown, profile))
    return {"reasoning": f"Carried out {len(shown)} suggestions.", "skill": text, "cites": cites}


def rewritten(skill: str, proposals: Sequence[DraftEdit]) -> str:
    """The skill with the proposals carried out; what has no place goes to the end. Of a skill with a block of learned
    rules nothing else changes."""
    blocks = learned_blocks(skill)
    if blocks:
        start, end = blocks[-1]
        inside = rewritten(skill[start:end], proposals)
        return skill[:start] + (inside if inside.strip() else "") + skill[end:]
    text = skill.rstrip("\n") + "\n"
    for proposal in proposals:
        if proposal.op in (*CHANGING, *REMOVING) and proposal.target and proposal.target in text:
            content = "" if proposal.op in REMOVING else proposal.content
            text = _EMPTY_ITEM.sub("", text.replace(proposal.target, content, 1))
        elif proposal.op not in REMOVING and squeeze(proposal.content) not in squeeze(text):
            text += f"{proposal.content}\n"
    return text.strip("\n") + "\n"


def _combined(skill: str, documents: Sequence[str], rules: Sequence[TeachableRule]) -> str:
    """The lines that every document kept, and those that any of them added, each statement once. Of a skill with a
    block of learned rules nothing else changes."""
    blocks = learned_blocks(skill)
    if blocks:
        start, end = blocks[-1]
        inside = _combined(skill[start:end], [_learned(document) for document in documents], rules)
        return skill[:start] + (inside if inside.strip() else "") + skill[end:]
    versions = [document.splitlines() for document in documents]
    before = skill.splitlines()
    kept = [line for line in before if not line.strip() or all(line in version for version in versions)]
    said = {_meaning(line, rules) for line in kept}
    for version in versions:
        for line in version:
            if line.strip() and line not in before and _meaning(line, rules) not in said:
                said.add(_meaning(line, rules))
                kept.append(line)
    return "\n".join(kept).strip("\n") + "\n"


def _learned(document: str) -> str:
    """What a document has as learned rules: its block, or all of it where it is one."""
    blocks = learned_blocks(document)
    return document[blocks[-1][0] : blocks[-1][1]] if blocks else document


def _meaning(line: str, rules: Sequence[TeachableRule]) -> object:
    says = frozenset((one.rule, one.sign) for one in statements(line, rules))
    return says or squeeze(line).casefold()
