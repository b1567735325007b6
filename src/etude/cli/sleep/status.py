"""`etude sleep status`."""

import argparse

from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import PAUSED, continues, counts, elsewhere
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.sleep.adoption.structure import plain
from etude.sleep.adoption.transaction import PENDING
from etude.sleep.report import read_report
from etude.sleep.transcripts.ledger import Ledger

_LINE = 120


def run(args: argparse.Namespace) -> int:
    """Print the nights of the project, how its sessions stand, and what waits for a person."""
    nights = find_nights(args)
    where = elsewhere(args)
    with Ledger(nights.state.ledger, read_only=True) as ledger:
        sessions = ledger.counts()
    rows = nights.nights()[::-1]
    paused = nights.state.pause.exists()
    rules = [
        {"id": rule.id, "state": state, "night": rule.night, "document": document, "text": rule.text}
        for rule, state, document in nights.rules()
    ]
    if args.json:
        found = {"state": str(nights.state.folder), "sessions": sessions, "rules": rules}
        found["nights"] = [row.model_dump(mode="json") for row in rows]
        output.json_result({**found, "paused": paused})
        return 0
    output.line(f"state     {nights.state.folder}")
    if paused:
        output.line(PAUSED)
    # A night that stopped early has looked at none: how many there are, only a harvest tells.
    output.line(f"sessions  {counts(sessions) if sessions else 'none looked at yet'}")
    if not rows:
        output.line("nights    none")
        return 0
    table = [("night", "started (UTC)", "status", "tasks", "documents")]
    for row in rows:
        shown = ", ".join(f"{name} {status}" for name, status in row.documents.items())
        started = (row.started or "")[:16].replace("T", " ")
        table.append((str(row.night), started, row.status, str(row.tasks), shown))
    for text in text_lines(table):
        output.line(text)
    if rules:
        output.line("\nrules")
    for rule in rules:
        output.line(f"  {rule['id']}  {rule['state']:<12}  {plain(rule['text'], _LINE)}")
    waits = sum(rule["state"] in ("waits", "to take out") for rule in rules)
    if waits:
        sleep = f"{output.program()} sleep"
        which = "1 rule waits" if waits == 1 else f"{waits} rules wait"
        output.line(f"\n{which} for you: {sleep} review{where}, or {sleep} adopt{where} for all")
    last = rows[-1]
    if last.status in ("killed", "stopped") and last.resumes:
        output.line(f"\n{continues(read_report(nights.state, last.night), last.night)}")
    if (nights.state.folder / PENDING).exists():
        output.line("\nan adoption or a revert has not ended: the next adopt, revert or run finishes it")
    return 0
