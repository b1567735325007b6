"""`etude sleep adopt`."""

import argparse

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.settings import Nights, find_nights
from etude.cli.sleep.text import elsewhere, result, rules_data
from etude.cli.terminal import output


def run(args: argparse.Namespace) -> int:
    """Put rules of a proposal in place: all that wait, or those that are named."""
    nights = find_nights(args)
    if nights.recovered(args, named=args.night is not None or bool(args.rule)):
        return 0
    number = nights.proposed(args.night)
    last = nights.newest()
    if number != last:
        what = f"what waits of night {number} is part of what night {last} proposes"
        raise UsageError(what, hint="`etude sleep adopt` takes all that waits, `--rule ID` one of it")
    chosen = args.rule or _undecided(nights, number, again=args.night is not None)
    receipt = nights.adopt(number, chosen)
    documents = [
        {"path": one.live.path, **{what: [rule.text for rule in getattr(one, what)] for what in ("added", "removed")}}
        for one in receipt.documents
    ]
    rules = rules_data({one.live.real: one.rules for one in receipt.documents}, chosen)
    lines = (
        f"adopted  {one.live.path}: rules added: {len(one.added)}, taken out: {len(one.removed)}"
        + (f"; it begins with {one.live.begins.strip()}" if one.live.begins else "")
        for one in receipt.documents
    )
    back = f"take it back with: {output.program()} sleep revert {number}{elsewhere(args)}"
    data = {"night": receipt.night, "number": receipt.number, "documents": documents, "rules": rules}
    return result(args, data, (*lines, back))


def _undecided(nights: Nights, number: int, *, again: bool) -> list[str]:
    """Ids of the rules of a proposal that wait; where it is adopted `again`, of those that were taken out, too."""
    items = nights.pending(number).items
    for item in items:
        if item.state == "line changed":
            what = f"the line that rule {item.rule.id} changes was changed since night {number} read it"
            output.note(f"note: {what}: the rule is left out")
    states = ("waits", "taken out") if again else ("waits",)
    found = [item.rule.id for item in items if item.state in states]
    if found:
        return found
    stands = nights.stands(number)
    if stands == "reverted":
        hint = f"`etude sleep adopt {number}` puts it in place again"
        raise UsageError(f"no rule waits; night {number} was taken back", hint=hint)
    hint = "`etude sleep status` shows how each rule stands"
    raise UsageError(f"no rule of night {number} waits: it is {stands}", hint=hint)
