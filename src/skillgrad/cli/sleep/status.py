"""`skillgrad sleep status`."""

import argparse
from typing import Any

from skillgrad.cli import output
from skillgrad.cli.sleep.report_text import counts
from skillgrad.cli.sleep.settings import find_nights
from skillgrad.cli.tables import text_lines
from skillgrad.sleep.ledger import Ledger
from skillgrad.sleep.night import read_report

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Print the nights of the project, how its sessions stand, and what waits for a person."""
    nights = find_nights(args)
    with Ledger(nights.state.ledger, read_only=True) as ledger:
        sessions = ledger.counts()
    rows: list[dict[str, Any]] = []
    for number in nights.state.numbers():
        report = read_report(nights.state, number)
        rows.append(
            {
                "night": number,
                "started": None if report is None else report.started.isoformat(timespec="minutes"),
                "status": nights.stands(number),
                "resumes": report is not None and report.resumes,
                "tasks": 0 if report is None else sum(report.tasks.values()),
                "documents": {} if report is None else {one.name: one.status for one in report.documents},
                "proposal": "" if report is None else report.proposal,
            }
        )
    if args.json:
        output.json_result({"state": str(nights.state.folder), "sessions": sessions, "nights": rows})
        return 0
    output.line(f"state     {nights.state.folder}")
    output.line(f"sessions  {counts(sessions)}")
    if not rows:
        output.line("nights    none")
        return 0
    table = [("night", "started (UTC)", "status", "tasks", "documents")]
    for row in rows:
        shown = ", ".join(f"{name} {status}" for name, status in row["documents"].items())
        started = str(row["started"] or "")[:16].replace("T", " ")
        table.append((str(row["night"]), started, str(row["status"]), str(row["tasks"]), shown))
    for text in text_lines(table):
        output.line(text)
    waits = [row["night"] for row in rows if row["status"] == "proposed"]
    if waits:
        program = output.program()
        last = waits[-1]
        output.line(f"\nnight {last} waits for you: {program} sleep diff {last}, then {program} sleep adopt {last}")
    if rows[-1]["status"] in ("killed", "stopped") and rows[-1]["resumes"]:
        output.line(f"\nnight {rows[-1]['night']} goes on with: {output.program()} sleep run")
    return 0
