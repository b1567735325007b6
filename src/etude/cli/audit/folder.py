"""`etude audit` of a folder of skills."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from etude.cli.several.suites import suite_of
from etude.cli.terminal import output
from etude.cli.terminal.tables import text_lines
from etude.cli.watch import watch
from etude.config import TrainConfig
from etude.errors import StopRun
from etude.measure.audit.several import AuditRow, AuditTable, aaudit_suites
from etude.measure.audit.suite import FAULTS, most_of_audit
from etude.measure.several import acheck_suites
from etude.readable import counted
from etude.workbench import Given


def audit_folder(args: argparse.Namespace, config: TrainConfig, folders: Sequence[Path]) -> int:
    """Audit each skill of a folder on its own tasks, and print the table; returns the exit code."""
    suites = [suite_of(folder) for folder in folders]

    async def work(given: Given) -> AuditTable:
        checked = await acheck_suites(config, suites, **given)
        most = most_of_audit(sum(suite.tasks for suite in checked))[0]
        able = sum(not suite.problem for suite in checked)
        output.note(f"{counted(able, 'skill')}: at most {most:,} attempts of the target")
        return await aaudit_suites(config, checked, **given)

    try:
        table = watch(work, args.command)
    except StopRun as stop:
        if not isinstance(stop.summary, AuditTable):
            raise
        _print(stop.summary, args.json)
        output.tell(stop)
        return stop.exit_code
    _print(table, args.json)
    return 0


def _print(table: AuditTable, as_json: bool) -> None:
    found = table.model_dump(mode="json")
    output.measured(found, _lines(table), as_json=as_json, simulated=table.simulated)


def _lines(table: AuditTable) -> Iterator[str]:
    yield from text_lines([("skill", "tasks", *FAULTS), *map(_cells, table.rows)])
    yield ""
    yield from (f"{row.skill}: {row.problem}" for row in table.rows if row.problem)
    for kind, (title, cure) in FAULTS.items():
        tasks = [f"{row.skill}/{each.task}" for row in table.rows for each in row.findings if each.kind == kind]
        if tasks:
            yield f"{kind}: {title} -> {cure}"
            yield f"  {', '.join(tasks)}"
    share = f"at most {table.error:.0%} of those that are named as passes or fails, over the whole table"
    yield f"error     a version changes some of them: {share} (Benjamini-Hochberg)"
    yield f"calls     {table.calls_sent} sent"


def _cells(row: AuditRow) -> tuple[str, ...]:
    if row.problem:
        return row.skill, "-", *("-" for _ in FAULTS)
    return row.skill, str(row.judged), *(str(sum(each.kind == kind for each in row.findings)) for kind in FAULTS)
