"""`etude verify`."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from etude.cli.lookup import find_run, find_skill, here
from etude.cli.settings import with_options
from etude.cli.terminal import output
from etude.config import load_config
from etude.measure.verify import Verification, verify_skill
from etude.readable import counted
from etude.records.provenance import Provenance
from etude.skill.folder import PROVENANCE
from etude.store.views import read_view


def run(args: argparse.Namespace) -> int:
    """Check a skill against the journal of its run and print every line on which they disagree."""
    view = find_run(args.run)
    config = with_options(lambda flags: load_config(Path(view.path, "config.yaml"), flags=flags), args, here(view))
    result = verify_skill(config, find_skill(args.skill).skill, _carried(args.skill))
    output.measured(result, _lines(result, args.skill, view.name), as_json=args.json)
    return 0 if result.agrees else 1


def _carried(skill: str) -> Provenance | None:
    """The provenance next to an exported skill."""
    path = Path(skill)
    return read_view((path if path.is_dir() else path.parent) / PROVENANCE, Provenance) if path.exists() else None


def _lines(result: Verification, skill: str, run: str) -> Iterator[str]:
    for problem in result.problems:
        place = "" if problem.line is None else f"line {problem.line}: "
        yield f"{place}{problem.what}" + (f": {problem.text}" if problem.text else "")
    about = f"{counted(result.lines, 'line')}, {counted(result.changes, 'change')}"
    verdict = "agree" if result.agrees else "do not agree"
    yield f"skill {skill} and run {run} {verdict} ({about}; no call was made)"
