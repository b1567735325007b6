"""`etude evaluate` and `etude recheck` of a folder of skills."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from etude.cli.parsing.usage import UsageError
from etude.cli.several.suites import folders_in, suite_of
from etude.cli.terminal import output
from etude.cli.terminal.tables import text_lines
from etude.cli.watch import watch
from etude.config import TrainConfig
from etude.errors import StopRun
from etude.measure.several import WRONG, SkillRow, SkillTable, Suite, acheck_suites, ameasure_skills
from etude.readable import counted
from etude.workbench import Given

_COLUMNS = ("skill", "verdict", "without", "with", "difference", "p", "n", "errors")


def skill_folders(args: argparse.Namespace, verb: str, named: Sequence[str]) -> list[Path]:
    """The skills of the folder that was named, and a name for the run; none where skills were named. Raises
    UsageError: more is asked than the table of one folder."""
    found = [path for place in named for path in folders_in(place)]
    if found:
        several = len(named) > 1 or (verb == "evaluate" and len(args.target or ()) > 1)
        if several or args.split not in ("test", "all") or getattr(args, "evals", None):
            raise UsageError(
                "a folder of skills goes with no further --skill, --target, --split or --evals",
                hint="each of its skills is attempted on all tasks that it brings",
            )
        args.name = f"{verb}-{found[0].resolve().parent.name}"
    return found


def measure_folder(
    args: argparse.Namespace, config: TrainConfig, folders: Sequence[Path], trials: int, margin: float | None = None
) -> int:
    """Measure each skill of a folder on its own tasks, and print the table; returns the exit code."""
    suites = [suite_of(folder) for folder in folders]

    async def work(given: Given) -> SkillTable:
        checked = await acheck_suites(config, suites, **given)
        output.note(bound(config, checked, trials))
        return await ameasure_skills(config, checked, trials, margin, **given)

    try:
        _print(watch(work, args.command), args.json)
    except StopRun as stop:
        if not isinstance(stop.summary, SkillTable):
            raise
        _print(stop.summary, args.json, stop)
        output.tell(stop)
        return stop.exit_code
    return 0


def bound(config: TrainConfig, suites: Sequence[Suite], trials: int = 1) -> str:
    """The most that a table may ask."""
    counts = [suite.tasks for suite in suites if suite.tasks]
    most = 2 * sum(counts) * trials
    calls = f", each {'one call' if config.agent.name == 'chat' else 'one call or more'} of the target"
    judged = " and at most one of the judge" if config.judge is not None else ""
    some = f"{counted(len(counts), 'skill')} with {counted(sum(counts), 'task')}"
    return f"{some}: at most {most:,} attempts{calls}{judged}"


def _print(table: SkillTable, as_json: bool, stop: StopRun | None = None) -> None:
    """With what ended it early."""
    if as_json:
        ended = {} if stop is None else {"error": stop.message, "hint": stop.hint, "exit_code": stop.exit_code}
        output.json_result({**table.model_dump(mode="json"), **ended})
    else:
        output.lines(_lines(table), simulated=any(row.simulated for row in table.rows))


def _lines(table: SkillTable) -> Iterator[str]:
    yield from text_lines([_COLUMNS, *map(_cells, table.rows)])
    yield ""
    yield from (f"{row.skill}: {row.problem}" for row in table.rows if row.problem)
    given = sum(row.verdict in ("helps", "does not help") for row in table.rows)
    wrong = f"on average at most {WRONG:.0%} of them are wrong, over the whole table (Benjamini-Hochberg)"
    yield f"verdicts    {given} of {table.measurable}; {wrong}"
    yield f"calls       {table.calls_sent} sent"


def _cells(row: SkillRow) -> tuple[str, ...]:
    if row.difference is None or row.p is None:
        return row.skill, row.verdict, "-", "-", "-", "-", "0", "-"
    means, p = f"{row.without:.2f} {row.with_skill:.2f}".split(), "<0.001" if row.p < 0.001 else f"{row.p:.3f}"
    return row.skill, row.verdict, *means, row.difference.shown_change, p, str(row.difference.n), str(row.voids)
