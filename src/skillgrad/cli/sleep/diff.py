"""`skillgrad sleep diff`."""

import argparse

from skillgrad.cli import output
from skillgrad.cli.sleep.settings import find_nights
from skillgrad.sleep.staging import DIFF, proposed_rules, read_proposal

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Print what the proposal of a night would change."""
    nights = find_nights(args)
    folder = nights.folder(nights.proposed(args.night))
    manifest = read_proposal(folder)
    text = (folder / DIFF).read_text(encoding="utf-8")
    if args.json:
        rules = proposed_rules(folder, manifest)
        output.json_result(
            {"proposal": str(folder), "manifest": manifest.model_dump(mode="json"), "diff": text}
            | rules.model_dump(mode="json", include={"documents"})
        )
        return 0
    for line in text.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        output.line(line, style)
    return 0
