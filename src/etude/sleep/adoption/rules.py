"""The rules of a learned block as records. The document holds only their text; where a rule comes from stands here.

A rule is a list item of the top level with all that belongs to it (continuation lines, nested items, fenced code), or
a paragraph, a heading or a piece of fenced code that stands alone.
"""

from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal, Self

from pydantic import Field, model_validator
from rapidfuzz import fuzz

from etude.records import Record, digest
from etude.skill.anchors import LIST_MARK
from etude.skill.fences import Fences, closed
from etude.skill.lines import Line, lines_of
from etude.skill.markers import made_harmless, pretends

__all__ = [
    "BY_HAND",
    "Evidence",
    "Rule",
    "Rules",
    "ablated",
    "active",
    "lineage",
    "render",
    "revised",
    "rules_of",
    "said",
    "taken_back",
    "without",
]

BY_HAND = ""
"""The night of a rule that no night wrote."""
_SAME_RULE = 60
"""Likeness, of 100, from which a text in the place of another is the same rule in other words."""


class Evidence(Record):
    """What a rule rests on."""

    sessions: tuple[str, ...] = ()
    """Transcripts whose tasks showed the need, as `source:id`."""
    tasks: tuple[str, ...] = ()
    attempts: tuple[str, ...] = ()
    """Ids of the attempts that the edit cites."""
    note: str = ""
    """Why, in words: the reason of the edit, the change that was measured."""

    def joined(self, other: "Evidence") -> "Evidence":
        """Both, each id once."""
        notes = dict.fromkeys(note for note in (self.note, other.note) if note)
        return Evidence(
            sessions=tuple(dict.fromkeys(self.sessions + other.sessions)),
            tasks=tuple(dict.fromkeys(self.tasks + other.tasks)),
            attempts=tuple(dict.fromkeys(self.attempts + other.attempts)),
            note="\n".join(notes),
        )


class Rule(Record):
    """One rule of a document."""

    id: str
    """8 hex digits over the text and the night."""
    text: str
    """As it stands in the block, list mark too, without the line end after it."""
    night: str = BY_HAND
    """The night that wrote it; empty for one written by hand."""
    evidence: Evidence = Evidence()
    status: Literal["active", "retired"] = "active"
    retired: str = ""
    """The night that took it out; empty for a rule that was taken out by hand or is active."""
    ablation: str = ""
    """What was measured without it, where it was taken out because nothing missed it."""
    replaces: str = ""
    """Id of the rule whose text this one has in other words, in its place; empty for a rule that is new."""
    before: str = ""
    """Blank lines above the first rule of a block."""
    after: str = "\n"
    """The line end after the rule, and the blank lines below it."""

    @model_validator(mode="after")
    def _has_text(self) -> Self:
        if not self.text.strip() or (self.before + self.after).strip():
            raise ValueError("a rule has text, and only blank lines around it")
        return self


class Rules(Record):
    """The rules of documents, as they are kept in a file."""

    version: Literal[1] = 1
    documents: Mapping[str, tuple[Rule, ...]] = Field(default_factory=dict[str, tuple[Rule, ...]])
    """By the real path of the document."""


def said(text: str) -> str:
    """What two texts have in common that say the same: line ends, and blanks at the end of lines, do not count."""
    return "\n".join(line.text.rstrip() for line in lines_of(text)).strip("\n")


def rules_of(block: str) -> tuple[Rule, ...]:
    """The rules of a block's text, as if written by hand. `render(rules_of(block)) == block` for every block that
    has a rule, closes its code and has no line that pretends to be a marker."""
    return revised((), block, BY_HAND)


