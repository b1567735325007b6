"""`etude sleep revert`."""

import argparse

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.settings import end_here, find_nights
from etude.cli.terminal import output
from etude.sleep.adoption.adopt import kept_rules, taken_out
from etude.sleep.adoption.revert import revert, revert_rule
from etude.sleep.adoption.rules import active
from etude.sleep.adoption.structure import plain

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Take back what a night changed, or one rule."""
    if args.rule is not None and args.night is not None:
        raise UsageError("NIGHT and --rule exclude each other", hint="give one of them")
    nights = find_nights(args)
    recovery = nights.recover()
    if recovery is not None and recovery.finished and args.night is None and args.rule is None:
        return end_here(recovery, args)
    if args.rule is not None:
        nights.number(None)
        report = revert_rule(args.rule, nights.state.folder)
    else:
        night = f"{nights.adopted(args.night):04d}"
        rules = kept_rules(nights.state.folder)
        there = {rule.text for those in rules.documents.values() for rule in active(those)}
        known = {rule.text for _, rule in taken_out(night, rules)} - there
        report = revert(night, nights.state.folder)
        gone = tuple(text for text in report.gone if text not in known)  # what is known to be gone is no news
        report = report.model_copy(update={"gone": gone})
    if args.json:
        output.json_result(report.model_dump(mode="json"))
        return 0
    for path in report.restored:
        output.line(f"restored  {path}: as it was before")
    why = "the rule was taken out" if args.rule is not None else "other changes stay, so only rules were taken out"
    for path in report.cut:
        output.line(f"changed   {path}: {why}")
    for text in report.back:
        output.line(f"put back  {plain(text, 120)}")
    for text in report.gone:
        output.line(f"not found {plain(text, 120)}")
    for text in report.not_put_back:
        output.line(f"not put back: {plain(text, 120)}")
    return 0
