"""`etude sleep reject`."""

import argparse

from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import result
from etude.sleep.adoption.structure import plain


def run(args: argparse.Namespace) -> int:
    """Turn down rules of the newest proposal, for later nights too."""
    nights = find_nights(args)
    if nights.recovered(args):
        return 0
    number = nights.proposed(None)
    rules = nights.reject(number, args.rule)
    lines = (f"rejected  {rule.id}  {plain(rule.text, 120)}" for rule in rules)
    return result(args, {"rejected": [{"id": rule.id, "text": rule.text} for rule in rules]}, lines)
