"""The rules of a learned block as records. The document holds only their text; where a rule comes from stands here.

A rule is a list item of the top level with all that belongs to it (continuation lines, nested items, fenced code), or
a paragraph, a heading or a piece of fenced code that stands alone.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from pydantic import Field
from rapidfuzz import fuzz

from etude.records import Record, digest
from etude.records.summary import ShipVerdict
from etude.skill import Document
from etude.skill.anchors import LIST_MARK
from etude.skill.lines import Fences, closed, lines_of
from etude.skill.markers import made_harmless, pretends
from etude.sleep.tasks.mined import Quote

BY_HAND = ""
"""The night of a rule that no night wrote."""
_SAME_RULE = 60
"""Likeness, of 100, from which a text in the place of another is the same rule in other words."""


class Answers(Record):
    """What was asked in one task, and two answers to it."""

    asked: str
    before: str
    after: str


class Trial(Record):
    """What was measured of one rule: fresh attempts with all new rules, and without this one."""

    tasks: int
    """With a score under both."""
    without: int
    """Tasks of which more than half of the attempts were right without the rule."""
    with_it: int
    """The same with it."""
    missed: tuple[str, ...] = ()
    """Tasks that do worse without it."""
    example: Answers | None = None
    """To a held-out task of these, under the old document and under the new one."""
    verdict: ShipVerdict | None = None
    """Whether fresh attempts settle that the document is better with all new rules of the night."""
    delivered: bool = False
    """The agent's own program had the documents where it will have them, a skill to open by itself."""


class Evidence(Record):
    """What a rule rests on."""

    quotes: tuple[Quote, ...] = ()
    """Words of users that ask for this rule."""
    overheard: Quote | None = None
    """What a tool, a page or the name of a file says that the rule has words of, where no user said them."""
    trial: Trial | None = None
    """None for a rule that was not tried on its own."""
    against: str = ""
    """A line of a document that it contradicts."""


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
    replaces: str = ""
    """Id of the rule whose text this one has in other words, in its place; empty for a rule that is new."""
    after: str = Field(default="\n", pattern=r"^\s*$")
    """The line end after the rule, and the blank lines below it."""

    def resting_on(self, **changes: object) -> "Rule":
        """With other evidence, where it changes."""
        return self.model_copy(update={"evidence": self.evidence.model_copy(update=changes)})


class Rules(Record):
    """The rules of documents, as they are kept in a file."""

    version: Literal[1] = 1
    documents: Mapping[str, tuple[Rule, ...]] = Field(default_factory=dict[str, tuple[Rule, ...]])
    """By the real path of the document."""
    rejected: tuple[Rule, ...] = ()
    """Changes that a person does not want, of all documents: new rules, and rules that are to stay."""

    @property
    def turned_down(self) -> tuple[Rule, ...]:
        """The new rules among them: none like them is proposed again."""
        return active(self.rejected)


def said(text: str) -> str:
    """What two texts have in common that say the same: line ends, and blanks at the end of lines, do not count."""
    return "\n".join(line.text.rstrip() for line in lines_of(text)).strip("\n")


def revised(before: Sequence[Rule], block: str, night: str) -> tuple[Rule, ...]:
    """The rules after a night, or after a person's changes (`BY_HAND`): those of `block` in their order, then the
    retired ones, which are no longer in it.

    A rule whose text is as before keeps its id, night and evidence, also where a person has put it back. Any other is
    new; where it is like a rule that is gone, it names that.
    """
    left: dict[str, list[Rule]] = {}
    gone = [rule for rule in before if rule.status == "retired" and night == BY_HAND]
    for rule in (*active(before), *gone):
        left.setdefault(said(rule.text), []).append(rule)
    found: list[Rule] = []
    ids = {rule.id for rule in before}
    for text, below in pieces(block):
        known = left.get(said(text), [])
        if known:
            old, back = known.pop(0), {"status": "active", "retired": ""}
            if night == BY_HAND:  # else a model wrote the block: what it has left as it was keeps its bytes
                back |= {"text": text, "after": below}
            elif _feeds(old.after) != _feeds(below):
                back["after"] = below
            rule = old.model_copy(update=back)
        else:
            name = _free_id(text, night, ids)
            rule = Rule(id=name, text=text, night=night, after=below)
            ids.add(name)
        found.append(rule)
    kept = {rule.id for rule in found}
    gone = [rule for rule in before if rule.id not in kept]
    placed = _replacing(active(gone), found, {rule.id for rule in before})
    return (*placed, *(retired_by(rule, night) for rule in gone))


