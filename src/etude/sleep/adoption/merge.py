"""Proposals live together: the rules of one are put into the document as it is now, whatever changed in it since."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from etude.sleep.adoption.proposal import Proposed
from etude.sleep.adoption.rules import Rule, active, said


class Merged(NamedTuple):
    """The rules of a document with those of a proposal."""

    rules: tuple[Rule, ...]
    taken: tuple[str, ...]
    """Ids of the proposed rules that are in it now."""
    refused: tuple[str, ...]
    """Why a rule was not put in, or not taken out, a sentence each."""


def merged(now: Sequence[Rule], proposed: Proposed, wanted: Collection[str] | None = None) -> Merged:
    """Put the new rules with the ids in `wanted` (all of them by default) into what the block holds `now`, and take
    out what they replace; all other changes of the proposal belong to no rule and are made where all are wanted.

    Only what the night wanted to change itself has to be as the night read it: a rule that a person has reworded or
    removed since is left as it is, and the one that was to take its place is refused."""
    there = list(active(now))
    taken, refused = list[str](), list[str]()
    replaced = {rule.replaces: rule for rule in proposed.added if rule.replaces}
    for rule in proposed.added:
        if wanted is not None and rule.id not in wanted:
            continue
        at = next((at for at, one in enumerate(there) if said(one.text) == said(rule.text)), None)
        if at is not None:  # it is there already, by hand or from another night
            taken.append(rule.id)
            continue
        old = next((one for one in proposed.before if one.id == rule.replaces), None)
        place = None if old is None else _place(there, old)
        if old is not None and place is None:
            refused.append(f"rule {rule.id} takes the place of one that was changed or removed since")
            continue
        if place is None:
            there.append(rule.model_copy(update={"after": rule.after or "\n"}))
        else:
            there[place] = rule.model_copy(update={"after": there[place].after})
        taken.append(rule.id)
    for old in proposed.removed if wanted is None else ():
        if old.id in replaced:
            continue
        place = _place(there, old)
        if place is None:
            refused.append(f"rule {old.id}, which was to go, was changed or removed since")
        else:
            there.pop(place)
    kept = {rule.id for rule in there}
    gone = {rule.id: rule for rule in proposed.rules if rule.status == "retired"}
    out = [_retired(rule, gone.get(rule.id), proposed) for rule in now if rule.id not in kept]
    ended = [rule if rule.after.endswith(("\n", "\r")) else rule.model_copy(update={"after": "\n"}) for rule in there]
    return Merged((*ended, *out), tuple(taken), tuple(refused))


def _place(there: Sequence[Rule], old: Rule) -> int | None:
    return next((at for at, one in enumerate(there) if said(one.text) == said(old.text)), None)


def _retired(rule: Rule, gone: Rule | None, proposed: Proposed) -> Rule:
    if rule.status == "retired":
        return rule
    night = next((one.night for one in proposed.added if one.replaces == rule.id), "")
    update = {"status": "retired", "retired": gone.retired if gone is not None else night}
    return rule.model_copy(update={**update, "ablation": gone.ablation if gone is not None else rule.ablation})
