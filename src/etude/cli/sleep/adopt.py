"""`etude sleep adopt`."""

import argparse

from etude.cli.parsing.verb import UsageError
from etude.cli.sleep.settings import Nights, find_nights
from etude.cli.sleep.text import elsewhere, result
from etude.cli.terminal import output


def run(args: argparse.Namespace) -> int:
    """Put rules of a proposal in place: all that wait, or those that are named."""
    nights = find_nights(args)
    if nights.recovered(args):
        return 0
    number = nights.proposed(None)
    chosen = args.rule or _waiting(nights, number)
    receipt = nights.adopt(number, chosen)
    documents = [
        {"path": one.live.path, **{what: [rule.text for rule in getattr(one, what)] for what in ("added", "removed")}}
        for one in receipt.documents
    ]
    lines = (
        f"adopted  {one.live.path}: rules added: {len(one.added)}, taken out: {len(one.removed)}"
        + (f"; it begins with {one.live.begins.strip()}" if one.live.begins else "")
        for one in receipt.documents
    )
    back = f"take it back with: {output.program()} sleep revert {number}{elsewhere(args)}"
    data = {"night": receipt.night, "number": receipt.number, "documents": documents, "rules": chosen}
    return result(args, data, (*lines, back))


def _waiting(nights: Nights, number: int) -> list[str]:
    """Ids of the rules of a proposal that wait."""
    items = nights.pending(number).items
    for item in items:
        if item.state == "line changed":
            what = f"the line that rule {item.rule.id} changes was changed since night {number} read it"
            output.note(f"note: {what}: the rule is left out")
    if found := [item.rule.id for item in items if item.state == "waits"]:
        return found
    hint = "`etude sleep status` shows how each rule stands; `adopt --rule ID` puts one that was taken out in place"
    raise UsageError(f"no rule of night {number} waits: it is {nights.stands(number)}", hint=hint)
