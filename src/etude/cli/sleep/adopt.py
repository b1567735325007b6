"""`etude sleep adopt`."""

import argparse
import shlex

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import elsewhere, result, rules_data
from etude.cli.terminal import output
from etude.sleep.adoption.adopt import adopt, selected
from etude.sleep.adoption.proposal import read_proposal


def run(args: argparse.Namespace) -> int:
    """Put the proposal of a night in place."""
    nights = find_nights(args)
    if nights.recovered(args, named=args.night is not None):
        return 0
    number = nights.proposed(args.night)
    if args.night is None and nights.stands(number) == "reverted":
        raise UsageError(
            f"no proposal waits; night {number} was taken back",
            hint=f"`etude sleep adopt {number}` puts it in place again",
        )
    left = nights.left(number)
    named = selected(read_proposal(nights.folder(number)), args.only or ())
    select = [title for title in named if title in left]
    if not select:
        what = f"{', '.join(args.only)} of night {number}" if args.only else f"night {number}"
        raise UsageError(f"{what} is adopted already", hint="`etude sleep status` shows how nights stand")
    changed = [title for title in left if left[title]]
    if not args.only and 0 < len(changed) < len(left):
        rest = shlex.join(word for title in left if not left[title] for word in ("--only", title))
        raise UsageError(
            f"{', '.join(changed)} changed since night {number} read it",
            hint=f"`etude sleep adopt {number} {rest}` takes the rest",
        )
    receipt = adopt(nights.folder(number), nights.project, nights.state.folder, select=select, allow=nights.named)
    documents = [
        {"path": one.live.path, **{what: [rule.text for rule in getattr(one, what)] for what in ("added", "removed")}}
        for one in receipt.documents
    ]
    rules = rules_data({one.live.real: one.rules for one in receipt.documents}, receipt.night)
    lines = (
        f"adopted  {one.live.path}: rules added: {len(one.added)}, taken out: {len(one.removed)}"
        for one in receipt.documents
    )
    back = f"take it back with: {output.program()} sleep revert {number}{elsewhere(args)}"
    data = {"night": receipt.night, "number": receipt.number, "documents": documents, "rules": rules}
    return result(args, data, (*lines, back))
