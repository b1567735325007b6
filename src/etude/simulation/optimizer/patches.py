"""Reading edits that a prompt shows as JSON, and uniting them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from etude.simulation.optimizer.profiles import DraftEdit, Profile
from etude.simulation.optimizer.reading import Prompt
from etude.simulation.rules import TeachableRule, statements
from etude.simulation.schemas import SYNONYMS
from etude.simulation.text import squeeze, uniform

REMOVING = ("delete", "remove")
CHANGING = ("replace", "clarify", "merge", "reorganise", "compress")
"""Operations that put something in place of their target."""


@dataclass(frozen=True)
class ShownEdit:
    """An edit in a prompt. `index` is None where edits are not numbered."""

    proposal: DraftEdit
    index: int | None
    says: frozenset[tuple[str, int]]
    """(rule, 1 or -1) of what its content teaches."""

    @property
    def is_specific(self) -> bool:
        """It says something about a rule, or takes something away."""
        return bool(self.says) or self.proposal.op in REMOVING


_LEDGER = re.compile(r"<(?P<tag>ledger|memory)\b[^>]*>.*?</(?P=tag)\b[^>]*>", re.DOTALL | re.IGNORECASE)


def shown_edits(prompt: Prompt) -> tuple[ShownEdit, ...]:
    """All JSON objects in a prompt that have an operation, in order, except those tried earlier."""
    text = _LEDGER.sub(" ", prompt.text)
    edits: list[ShownEdit] = []
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


def _edits_in(value: Any, rules: Sequence[TeachableRule], index: int | None = None) -> list[ShownEdit]:
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


def _shown(value: Mapping[str, Any], op: str, rules: Sequence[TeachableRule], index: int | None) -> ShownEdit:
    cites: Any = _get(value, "cites")
    known = [str(one) for one in cast(list[Any], cites)] if isinstance(cites, list) else []
    content = str(_get(value, "content") or "")
    proposal = DraftEdit(
        op, str(_get(value, "target") or ""), content, str(_get(value, "reason") or ""), tuple(known)
    )
    return ShownEdit(proposal, index, frozenset((one.rule, one.sign) for one in statements(content, rules)))


def unite(edits: Sequence[ShownEdit], profile: Profile) -> list[DraftEdit]:
    """Edits that say the same become one with all citations; of two that contradict each other the better supported
    one stays; advice that says nothing is mostly dropped."""
    groups: dict[object, list[ShownEdit]] = {}
    for edit in edits:
        groups.setdefault(_meaning(edit), []).append(edit)
    united = [_united(group) for group in groups.values()]
    kept = [edit for edit in united if not _outvoted(edit, united) and (edit.is_specific or _keeps(edit, profile))]
    return [edit.proposal for edit in sorted(kept, key=lambda edit: -len(edit.proposal.cites))]


def _meaning(edit: ShownEdit) -> object:
    if edit.says:
        return edit.says
    target = edit.proposal.target if edit.proposal.op in (*CHANGING, *REMOVING) else ""
    return squeeze(target).casefold(), squeeze(edit.proposal.content).casefold()


def _united(group: Sequence[ShownEdit]) -> ShownEdit:
    best = max(group, key=lambda edit: (edit.proposal.op in CHANGING, len(edit.proposal.cites)))
    cites = dict.fromkeys(one for edit in group for one in edit.proposal.cites)
    return replace(best, proposal=replace(best.proposal, cites=tuple(cites)))


def _outvoted(edit: ShownEdit, united: Sequence[ShownEdit]) -> bool:
    opposite = {(rule, -sign) for rule, sign in edit.says}
    rivals = [other for other in united if other is not edit and opposite & other.says]
    own = (len(edit.proposal.cites), sum(sign for _, sign in edit.says))
    return any((len(rival.proposal.cites), sum(sign for _, sign in rival.says)) > own for rival in rivals)


def _keeps(edit: ShownEdit, profile: Profile) -> bool:
    """A merger that often writes vague advice also keeps it."""
    return uniform("keeps", profile.name, squeeze(edit.proposal.content)) < profile.vague


def rank(edits: Sequence[ShownEdit]) -> list[int]:
    """Indices, specific and well supported edits first; an edit without a number counts by its place."""
    numbered = [(edit.index if edit.index is not None else place, edit) for place, edit in enumerate(edits)]
    numbered.sort(key=lambda pair: (not pair[1].is_specific, -len(pair[1].proposal.cites), pair[0]))
    return list(dict.fromkeys(index for index, _ in numbered))
