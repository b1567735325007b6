"""A folder of skills as a table: `etude evaluate` and `etude recheck`, and what `etude audit` shares with them."""

import argparse
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, cast

from etude.cli.parsing.verb import UsageError
from etude.cli.scaffold.table import Wishes
from etude.cli.scaffold.tasks import read_data
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.cli.terminal.summary_text import endings
from etude.cli.watch import watch
from etude.config import TrainConfig
from etude.errors import InputError, StopRun
from etude.measure.audit.suite import AuditTable
from etude.measure.compare import need_untrained
from etude.measure.several import WRONG, SkillRow, SkillTable, Suite, acheck_suites, ameasure_skills
from etude.readable import counted
from etude.records.answer import about
from etude.skill import load_skill
from etude.skill.blocks import is_hollow
from etude.skill.folder import DOCUMENT, EVALS, evals_of, has_provenance, skills_in
from etude.workbench import Given

T = TypeVar("T", SkillTable, AuditTable)

_COLUMNS = ("skill", "verdict", "without", "with", "difference", "p", "n", "errors")


def folders_in(place: str) -> list[Path]:
    """The skill folders in a folder; none where it is a skill itself."""
    return [] if not place or Path(place, DOCUMENT).exists() else skills_in(Path(place))


def suite_of(folder: Path) -> Suite:
    """The skill, with all its evals as tasks of a test; or why it has none that can be used."""
    name, file = folder.name, evals_of(folder)
    try:
        skill = load_skill(folder)
        if is_hollow(skill.text):
            return Suite(name, problem="the skill is empty, or has headings only")
        if not file.is_file() or file.read_bytes().strip() in (b"", b"[]"):  # some are published empty
            return Suite(name, problem=f"it has no {EVALS}")
        need_untrained(name, trained=has_provenance(folder))
        data = read_data({"path": file}, Wishes(), split="0,0,1")
    except InputError as error:
        return Suite(name, problem=error.message)

    return Suite(name, skill, data.environment, data.made.metric)


def skill_folders(args: argparse.Namespace, verb: str, named: Sequence[str]) -> list[Path]:
    """The skills of the folder that was named, and a name for the run; none where skills were named. Raises
    UsageError: more is asked than the table of one folder."""
    found = [path for place in named for path in folders_in(place)]
    if found:
        several = len(named) > 1 or (verb == "evaluate" and len(args.target or ()) > 1)
        if several or args.split or getattr(args, "evals", None):
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

    async def work(suites: Sequence[Suite], given: Given) -> SkillTable:
        output.note(bound(config, suites, trials))
        return await ameasure_skills(config, suites, trials, margin, **given)

    claim = about("these tasks" if margin is None else "tasks like these")
    return tabled(args, config, folders, work, lambda table: _lines(table, claim))


def tabled(
    args: argparse.Namespace,
    config: TrainConfig,
    folders: Sequence[Path],
    work: Callable[[Sequence[Suite], Given], Awaitable[T]],
    lines: Callable[[T], Iterable[str]],
) -> int:
    """Print the table that comes of work on the suites of these skills, or what there is of it when a limit ends it;
    returns the exit code."""
    found, stopped = [suite_of(folder) for folder in folders], None

    async def checked(given: Given) -> T:
        return await work(await acheck_suites(config, found, **given), given)

    try:
        table = watch(checked, args.command)
    except StopRun as stop:
        if stop.summary is None:
            raise
        table, stopped = cast(T, stop.summary), stop
    if args.json:
        ended = stopped and {"error": stopped.message, "hint": stopped.hint, "exit_code": stopped.exit_code}
        output.json_result({**table.model_dump(mode="json"), **(ended or {})})
    else:
        output.lines(lines(table), simulated=table.simulated)
    if stopped:
        output.tell(stopped)
    return stopped.exit_code if stopped else 0


def bound(config: TrainConfig, suites: Sequence[Suite], trials: int = 1) -> str:
    """The most that a table may ask."""
    counts = [suite.tasks for suite in suites if suite.tasks]
    most = 2 * sum(counts) * trials
    calls = f", each {'one call' if config.agent.name == 'chat' else 'one call or more'} of the target"
    judged = " and at most one of the judge" if config.judge is not None else ""
    some = f"{counted(len(counts), 'skill')} with {counted(sum(counts), 'task')}"
    return f"{some}: at most {most:,} attempts{calls}{judged}"


def _lines(table: SkillTable, claim: str) -> Iterator[str]:
    yield from text_lines([_COLUMNS, *map(_cells, table.rows)])
    yield ""
    yield from (f"{row.skill}: {row.problem}" for row in table.rows if row.problem)
    given = sum(row.verdict in ("helps", "does not help") for row in table.rows)
    wrong = f"on average at most {WRONG:.0%} of them are wrong, over the whole table (Benjamini-Hochberg)"
    yield f"verdicts    {given} of {table.measurable}, {claim}; {wrong}"
    yield from endings(table.ended, 12)
    yield f"calls       {table.calls_sent} sent"


def _cells(row: SkillRow) -> tuple[str, ...]:
    if row.difference is None or row.p is None or row.without is None or row.with_skill is None:
        return row.skill, row.verdict, "-", "-", "-", "-", "0", "-"
    means, p = f"{row.without:.2f} {row.with_skill:.2f}".split(), "<0.001" if row.p < 0.001 else f"{row.p:.3f}"
    return row.skill, row.verdict, *means, row.difference.shown_change, p, str(row.difference.n), str(row.voids)