def lineage(rule: Rule, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rule, then the ones whose place it and its predecessors took, the latest first."""
    by_id = {one.id: one for one in rules}
    found = [rule]
    while (before := by_id.get(found[-1].replaces)) is not None and before not in found:
        found.append(before)
    return tuple(found)


def active(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Those that stand in the document."""
    return tuple(rule for rule in rules if rule.status == "active")


def render(rules: Sequence[Rule]) -> str:
    """The inside of a block with the active rules, in their order. No line of it can pass for a marker, and each rule
    closes the code it opens."""
    return "".join(_safe(rule.text) + rule.after for rule in active(rules))


def block_of(text: str) -> str:
    """The inside of the learned block of a document, with its last line end; empty where there is no block."""
    span = Document.parse(text).learned_span
    return "" if span is None else text[slice(*span)]


def rules_in(text: str, known: Sequence[Rule] = (), night: str = BY_HAND) -> tuple[Rule, ...]:
    """The rules in the learned block of a document, as `revised`."""
    return revised(known, block_of(text), night)


def with_rules(text: str, rules: Sequence[Rule]) -> str:
    """A document that has a learned block with these rules in it."""
    return with_block(text, render(rules))


def with_block(text: str, block: str) -> str:
    """A document that has a learned block with `block` inside of it. Nothing else changes."""
    span = Document.parse(text).learned_span
    assert span is not None
    return text[: span[0]] + block + text[span[1] :]


def without(rules: Sequence[Rule], gone: Collection[str], night: str = BY_HAND) -> tuple[Rule, ...]:
    """The rules with those of the ids in `gone` retired. The blank lines below such a rule then stand below the one
    before it, as if the rule had never been put there."""
    kept: list[Rule] = []
    closed_up = False
    for rule in active(rules):
        if rule.id in gone:
            kept[-1:] = [one.model_copy(update={"after": rule.after}) for one in kept[-1:]]
        elif kept and closed_up:
            kept[-1:] = [apart(kept[-1], rule), rule]
        else:
            kept.append(rule)
        closed_up = rule.id in gone
    return (*kept, *(retired_by(rule, night) for rule in rules if rule.status == "retired" or rule.id in gone))


def taken_back(rules: Sequence[Rule], gone: Collection[str]) -> tuple[Rule, ...]:
    """As `without`, but where a rule of an id in `gone` took the place of another, that one is there again."""
    placed: list[Rule] = []
    out = [rule for rule in rules if rule.status == "retired"]
    for rule in active(rules):
        before = next((one for one in out if rule.id in gone and one.id == rule.replaces), None)
        if before is not None:
            out.remove(before)
            back = {"status": "active", "retired": "", "after": rule.after}
            placed.append(before.model_copy(update=back))
            out.append(retired_by(rule, BY_HAND))
        else:
            placed.append(rule)
    return without((*placed, *out), gone)


def forgotten(rules: Sequence[Rule], gone: Collection[str]) -> tuple[Rule, ...]:
    """As if the rules of the ids in `gone` had never been made."""
    return tuple(rule for rule in taken_back(rules, gone) if rule.id not in gone)


def apart(rule: Rule, below: Rule) -> Rule:
    """The rule with as much space below as it takes for the next one to be another rule."""
    spaces = (rule.after, "\n", "\n\n")
    fits = (after for after in spaces if len(pieces(rule.text + after + below.text)) == 2)
    return rule.model_copy(update={"after": next(fits, spaces[-1])})


def _replacing(gone: Sequence[Rule], found: Sequence[Rule], known: Collection[str]) -> list[Rule]:
    """The rules found; a new one (not in `known`) with the id of the one most like it that is gone."""
    pairs = [(old, new) for old in gone for new in found if new.id not in known]
    likeness = {(old.id, new.id): fuzz.ratio(said(old.text), said(new.text)) for old, new in pairs}
    replaces: dict[str, str] = {}
    for old, new in sorted(likeness, key=lambda pair: -likeness[pair]):
        if likeness[old, new] >= _SAME_RULE and new not in replaces and old not in replaces.values():
            replaces[new] = old
    return [rule.model_copy(update={"replaces": replaces.get(rule.id, rule.replaces)}) for rule in found]


def retired_by(rule: Rule, night: str) -> Rule:
    """The rule when a night took it out, or a person (`BY_HAND`)."""
    return rule if rule.status == "retired" else rule.model_copy(update={"status": "retired", "retired": night})


def _feeds(after: str) -> int:
    return len(lines_of(after))


def _safe(text: str) -> str:
    lines = [(text[line.start : line.stop], line.text) for line in lines_of(text)]
    return closed("".join(made_harmless(whole) if pretends(line) else whole for whole, line in lines))


def _free_id(text: str, night: str, taken: set[str]) -> str:
    """Equal texts of one night get different ids by counting."""
    count, name = 1, digest([said(text), night])[:8]
    while name in taken:
        count += 1
        name = digest([said(text), night, count])[:8]
    return name


def pieces(block: str) -> list[tuple[str, str]]:
    """The rules of a block: (text, line end and blank lines below)."""
    spans: list[list[int]] = []
    fences, item, blank = Fences(), None, True
    for line in lines_of(block):
        begins, inside, code = False, bool(fences.fence), fences.read(line.text)
        if inside or not line.text.strip():
            blank = not inside
        else:
            begins, item, blank = _begins(line.text, item, blank)
        end = line.start + len(line.text)
        if begins:
            spans.append([line.start, end])
        elif code or line.text.strip():
            spans[-1][1] = end
    stops = [*(start for start, _ in spans[1:]), len(block)]
    return [(block[start:end], block[end:stop]) for (start, end), stop in zip(spans, stops, strict=False)]


def _begins(line: str, item: int | None, blank: bool) -> tuple[bool, int | None, bool]:
    """Whether a rule begins with this line; and `item` and `blank` for the next line: how far the text of the list
    item is indented, None outside of lists; whether a blank line, a heading or nothing stands before."""
    mark = LIST_MARK.match(line)
    indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
    if item is not None and indent >= min(item, 2) and (indent >= item or not mark):
        return False, item, False
    if mark:
        begins = item is not None or blank or indent <= 3
        return begins, len(mark[0].expandtabs(4)) if begins else None, False
    if line.lstrip().startswith("#") and indent <= 3:
        return True, None, True
    return blank, None if blank else item, False
