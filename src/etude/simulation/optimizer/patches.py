"""Edits that a prompt shows as JSON: read, united, and carried out."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from etude.simulation.optimizer.profiles import CHANGING, REMOVING, DraftEdit, Profile
from etude.simulation.optimizer.reading import Prompt
from etude.simulation.rules import TeachableRule, statements
from etude.simulation.schemas import SYNONYMS
from etude.simulation.text import element, learned_blocks, squeeze, uniform

_LEDGER = element("ledger|memory")


def shown_edits(prompt: Prompt) -> tuple[DraftEdit, ...]:
    """All JSON objects in a prompt that have an operation, in order, except those tried earlier."""
    text = _LEDGER.sub(" ", prompt.text)
    edits: list[DraftEdit] = []
    decoder = json.JSONDecoder()
    place = 0
    while (place := _next_start(text, place)) >= 0:
        try:
            value, place = decoder.raw_decode(text, place)
        except ValueError:
            place += 1
            continue
        edits.extend(_edits_in(value, prompt.rules))
    return tuple(edits)


def _next_start(text: str, place: int) -> int:
    starts = [found for found in (text.find("{", place), text.find("[", place)) if found >= 0]
    return min(starts, default=-1)


def _edits_in(value: Any, rules: Sequence[TeachableRule], index: int | None = None) -> list[DraftEdit]:
    if isinstance(value, list):
        return [edit for part in cast(list[Any], value) for edit in _edits_in(part, rules)]
    if not isinstance(value, Mapping):
        return []
    known = cast(Mapping[str, Any], value)
    number = _get(known, "index")
    index = number if isinstance(number, int) else index
    op = _get(known, "op")
    if isinstance(op, str) and "|" not in op and (_get(known, "content") or _get(known, "target")):
        return [_shown(known, op, rules, index)]
    return [edit for part in known.values() for edit in _edits_in(part, rules, index)]


def _get(value: Mapping[str, Any], name: str) -> Any:
    return next((value[key] for key in SYNONYMS[name] if key in value), None)


def _shown(value: Mapping[str, Any], op: str, rules: Sequence[TeachableRule], index: int | None) -> DraftEdit:
    cites: Any = _get(value, "cites")
    known = [str(one) for one in cast(list[Any], cites)] if isinstance(cites, list) else []
    content = str(_get(value, "content") or "")
    says = frozenset((one.rule, one.sign) for one in statements(content, rules))
    target, reason = (str(_get(value, name) or "") for name in ("target", "reason"))
    return DraftEdit(op, target, content, reason, tuple(known), index, says)


def unite(edits: Sequence[DraftEdit], profile: Profile) -> list[DraftEdit]:
    """Edits that say the same become one with all citations; of two that contradict each other the better supported
    one stays; advice that says nothing is mostly dropped."""
    groups: dict[object, list[DraftEdit]] = {}
    for edit in edits:
        groups.setdefault(_meaning_of(edit), []).append(edit)
    united = [_united(group) for group in groups.values()]
    kept = [edit for edit in united if not _outvoted(edit, united) and (edit.is_specific or _keeps(edit, profile))]
    return sorted(kept, key=lambda edit: -len(edit.cites))


def _meaning_of(edit: DraftEdit) -> object:
    if edit.says:
        return edit.says
    target = edit.target if edit.op in (*CHANGING, *REMOVING) else ""
    return squeeze(target).casefold(), squeeze(edit.content).casefold()


def _united(group: Sequence[DraftEdit]) -> DraftEdit:
    best = max(group, key=lambda edit: (edit.op in CHANGING, len(edit.cites)))
    cites = dict.fromkeys(one for edit in group for one in edit.cites)
    return replace(best, cites=tuple(cites))


def _outvoted(edit: DraftEdit, united: Sequence[DraftEdit]) -> bool:
    opposite = {(rule, -sign) for rule, sign in edit.says}
    rivals = [other for other in united if other is not edit and opposite & other.says]
    own = (len(edit.cites), sum(sign for _, sign in edit.says))
    return any((len(rival.cites), sum(sign for _, sign in rival.says)) > own for rival in rivals)


def _keeps(edit: DraftEdit, profile: Profile) -> bool:
    """A merger that often writes vague advice also keeps it."""
    return uniform("keeps", profile.name, squeeze(edit.content)) < profile.vague


def rank(edits: Sequence[DraftEdit]) -> list[int]:
    """Indices, specific and well supported edits first; an edit without a number counts by its place."""
    numbered = [(edit.index if edit.index is not None else place, edit) for place, edit in enumerate(edits)]
    numbered.sort(key=lambda pair: (not pair[1].is_specific, -len(pair[1].cites), pair[0]))
    return list(dict.fromkeys(index for index, _ in numbered))


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
