"""The changes of a proposal in a document as it is now: how each stands, and what comes of the chosen ones. Whatever
a person wrote since stays; a change is refused only where the line that it changes is no longer there."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from etude.sleep.adoption.proposal import DocumentChange, opened
from etude.sleep.adoption.rules import Rule, Rules, active, apart, lineage, render, rules_in, said, without
from etude.sleep.live_documents import LiveDocument

RuleState = Literal["waits", "adopted", "taken out", "rejected", "line changed"]
"""What became of a change that a night proposes.

waits         nobody has decided
adopted       it is in the document
taken out     it was adopted, and is no longer there
rejected      it is not to be proposed again
line changed  the line that it changes was changed since, so it cannot be adopted
"""


def spliced(
    now: Sequence[Rule], offer: DocumentChange, chosen: Collection[str]
) -> tuple[tuple[Rule, ...], frozenset[str]]:
    """The rules of a document with the chosen changes of a proposal, by ids; and the ids of those that are refused.

    Args:
        now: the rules of the document as it is now.
        chosen: ids of `offer.changes`; others are passed over.
    """
    here = active(now)
    if {rule.id for rule in offer.changes} <= set(chosen) and render(here) == render(offer.before):
        return _settled(active(offer.rules), now, offer), frozenset()  # byte for byte what the night tried
    leaving = {rule.id for rule in offer.leaving} & set(chosen)
    placed, refused, texts = list(active(without(here, leaving))), set[str](), {said(rule.text) for rule in here}
    order, was = active(offer.rules), {rule.id for rule in active(offer.before)}
    for number, rule in enumerate(order):
        if rule.id not in chosen or rule.id in was or _place(placed, rule.id) is not None or said(rule.text) in texts:
            continue
        earlier = {one.id for one in lineage(rule, offer.rules)[1:]}
        at = next((at for at, one in enumerate(placed) if one.id in earlier), None)
        if at is not None:
            placed[at] = rule.model_copy(update={"after": placed[at].after})
        elif earlier & was:
            refused.add(rule.id)
        else:
            insert(placed, order, number)
    return _settled(placed, now, offer), frozenset(refused)


def rules_now(rules: Rules, live: LiveDocument) -> tuple[Rule, ...]:
    """The rules of a document as it is now, with what is known of each."""
    return rules_in(opened(live).text, rules.documents.get(live.real, ()))


def standing(offer: DocumentChange, now: tuple[Rule, ...], rules: Rules) -> Mapping[str, RuleState]:
    """What became of each change of a document, by the id of its rule. A rule that a person has put into other words
    counts as adopted, and so does one that a person wrote."""
    here = {rule.id for rule in active(now)}
    texts = {said(rule.text) for rule in active(now)}
    reworded = {one.id for rule in active(now) for one in lineage(rule, now)[1:]}
    gone = {rule.id for rule in now} - here
    rejected = {rule.id for rule in rules.rejected}

    def became(rule: Rule) -> RuleState:
        if rule.id in here | reworded or said(rule.text) in texts:
            return "adopted"
        if rule.id in rejected:
            return "rejected"
        if rule.id in gone:
            return "taken out"
        return "line changed" if spliced(now, offer, {rule.id})[1] else "waits"

    def left(rule: Rule) -> RuleState:
        if rule.id not in here:
            return "line changed" if rule.id in reworded else "adopted"
        return "rejected" if rule.id in rejected else "waits"

    found: dict[str, RuleState] = {rule.id: became(rule) for rule in offer.added}
    found.update({rule.id: left(rule) for rule in offer.leaving})
    return found


def _settled(placed: Sequence[Rule], now: Sequence[Rule], offer: DocumentChange) -> tuple[Rule, ...]:
    """The rules that stand after a change, then the retired ones. Each new one names the rule whose place it took in
    the document: what was only proposed never stood there, and must not come back when a rule is taken out."""
    there, stood = {rule.id for rule in placed}, {rule.id for rule in active(now)}
    offered = {rule.id: rule for rule in offer.rules}

    def settled(rule: Rule) -> Rule:
        took = (one.id for one in lineage(rule, offer.rules)[1:] if one.id in stood - there)
        return rule if rule.id in stood else rule.model_copy(update={"replaces": next(took, "")})

    gone = (rule if rule.status == "retired" else offered.get(rule.id, rule) for rule in now if rule.id not in there)
    return (*map(settled, placed), *gone)


def insert(placed: list[Rule], order: Sequence[Rule], number: int) -> None:
    """Put rule `number` of `order` behind the nearest one before it that is there, else before the next one."""
    rule, above, below = order[number], order[:number], order[number + 1 :]
    before = (at + 1 for one in reversed(above) if (at := _place(placed, one.id)) is not None)
    behind = (at for one in below if (at := _place(placed, one.id)) is not None)
    at = next(before, next(behind, len(placed)))
    if at and above and placed[at - 1].id == above[-1].id:
        placed[at - 1] = placed[at - 1].model_copy(update={"after": above[-1].after})
    placed.insert(at, rule)
    for one in (at - 1, at):
        if one >= 0 and one + 1 < len(placed):
            placed[one] = apart(placed[one], placed[one + 1])


def _place(rules: Sequence[Rule], name: str) -> int | None:
    return next((at for at, rule in enumerate(rules) if rule.id == name), None)
