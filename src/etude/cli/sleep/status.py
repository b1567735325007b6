"""`etude sleep status`."""

import argparse
from contextlib import suppress
from typing import Any

from etude.cli.sleep.settings import Nights, find_nights
from etude.cli.sleep.text import continues, counts, elsewhere, pause_line
from etude.cli.terminal import output
from etude.cli.terminal.tables import text_lines
from etude.errors import InputError
from etude.sleep.adoption.adopt import taken_out
from etude.sleep.adoption.rules import BY_HAND, Rule
from etude.sleep.adoption.structure import plain
from etude.sleep.adoption.transaction import PENDING
from etude.sleep.adoption.waiting import newest
from etude.sleep.night import read_report, unfinished
from etude.sleep.pause import paused
from etude.sleep.transcripts.ledger import Ledger

_LINE = 120
_LEAVING = "to take out"


def run(args: argparse.Namespace) -> int:
    """Print the nights of the project, how its sessions stand, and what waits for a person."""
    nights = find_nights(args)
    where = elsewhere(args)
    with Ledger(nights.state.ledger, read_only=True) as ledger:
        sessions = ledger.counts()
    resumes = unfinished(nights.state)
    reports = {number: read_report(nights.state, number) for number in nights.state.numbers()}
    rows: list[dict[str, Any]] = [
        {
            "night": number,
            "started": None if report is None else report.started.isoformat(timespec="minutes"),
            "status": nights.stands(number),
            "resumes": number == resumes,
            "tasks": 0 if report is None else sum(report.tasks.values()),
            "documents": {} if report is None else {one.name: one.status for one in report.documents},
            "proposal": "" if report is None else report.proposal,
        }
        for number, report in reports.items()
    ]
    since = paused(nights.state)
    if args.json:
        pause = since and since.isoformat()
        found = {"state": str(nights.state.folder), "sessions": sessions, "nights": rows, "rules": _rules(nights)}
        output.json_result({**found, "paused": pause})
        return 0
    output.line(f"state     {nights.state.folder}")
    if since is not None:
        output.line(pause_line(since, args))
    # A night that stopped early has looked at none: how many there are, only a harvest tells.
    output.line(f"sessions  {counts(sessions) if sessions else 'none looked at yet'}")
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
    *_, (latest, last) = reports.items()
    rules = _rules(nights)
    if rules:
        output.line("\nrules")
    for rule in rules:
        output.line(f"  {rule['id']}  {rule['state']:<12}  {plain(rule['text'], _LINE)}")
    waits = sum(rule["state"] in ("waits", _LEAVING) for rule in rules)
    if waits:
        sleep = f"{output.program()} sleep"
        which = "1 rule waits" if waits == 1 else f"{waits} rules wait"
        output.line(f"\n{which} for you: {sleep} review{where}, or {sleep} adopt{where} for all")
    if rows[-1]["status"] in ("killed", "stopped") and rows[-1]["resumes"]:
        output.line(f"\n{continues(last, latest)}")
    if (nights.state.folder / PENDING).exists():
        output.line("\nan adoption or a revert has not ended: the next adopt, revert or run finishes it")
    return 0


def _rules(nights: Nights) -> list[dict[str, str]]:
    """How each rule stands: what nights wrote, and what waits or was rejected."""
    kept = nights.rules
    there = [(real, rule) for real, those in kept.documents.items() for rule in those if rule.night != BY_HAND]
    found: dict[str, dict[str, str]] = {}

    def add(rule: Rule, state: str, document: str) -> None:
        found[rule.id] = {"id": rule.id, "state": state, "night": rule.night, "document": document, "text": rule.text}

    for rule in kept.rejected:
        add(rule, "rejected", "")
    for real, rule in there:
        if rule.status == "active":
            add(rule, "adopted", real)
        elif taken_out(rule):
            add(rule, "taken out", real)
    number = newest(nights.state)
    with suppress(InputError):
        for item in () if number is None else nights.pending(number).items:
            kept_as_it_is = item.leaving and item.state == "rejected"
            if item.state != "adopted" and not kept_as_it_is:  # what is adopted may stand in the words of a person
                add(item.rule, _LEAVING if item.leaving else item.state, item.document.live.path)
    return list(found.values())
