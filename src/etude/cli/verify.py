"""`etude verify`."""

import argparse
from pathlib import Path

from etude.cli.lookup import find_run, find_skill, here
from etude.cli.settings import with_options
from etude.cli.terminal import output
from etude.config import load_config
from etude.errors import DataError
from etude.measure.verify import Verification, verify_skill
from etude.readable import counted
from etude.records.provenance import Provenance
from etude.skill.folder import PROVENANCE
from etude.store.provenance import read_provenance
from etude.store.views import JOURNAL


def run(args: argparse.Namespace) -> int:
    """Check a skill against the journal of its run and print every line on which they disagree."""
    place = Path(args.run)
    if place.is_dir() and not (place / JOURNAL).exists() and (place / "config.yaml").exists():
        raise DataError(f"{str(place / JOURNAL)!r} is missing: nothing can be recomputed", hint="restore the file")
    view = find_run(args.run)
    config = with_options(lambda flags: load_config(Path(view.path, "config.yaml"), flags=flags), args, here(view))
    result = verify_skill(config, find_skill(args.skill).skill, _carried(args.skill))
    if args.json:
        output.json_result(result.model_dump(mode="json"))
    else:
        _print(result, args.skill, view.name)
    return 0 if result.agrees else 1


def _carried(skill: str) -> Provenance | None:
    """The provenance next to an exported skill."""
    path = Path(skill)
    return read_provenance((path if path.is_dir() else path.parent) / PROVENANCE) if path.exists() else None


def _print(result: Verification, skill: str, run: str) -> None:
    for problem in result.problems:
        place = "" if problem.line is None else f"line {problem.line}: "
        output.line(f"{place}{problem.what}" + (f": {problem.text}" if problem.text else ""))
    about = f"{counted(result.lines, 'line')}, {counted(result.changes, 'change')}"
    verdict = "agree" if result.agrees else "do not agree"
    output.line(f"skill {skill} and run {run} {verdict} ({about}; no call was made)")
