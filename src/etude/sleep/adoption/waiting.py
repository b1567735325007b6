"""How the changes of a proposal stand. Each rule of it is taken or left on its own."""

from collections.abc import Mapping
from typing import Literal

from etude.sleep.adoption.proposal import Proposed, opened
from etude.sleep.adoption.rules import BY_HAND, Rule, Rules, active, block_of, lineage, revised, said
from etude.sleep.adoption.splice import spliced
from etude.sleep.places import LiveDocument

RuleState = Literal["waits", "adopted", "taken out", "rejected", "line changed"]
"""What became of a change that a night proposes.

waits         nobody has decided
adopted       it is in the document
taken out     it was adopted, and is no longer there
rejected      it is not to be proposed again
line changed  the line that it changes was changed since, so it cannot be adopted
"""


def rules_now(rules: Rules, live: LiveDocument) -> tuple[Rule, ...]:
    """The rules of a document as it is now, with what is known of each."""
    return revised(rules.documents.get(live.real, ()), block_of(opened(live).text), BY_HAND)


def standing(offer: Proposed, now: tuple[Rule, ...], rules: Rules) -> Mapping[str, RuleState]:
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