def revised(
    before: Sequence[Rule], block: str, night: str, evidence: Mapping[str, Evidence] | None = None
) -> tuple[Rule, ...]:
    """The rules after a night: those of `block` in their order, then the retired ones.

    A rule whose text is as before keeps its id, night and evidence. Any other is new and gets the evidence of the
    texts that it is or holds; where it has the place of a rule that is gone, and is like it, it says which one it
    replaces. What is no longer in the block is retired. With the night `BY_HAND` the rules are brought up to what a
    person has made of the block since.

    Args:
        block: the inside of the learned block.
        evidence: by the text of a rule, or a part of it.
    """
    left: dict[str, list[Rule]] = {}
    for rule in active(before):
        left.setdefault(said(rule.text), []).append(rule)
    found: list[Rule] = []
    ids = {rule.id for rule in before}
    by_text = {said(text): one for text, one in (evidence or {}).items()}
    for above, text, below in _pieces(block):
        known = left.get(said(text), [])
        if known:
            rule = known.pop(0).model_copy(update={"text": text, "before": above, "after": below})
        else:
            name = _free_id(text, night, ids)
            behind = _evidence(said(text), by_text)
            rule = Rule(id=name, text=text, night=night, evidence=behind, before=above, after=below)
            ids.add(name)
        found.append(rule)
    kept = {rule.id for rule in found}
    gone = [rule for rule in before if rule.id not in kept]
    return (*_replacing(active(before), found), *(_retired(rule, night) for rule in gone))


