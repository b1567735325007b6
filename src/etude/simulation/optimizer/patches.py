"""Reading edits that a prompt shows as JSON, and uniting them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from etude.simulation.optimizer.profiles import CHANGING, REMOVING, DraftEdit, Profile
from etude.simulation.optimizer.reading import Prompt
from etude.simulation.rules import TeachableRule, statements
from etude.simulation.schemas import SYNONYMS
from etude.simulation.text import squeeze, uniform

_LEDGER = re.compile(r"<(?P<tag>ledger|memory)\b[^>]*>.*?</(?P=tag)\b[^>]*>", re.DOTALL | re.IGNORECASE)


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
        groups.setdefault(_meaning(edit), []).append(edit)
    united = [_united(group) for group in groups.values()]
    kept = [edit for edit in united if not _outvoted(edit, united) and (edit.is_specific or _keeps(edit, profile))]
    return sorted(kept, key=lambda edit: -len(edit.cites))


def _meaning(edit: DraftEdit) -> object:
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
