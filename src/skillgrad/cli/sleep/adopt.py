"""`skillgrad sleep adopt`."""

import argparse

from skillgrad.cli import output
from skillgrad.cli.sleep.settings import find_nights
from skillgrad.sleep.adopt import adopt
from skillgrad.sleep.staging import FOLDER

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Put the proposal of a night in place."""
    nights = find_nights(args)
    number = nights.number(args.night)
    receipt = adopt(
        nights.state.night(number) / FOLDER,
        nights.project,
        nights.state.folder,
        select=args.only or (),
        allow=nights.named,
    )
    if args.json:
        output.json_result(receipt.model_dump(mode="json"))
        return 0
    for document in receipt.documents:
        output.line(f"adopted  {document.path}: {len(document.added)} rules added, {len(document.removed)} taken out")
    output.line(f"take it back with: {output.program()} sleep revert {number}")
    return 0
