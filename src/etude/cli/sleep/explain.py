"""`etude sleep explain`."""

import argparse
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import counts, elsewhere, print_report, provenance_lines, rules_data
from etude.cli.terminal import output
from etude.errors import DataError, did_you_mean
from etude.sleep.adoption.adopt import kept_rules, taken_out
from etude.sleep.adoption.proposal import proposed_rules, read_proposal
from etude.sleep.adoption.rules import active
from etude.sleep.adoption.structure import plain, visible
from etude.sleep.improve.held_out import Shown
from etude.sleep.limits import spent_so_far
from etude.sleep.night import DIAGNOSTICS, read_tasks
from etude.sleep.report import Diagnosed, Diagnostics
from etude.sleep.tasks.mined import MinedTask

__all__ = ["run"]

_LINE = 160


def run(args: argparse.Namespace) -> int:
    """Print the report of a night, and for each document what the held-out tasks and the optimizer said."""
    nights = find_nights(args)
    number = nights.number(args.night)
    report = nights.report(number)
    stands = nights.stands(number)
    if stands == "killed":  # it could not say itself what it has used
        report = report.model_copy(update={"spent": spent_so_far(nights.state.night(number))})
    tasks: tuple[MinedTask, ...] = ()
    with suppress(DataError):  # damaged, it is why the night failed, and its report says so
        tasks = read_tasks(nights.state, number)
    path = nights.state.night(number) / DIAGNOSTICS
    try:
        found = Diagnostics.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        found = Diagnostics(night=number, status=report.status)
    out = [(real, rule.id) for real, rule in taken_out(f"{number:04d}", kept_rules(nights.state.folder))]
    if args.json:
        more: dict[str, Any] = {"stands": stands, "diagnostics": found.model_dump(mode="json")}
        stood = {task.id: [one.model_dump(mode="json") for one in task.snapshots] for task in tasks}
        more["taken_out"] = [{"document": real, "id": name} for real, name in out]
        told = {"rules": _rules(nights.folder(number), number) if nights.has_proposal(number) else []}
        output.json_result({**report.model_dump(mode="json"), **more, **told, "snapshots": stood})
        return 0
    if args.task is not None:
        _print_task(found, args.task)
        return 0
    print_report(report, stands, elsewhere(args), outdated=nights.outdated(number))
    if nights.has_proposal(number):
        _print_rules(nights.folder(number), number, out)
    for document in found.documents:
        _print_document(document)
    if report.doubts:
        output.line("\ntasks whose criteria do not hold what they promise")
    for doubt in report.doubts:
        output.line(f"  {doubt.task}  {doubt.why}: {plain(doubt.intent, _LINE)}")
    for text in provenance_lines(tasks):
        output.line(text)
    if path.exists():
        output.line(f"\nall of it: {path}")
    return 0


def _rules(folder: Path, night: int) -> list[dict[str, Any]]:
    """As `_print_rules`, as data."""
    return rules_data(proposed_rules(folder, read_proposal(folder)), f"{night:04d}")


def _print_rules(folder: Path, night: int, out: Collection[tuple[str, str]]) -> None:
    """The rules that a night brought, by id, with what they rest on; and those that it retired, with why.

    Args:
        out: document and id of those that were taken out since.
    """
    name = f"{night:04d}"
    documents = proposed_rules(folder, read_proposal(folder)).documents
    rules = [rule for those in documents.values() for rule in those]
    output.line("\nrules (`sleep revert --rule ID` takes out one that is adopted)")
    brought = [(real, rule) for real, those in documents.items() for rule in active(those) if rule.night == name]
    for real, rule in brought:
        since = "taken out: " if (real, rule.id) in out else ""
        output.line(f"  {rule.id}  {since}{plain(rule.text, _LINE)}")
        if rule.replaces:
            output.line(f"    in the place of {rule.replaces}, in other words")
        output.line(
            f"    from {counts({'tasks': len(rule.evidence.tasks), 'sessions': len(rule.evidence.sessions)})}"
        )
    for rule in (rule for rule in rules if rule.ablation and rule.retired == name):
        output.line(f"  {rule.id}  retired: {plain(rule.text, _LINE)}")
        output.line(f"    {rule.ablation}")


def _print_document(document: Diagnosed) -> None:
    if document.left_out:
        output.line(f"\n{document.name}: rules that were left out on trial")
    for rule in document.left_out:
        output.line(f"  {rule.rule}  {rule.told}: {plain(rule.text, _LINE)}")
        if rule.missed:
            output.line(f"    missed by {plain(', '.join(rule.missed), _LINE)}")
    which = "the candidate" if document.status in ("accepted", "inconclusive") else "the last candidate"
    output.line(f"\n{document.name}: held-out tasks under the old document -> under {which}")
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