def lineage(rule: Rule, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rule, then the ones whose place it and its predecessors took, the latest first."""
    by_id = {one.id: one for one in rules}
    found = [rule]
    while (before := by_id.get(found[-1].replaces)) is not None and before not in found:
        found.append(before)
    return tuple(found)


def ablated(rules: Sequence[Rule], measured: Mapping[str, str]) -> tuple[Rule, ...]:
    """The rules, those that were taken out because nothing misses them with what was measured, by id."""
    return tuple(
        rule.model_copy(update={"ablation": measured[rule.id]})
        if rule.id in measured and rule.status == "retired"
        else rule
        for rule in rules
    )


def active(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Those that stand in the document."""
    return tuple(rule for rule in rules if rule.status == "active")


def render(rules: Sequence[Rule]) -> str:
    """The inside of a block with the active rules, in their order. No line of it can pass for a marker, and each rule
    closes the code it opens."""
    return "".join(rule.before + _safe(rule.text) + rule.after for rule in active(rules))


def without(rules: Sequence[Rule], gone: Sequence[str], night: str = BY_HAND) -> tuple[Rule, ...]:
    """The rules with those of the ids in `gone` retired. The blank lines below such a rule then stand below the one
    before it, as if the rule had never been put there."""
    kept: list[Rule] = []
    retired: list[Rule] = []
    head: str | None = None
    for rule in rules:
        if rule.id not in gone or rule.status == "retired":
            if head is not None and rule.status == "active":
                rule, head = rule.model_copy(update={"before": head}), None
            kept.append(rule)
            continue
        retired.append(_retired(rule, night))
        last = next((index for index in range(len(kept) - 1, -1, -1) if kept[index].status == "active"), None)
        if last is not None:
            kept[last] = kept[last].model_copy(update={"after": rule.after})
        elif head is None:
            head = rule.before
    return (*kept, *retired)


def taken_back(rules: Sequence[Rule], gone: Collection[str], dead: Collection[str] = frozenset()) -> tuple[Rule, ...]:
    """As `without`, but where a rule of an id in `gone` took the place of another, that one is there again: of its
    predecessors the latest that no night in `dead` wrote."""
    back: dict[str, Rule] = {}
    for rule in active(rules):
        earlier = lineage(rule, rules)[1:] if rule.id in gone else ()
        before = next((one for one in earlier if one.night not in dead), None)
        if before is not None and before.status == "retired":
            back[rule.id] = before
    returned = {rule.id for rule in back.values()}
    placed: list[Rule] = []
    for rule in rules:
        if rule.id in back:
            change = {"status": "active", "retired": "", "ablation": "", "before": rule.before, "after": rule.after}
            placed += [back[rule.id].model_copy(update=change), _retired(rule, BY_HAND)]
        elif rule.id not in returned:
            placed.append(rule)
    return without(placed, tuple(gone))


def _replacing(before: Sequence[Rule], found: Sequence[Rule]) -> list[Rule]:
    """The rules found, those that have the place of a like one that is gone with its id."""
    replaces: dict[str, str] = {}
    ids = [rule.id for rule in before], [rule.id for rule in found]
    for kind, first, last, start, stop in SequenceMatcher(None, *ids, autojunk=False).get_opcodes():
        pairs = [(old, new) for old in before[first:last] for new in found[start:stop]] if kind == "replace" else []
        likeness = {pair: fuzz.ratio(*(said(rule.text) for rule in pair)) for pair in pairs}
        for old, new in sorted(pairs, key=lambda pair: -likeness[pair]):
            free = new.id not in replaces and old.id not in replaces.values()
            if free and not new.replaces and likeness[old, new] >= _SAME_RULE:
                replaces[new.id] = old.id
    return [
        rule.model_copy(update={"replaces": replaces[rule.id]}) if rule.id in replaces else rule for rule in found
    ]


def _retired(rule: Rule, night: str) -> Rule:
    return rule if rule.status == "retired" else rule.model_copy(update={"status": "retired", "retired": night})


def _safe(text: str) -> str:
    lines = [(text[line.start : line.stop], line.text) for line in lines_of(text)]
    return closed("".join(made_harmless(whole) if pretends(line) else whole for whole, line in lines))


def _free_id(text: str, night: str, taken: set[str]) -> str:
    """Equal texts of one night are told apart by counting."""
    count, name = 1, digest([said(text), night])[:8]
    while name in taken:
        count += 1
        name = digest([said(text), night, count])[:8]
    return name


def _evidence(text: str, by_text: Mapping[str, Evidence]) -> Evidence:
    if text in by_text:
        return by_text[text]
    found = Evidence()
    for part, one in by_text.items():
        if part and (part in text or text in part):
            found = found.joined(one)
    return found


def _pieces(block: str) -> list[tuple[str, str, str]]:
    """(blank lines above, text of a rule, line end and blank lines below); only the first has lines above."""
    starts: list[Line] = []
    lasts: list[Line] = []
    walk = _Walk()
    for line in lines_of(block):
        if walk.begins(line.text):
            starts.append(line)
            lasts.append(line)
        elif walk.inside_code or line.text.strip():
            lasts[-1] = line
    stops = [line.start for line in starts[1:]] + [len(block)] * bool(starts)
    found: list[tuple[str, str, str]] = []
    for first, last, stop in zip(starts, lasts, stops, strict=True):
        end = last.start + len(last.text)
        above = "" if found else block[: first.start]
        found.append((above, block[first.start : end], block[end:stop]))
    return found


class _Walk:
    """Goes through a block line by line and knows where rules begin."""

    def __init__(self) -> None:
        self.inside_code = False
        """The last line belongs to fenced code."""
        self._fences = Fences()
        self._indent: int | None = None
        """How far the text of the present item is indented; None outside of lists."""
        self._blank = True
        """The last line was blank, or there was none, or it was a heading."""

    def begins(self, line: str) -> bool:
        was_open = bool(self._fences.fence)
        self.inside_code = self._fences.read(line)
        if was_open:
            self._blank = False
            return False
        if not line.strip():
            self._blank = True
            return False
        indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        blank, self._blank = self._blank, False
        mark = LIST_MARK.match(line)
        inner = self._indent is not None and indent >= min(self._indent, 2) and (indent >= self._indent or not mark)
        if mark and not inner:
            if self._indent is None and not blank and indent > 3:
                return False
            self._indent = len(mark[0].expandtabs(4))
            return True
        if inner:
            return False
        if line.lstrip().startswith("#") and indent <= 3:
            self._indent, self._blank = None, True
            return True
        if blank:
            self._indent = None
        return blank
