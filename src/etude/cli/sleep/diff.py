"""`etude sleep diff`."""

import argparse

from etude.cli.sleep.settings import WAITING, find_nights
from etude.cli.terminal import output
from etude.sleep.adoption.proposal import DIFF, proposed_rules, read_proposal

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Print what the proposal of a night would change, and note where it does not wait for a person."""
    nights = find_nights(args)
    number = nights.proposed(args.night)
    folder, stands = nights.folder(number), nights.stands(number)
    manifest = read_proposal(folder)
    text = (folder / DIFF).read_text(encoding="utf-8")
    if args.json:
        rules = proposed_rules(folder, manifest)
        output.json_result(
            {"proposal": str(folder), "stands": stands, "manifest": manifest.model_dump(mode="json"), "diff": text}
            | rules.model_dump(mode="json", include={"documents"})
        )
        return 0
    if stands not in WAITING:
        output.note(f"note: night {number} is {stands}")
    for line in text.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        output.line(line, style)
    return 0
