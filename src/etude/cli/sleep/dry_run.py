"""`etude sleep run --dry-run`."""

import argparse
from collections import Counter

from etude.cli.sleep.settings import read_config
from etude.cli.sleep.text import PAUSED, counts, harvest_rows, print_rows
from etude.cli.terminal import output
from etude.sleep.config import SleepConfig
from etude.sleep.night import check_inputs
from etude.sleep.report import NightIntake, unfinished
from etude.sleep.state import Surroundings, state_of
from etude.sleep.tasks.gather import GatheredTasks, from_file, gleaned, sources_of
from etude.sleep.transcripts.ledger import Ledger, under_way


def look_ahead(args: argparse.Namespace) -> int:
    """Print what a night would read and do, and the most calls it makes. Asks no model and writes nothing."""
    config, around = read_config(args), Surroundings()
    state = state_of(config, around)
    check_inputs(config, around, {})
    if config.sleep.tasks is None:
        with Ledger(state.ledger, read_only=True) as ledger:
            found, file = gleaned(config, around, ledger, sources_of(config)), GatheredTasks()
    else:
        found = file = from_file(config)
    waits = None if under_way(state.ledger) else unfinished(state)
    tasks = Counter(task.split for task in file.tasks)
    if args.json:
        data = {
            **found.model_dump(mode="json", include=set(NightIntake.model_fields)),
            "calls": config.limits.calls,
            "auto_adopt": config.sleep.auto_adopt,
            "tasks": tasks,
            "notes": file.notes,
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
        *harvest_rows(found)[config.sleep.tasks is not None :],
        ("tasks      ", counts(tasks) if tasks else ""),
        *(("note       ", note) for note in file.notes),
        *most_rows(config),
        ("adopts     ", adopts if config.sleep.auto_adopt else ""),
        ("", "" if found.sessions or tasks else "there is nothing for a night to do"),
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
