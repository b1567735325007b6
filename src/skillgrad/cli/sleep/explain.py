"""`skillgrad sleep explain`."""

import argparse
from pathlib import Path

from pydantic import ValidationError

from skillgrad.cli import output
from skillgrad.cli.sleep.report_text import counts, print_report
from skillgrad.cli.sleep.settings import find_nights
from skillgrad.cli.usage import UsageError
from skillgrad.errors import did_you_mean
from skillgrad.searches.rewrite_first import Shown
from skillgrad.sleep.lint import plain, visible
from skillgrad.sleep.night import DIAGNOSTICS
from skillgrad.sleep.report import Diagnosed, Diagnostics
from skillgrad.sleep.rules import active
from skillgrad.sleep.staging import proposed_rules, read_proposal

__all__ = ["run"]

_LINE = 160


def run(args: argparse.Namespace) -> int:
    """Print the report of a night, and for each document what the held-out tasks and the optimizer said."""
    nights = find_nights(args)
    number = nights.number(args.night)
    report = nights.report(number)
    path = nights.state.night(number) / DIAGNOSTICS
    try:
        found = Diagnostics.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        found = Diagnostics(night=number, status=report.status)
    if args.json:
        stands = {"stands": nights.stands(number), "diagnostics": found.model_dump(mode="json")}
        output.json_result({**report.model_dump(mode="json"), **stands})
        return 0
    if args.task is not None:
        _print_task(found, args.task)
        return 0
    print_report(report, nights.stands(number))
    if nights.has_proposal(number):
        _print_rules(nights.folder(number), number)
    for document in found.documents:
        _print_document(document)
    output.line(f"\nall of it: {path}")
    return 0


def _print_rules(folder: Path, night: int) -> None:
    """The rules that a night brought, by id, with what they rest on."""
    rules = proposed_rules(folder, read_proposal(folder))
    output.line("\nrules (`sleep revert --rule ID` takes out one that is adopted)")
    for rule in (
        rule for those in rules.documents.values() for rule in active(those) if rule.night == f"{night:04d}"
    ):
        output.line(f"  {rule.id}  {plain(rule.text, _LINE)}")
        output.line(
            f"    from {counts({'tasks': len(rule.evidence.tasks), 'sessions': len(rule.evidence.sessions)})}"
        )


def _print_document(document: Diagnosed) -> None:
    output.line(f"\n{document.name}: held-out tasks under the last candidate")
    if not document.after:
        output.line("  no candidate was evaluated")
    before = {shown.task: shown for shown in document.before}
    for shown in document.after:
        old = before.get(shown.task)
        change = f"{_score(old)} -> {_score(shown)}"
        output.line(f"  {shown.task}  {change}  {plain(shown.why, _LINE)}")
        output.line(f"    replied: {plain(shown.response, _LINE)}")
    for reply in document.optimizer_replies:
        output.line(f"  the optimizer said: {plain(reply, _LINE)}")


def _print_task(found: Diagnostics, task: str) -> None:
    tasks = {shown.task for document in found.documents for shown in (*document.before, *document.after)}
    if task not in tasks:
        raise UsageError(f"night {found.night} has no held-out task {task!r}", hint=did_you_mean(task, tasks))
    for document in found.documents:
        for what, group in (("before", document.before), ("candidate", document.after)):
            for shown in group:
                if shown.task == task:
                    output.line(f"{document.name}, {what}: {_score(shown)}  {plain(shown.why, 500)}")
                    output.line(visible(shown.response))
                    output.line()


def _score(shown: Shown | None) -> str:
    return "void" if shown is None or shown.hard is None else f"{shown.hard:.2f}"
