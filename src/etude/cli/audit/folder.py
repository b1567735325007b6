"""`etude audit` of a folder of skills."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from etude.cli.several.table import tabled
from etude.cli.terminal import output
from etude.cli.terminal.tables import text_lines
from etude.config import TrainConfig
from etude.measure.audit.several import AuditRow, AuditTable, aaudit_suites
from etude.measure.audit.suite import FAULTS, most_of_audit
from etude.measure.several import Suite
from etude.readable import counted
from etude.workbench import Given


def audit_folder(args: argparse.Namespace, config: TrainConfig, folders: Sequence[Path]) -> int:
    """Audit each skill of a folder on its own tasks, and print the table; returns the exit code."""

    async def work(suites: Sequence[Suite], given: Given) -> AuditTable:
        most = most_of_audit(sum(suite.tasks for suite in suites))[0]
        able = sum(not suite.problem for suite in suites)
        output.note(f"{counted(able, 'skill')}: at most {most:,} attempts of the target")
        return await aaudit_suites(config, suites, **given)

    return tabled(args, config, folders, work, _lines)


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
