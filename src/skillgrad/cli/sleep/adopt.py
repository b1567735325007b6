"""`skillgrad sleep adopt`."""

import argparse

from skillgrad.cli import output
from skillgrad.cli.sleep.brought import rules_data
from skillgrad.cli.sleep.elsewhere import elsewhere
from skillgrad.cli.sleep.settings import end_here, find_nights
from skillgrad.cli.usage import UsageError
from skillgrad.sleep.adopt import adopt, kept_rules

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Put the proposal of a night in place."""
    nights = find_nights(args)
    recovery = nights.recover()
    if recovery is not None and recovery.finished and args.night is None:
        return end_here(recovery, args)
    number = nights.proposed(args.night)
    if args.night is None and nights.stands(number) == "reverted":
        again = f"{output.program()} sleep adopt {number}{elsewhere(args).options}"
        raise UsageError(
            f"no proposal waits; night {number} was taken back", hint=f"`{again}` puts it in place again"
        )
    if not args.only and nights.stands(number) == "adopted":
        raise UsageError(f"night {number} is adopted already", hint="`skillgrad sleep status` shows how nights stand")
    receipt = adopt(
        nights.folder(number),
        nights.project,
        nights.state.folder,
        select=args.only or nights.waiting(number),
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
    output.line(f"take it back with: {output.program()} sleep revert {number}{elsewhere(args).options}")
    return 0
