"""`etude verify`."""

import argparse
from collections.abc import Iterator

from etude.cli.compare import settings_of
from etude.cli.lookup import carried_by, find_run, find_skill, need_trained, of_skill
from etude.cli.terminal import output
from etude.cli.terminal.unheard import ended_if_unheard
from etude.measure.verify import Verification, verify_skill
from etude.readable import counted


def run(args: argparse.Namespace) -> int:
    """Check a skill against the journal of its run and print every line on which they disagree."""
    view = need_trained(of_skill(find_run(args.run)))
    with ended_if_unheard():  # it makes the environment again
        result = verify_skill(settings_of(args, view), find_skill(args.skill).skill, carried_by(args.skill))
    output.measured(result, _lines(result, args.skill, view.name), as_json=args.json)
    return 0 if result.agrees else 1


def _lines(result: Verification, skill: str, run: str) -> Iterator[str]:
    for problem in result.problems:
        place = "" if problem.line is None else f"line {problem.line}: "
        yield f"{place}{problem.what}" + (f": {problem.text}" if problem.text else "")
    known = [f"{count} {standing}" for standing, count in result.standings.items()]
    about = ", ".join([counted(result.lines, "line"), *known, counted(result.changes, "change")])
    verdict = "agree" if result.agrees else "do not agree"
    yield f"skill {skill} and run {run} {verdict} ({about}; no call was made)"
