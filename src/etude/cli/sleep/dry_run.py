"""`etude sleep run --dry-run`."""

import argparse
from pathlib import Path

from etude.cli.sleep.settings import read_config
from etude.cli.sleep.text import PAUSED, counts, harvest_rows, print_rows, task_notes
from etude.cli.terminal import output
from etude.models import build_model
from etude.sleep.config import SleepConfig
from etude.sleep.improve.groups import check_documents, check_tasks
from etude.sleep.report import unfinished
from etude.sleep.state import Surroundings, state_of
from etude.sleep.tasks.files import replay
from etude.sleep.tasks.gather import from_file, gleaned, sources_of
from etude.sleep.transcripts.harvest import Harvest
from etude.sleep.transcripts.ledger import Ledger, under_way


def look_ahead(args: argparse.Namespace) -> int:
    """Print what a night would read and do, and the most calls it makes. Asks no model and writes nothing."""
    config = read_config(args)
    around = Surroundings()
    state = state_of(config, around)
    state.check()
    for section in (config.target, config.optimizer, config.judge):
        if section is not None:
            build_model(section)  # settings that cannot work are reported now
    if config.sleep.tasks is None:
        with Ledger(state.ledger, read_only=True) as ledger:
            found = gleaned(config, around, ledger, sources_of(config))
        tasks, notes, redacted = None, [], found.redacted
    else:
        file, divided = replay(Path(config.sleep.tasks)), from_file(config).tasks
        found, tasks, redacted = Harvest(), file.tasks, file.redacted
        check_tasks(config, divided, around)
        notes = task_notes(divided)
    waits = None if under_way(state.ledger) else unfinished(state)
    check_documents(config, around)
    if args.json:
        data = {
            "sessions": len(found.sessions),
            "calls": config.limits.calls,
            "harvest": found.model_dump(mode="json", exclude={"entries", "sessions"}),
            "auto_adopt": config.sleep.auto_adopt,
            "notes": notes,
            "redacted": redacted,
            "resumes": waits,
            "paused": state.pause.exists(),
        }
        output.json_result(data)
        return 0
    if state.pause.exists():
        output.line(PAUSED)
    adopts = "each new rule that needs no person, at once"
    same = f"night {waits}, if settings and documents are the same; below is a whole night"
    print_rows(
        ("resumes    ", "" if waits is None else same),
        *harvest_rows(_taken(found) if tasks is None else None, found.beyond, found),
        ("redacted   ", counts(redacted) if tasks is not None and redacted else ""),
        ("tasks      ", "" if tasks is None else f"{len(tasks):,}"),
        *(("note       ", note) for note in notes),
        *most_rows(config),
        ("adopts     ", adopts if config.sleep.auto_adopt else ""),
        ("", "there is nothing for a night to do" if not found.sessions and tasks is None else ""),
    )
    return 0


def most_rows(config: SleepConfig) -> list[tuple[str, str]]:
    """What a night uses at most, for people."""
    limits, models = config.limits, [config.target, config.optimizer, *([config.judge] if config.judge else [])]
    calls = "not limited: set limits.calls" if limits.calls is None else f"at most {limits.calls:,} (limits.calls)"
    cost = "unknown; limits.usd bounds it" if limits.usd is None else f"at most {limits.usd:.2f} USD"
    if limits.usd is None and all(one.model.startswith("agent:") and one.base_url is None for one in models):
        cost = "counts against your subscription"
    return [("calls      ", calls), ("cost       ", cost)]


def _taken(found: Harvest) -> dict[str, int]:
    return {tally.source: tally.taken for tally in found.sources}
