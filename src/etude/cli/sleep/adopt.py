"""`etude sleep adopt`."""

import argparse

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.settings import end_here, find_nights
from etude.cli.sleep.text import elsewhere, only, rules_data
from etude.cli.terminal import output
from etude.sleep.adoption.adopt import adopt, kept_rules, selected
from etude.sleep.adoption.proposal import read_proposal

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Put the proposal of a night in place."""
    nights = find_nights(args)
    recovery = nights.recover()
    if recovery is not None and recovery.finished and args.night is None:
        return end_here(recovery, args)
    number = nights.proposed(args.night)
    if args.night is None and nights.stands(number) == "reverted":
        raise UsageError(
            f"no proposal waits; night {number} was taken back",
            hint=f"`etude sleep adopt {number}` puts it in place again",
        )
    waiting = nights.waiting(number)
    named = [item.name for item in selected(read_proposal(nights.folder(number)), args.only or ())]
    select = [name for name in named if name in waiting]
    if not select:
        what = f"{', '.join(args.only)} of night {number}" if args.only else f"night {number}"
        raise UsageError(f"{what} is adopted already", hint="`etude sleep status` shows how nights stand")
    alone = nights.alone(number)
    if alone and not args.only:
        raise UsageError(
            f"{', '.join(nights.changed(number))} changed since night {number} read it",
            hint=f"`etude sleep adopt {number}{only(alone)}` takes the rest",
        )
    receipt = adopt(
        nights.folder(number),
        nights.project,
        nights.state.folder,
        select=select,
        allow=nights.named,
    )
    if args.json:
        adopted = [document.real for document in receipt.documents]
        rules = rules_data(kept_rules(nights.state.folder), receipt.night, adopted)
        output.json_result({**receipt.model_dump(mode="json"), "rules": rules})
        return 0
    for document in receipt.documents:
        output.line(
            f"adopted  {document.path}: rules added: {len(document.added)}, taken out: {len(document.removed)}"
        )
    output.line(f"take it back with: {output.program()} sleep revert {number}{elsewhere(args)}")
    return 0
