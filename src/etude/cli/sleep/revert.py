"""`etude sleep revert`."""

import argparse

from etude.cli.parsing.verb import UsageError
from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import result
from etude.sleep.adoption.revert import revert, revert_rule
from etude.sleep.adoption.structure import plain


def run(args: argparse.Namespace) -> int:
    """Take back what a night changed, or one rule."""
    if args.rule is not None and args.night is not None:
        raise UsageError("NIGHT and --rule exclude each other", hint="give one of them")
    nights = find_nights(args)
    if nights.recovered(args):
        return 0
    if args.rule is not None:
        nights.number(None)
        report = revert_rule(args.rule, nights.state.folder)
    else:
        report = revert(f"{nights.adopted(args.night):04d}", nights.state.folder)
    why = "the rule was taken out" if args.rule is not None else "other changes stay, so only rules were taken out"
    lines = (
        *(f"restored  {path}: as it was before" for path in report.restored),
        *(f"changed   {path}: {why}" for path in report.cut),
        *(f"put back  {plain(text, 120)}" for text in report.back),
        *(f"not found {plain(text, 120)}" for text in report.gone),
        *(f"not put back: {plain(text, 120)}" for text in report.not_put_back),
    )
    return result(args, report.model_dump(mode="json"), lines)
