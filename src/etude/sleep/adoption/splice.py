"""The changes of a proposal, put into a document as it is now. Whatever a person wrote since stays, and a change is
refused only where the line that it changes is no longer there."""

from collections.abc import Collection, Sequence

from etude.sleep.adoption.proposal import Proposed
from etude.sleep.adoption.rules import Rule, active, apart, lineage, render, said


def spliced(now: Sequence[Rule], offer: Proposed, chosen: Collection[str]) -> tuple[tuple[Rule, ...], frozenset[str]]:
    """The rules of a document with the chosen changes of a proposal, by ids; and the ids of those that are refused.

    Args:
        now: the rules of the document as it is now.
        chosen: ids of `offer.changes`; others are passed over.
    """
    here = active(now)
    if {rule.id for rule in offer.changes} <= set(chosen) and render(here) == render(offer.before):
        return _settled(active(offer.rules), now, offer), frozenset()  # byte for byte what the night tried
    placed, refused, texts = list(here), set[str](), {said(rule.text) for rule in here}
    for rule in offer.leaving:
        at = _place(placed, rule.id)
        if rule.id not in chosen or at is None:
            continue
        out = placed.pop(at)
        if at:
            placed[at - 1] = placed[at - 1].model_copy(update={"after": out.after})
        if 0 < at < len(placed):
            placed[at - 1] = apart(placed[at - 1], placed[at])
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
            _insert(placed, order, number)
    return _settled(placed, now, offer), frozenset(refused)


def _settled(placed: Sequence[Rule], now: Sequence[Rule], offer: Proposed) -> tuple[Rule, ...]:
    """The rules that stand after a change, then the retired ones. Each new one names the rule whose place it took in
    the document: what was only proposed never stood there, and must not come back when a rule is taken out."""
    there, stood = {rule.id for rule in placed}, {rule.id for rule in active(now)}
    offered = {rule.id: rule for rule in offer.rules}

    def settled(rule: Rule) -> Rule:
        took = (one.id for one in lineage(rule, offer.rules)[1:] if one.id in stood - there)
        return rule if rule.id in stood else rule.model_copy(update={"replaces": next(took, "")})

    gone = (rule if rule.status == "retired" else offered.get(rule.id, rule) for rule in now if rule.id not in there)
    return (*map(settled, placed), *gone)


def _insert(placed: list[Rule], order: Sequence[Rule], number: int) -> None:
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
