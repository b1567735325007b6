"""What verbs say about nights: reports, pauses, tasks, and the commands to type next."""

import argparse
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from etude.cli.lookup import larger
from etude.cli.sleep.settings import WAITING, named_project
from etude.cli.sleep.verbs import DEFAULT_SLEEP_CONFIG
from etude.cli.terminal import output
from etude.cli.terminal.output import LOUD, SIMULATED
from etude.sleep.adoption.structure import plain
from etude.sleep.config import SleepConfig
from etude.sleep.page import NightPage, document_lines, page
from etude.sleep.report import NightIntake, NightReport, Spent
from etude.sleep.tasks.probe import HOLLOW, UNJUDGED

PAUSED = "paused: no night begins until `etude sleep schedule --resume`"
_JUDGE = "name another `judge`: it grades the words of a rubric, not the work"


def result(args: argparse.Namespace, data: Any, lines: Iterable[str]) -> int:
    """Print the result of a verb: with `--json` the data, else the lines."""
    if args.json:
        output.json_result(data)
        return 0
    for text in lines:
        output.line(text)
    return 0


def print_report(report: NightReport, found: NightPage | None = None, stands: str = "", where: str = "") -> None:
    """What a night did, and what to do next.

    Args:
        found: what it proposes.
        stands: how it stands now, where that is asked for later and may be another thing than how it ended.
        where: what commands need to be about its nights, as `elsewhere` has it.
    """
    following = _next(report, stands, where)
    stands = stands or report.status
    if report.simulated:
        output.line(SIMULATED, LOUD)
    why = f": {plain(report.reason, 500)}" if report.reason else ""
    print_rows(
        (f"night {report.night}  {stands}{why}", None),
        ("  hint: ", report.hint),
        *((text, None) for text in ([*page(found), ""] if found is not None and found.rules else [])),
        *harvest_rows(report),
        ("tasks      ", counts(report.tasks)),
        ("dropped    ", "; ".join(f"{why} ({count:,})" for why, count in report.dropped.items())),
        ("  hint: ", _JUDGE if {HOLLOW, UNJUDGED} & report.dropped.keys() else ""),
        *(("note       ", note) for note in report.notes),
        *((text, None) for document in report.documents for text in document_lines(document)[:2]),
        ("spent      ", _spent(report.spent) if stands != "under way" else "not counted yet"),
        *(("waits for a person: ", reason) for reason in report.held_back if stands in WAITING),
        *((text, None) for text in following),
    )


def print_rows(*rows: tuple[str, str | None]) -> None:
    """Labels with what belongs to them: rows with an empty text are left out, None stands for a line of its own."""
    for label, value in rows:
        if value != "":
            output.line(label if value is None else f"{label}{plain(value, 500)}")


def harvest_rows(found: NightIntake) -> list[tuple[str, str | None]]:
    """What was read and what was left out."""
    wait = f"; {found.waiting} wait for later nights" if found.waiting else ""
    return [
        ("sessions   ", counts(found.sessions) + wait),
        ("left out   ", counts(found.skipped) if found.skipped else ""),
        ("redacted   ", counts(found.redacted) if found.redacted else ""),
        *(("problem    ", problem) for problem in found.problems),
    ]


def most_rows(config: SleepConfig) -> list[tuple[str, str]]:
    """What a night uses at most, for people."""
    limits, models = config.limits, [config.target, config.optimizer, *([config.judge] if config.judge else [])]
    calls = "not limited: set limits.calls" if limits.calls is None else f"at most {limits.calls:,} (limits.calls)"
    cost = "unknown; limits.usd bounds it" if limits.usd is None else f"at most {limits.usd:.2f} USD"
    if limits.usd is None and all(one.model.startswith("agent:") and one.base_url is None for one in models):
        cost = "counts against your subscription"
    return [("calls      ", calls), ("cost       ", cost)]


def counts(found: Mapping[str, int]) -> str:
    """As in `3 codex, 5 pi`; `none` when there are none."""
    return ", ".join(f"{count:,} {plain(name, 80)}" for name, count in found.items() if count) or "none"


def _spent(spent: Spent) -> str:
    usd = "unknown cost" if spent.usd is None else f"{spent.usd:.4f} USD"
    return f"{spent.calls:,} calls, {spent.tokens:,} tokens, {usd}"


def _next(report: NightReport, stands: str, where: str) -> list[str]:
    named = f"{report.night}{where}"
    decide = (f"review{where}", f"adopt{where}")
    commands = {"proposed": decide, "adopted": (f"revert {named}",), "partly adopted": (*decide, f"revert {named}")}
    if not stands and (report.status == "no change" or (report.status == "nothing to do" and report.dropped)):
        commands[report.status] = (f"show {named}",)
    lines = [f"{output.program()} sleep {command}" for command in commands.get(stands or report.status, ())]
    if stands in ("stopped", "killed"):
        lines = [continues(report, report.night)]
    return ["", "next:", *(f"  {line}" for line in lines)] if lines else []


def elsewhere(args: argparse.Namespace) -> str:
    """What a command needs to be about the same nights, where they are not in the usual place: empty, or begins with
    a space."""
    config = None if args.config == DEFAULT_SLEEP_CONFIG else args.config
    places = {"config": config, "project": named_project(args)}
    words = [word for name, value in places.items() if value for word in (f"--{name}", value)]
    return f" {shlex.join(words)}" if words else ""


def continues(report: NightReport | None, number: int) -> str:
    """How a night that stopped can be continued; other settings begin a new night."""
    limit = "" if report is None else larger(report.reason)
    return f"night {number} continues with the next `etude sleep run` of the same settings{limit}"
