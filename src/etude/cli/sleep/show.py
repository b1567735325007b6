"""`etude sleep show`: what a night did and why, its diff, its tasks, the sessions that are found."""

import argparse
from typing import Any

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.sessions import show_sessions
from etude.cli.sleep.settings import WAITING, find_nights
from etude.cli.sleep.tasks import show_tasks
from etude.cli.sleep.text import counts, elsewhere, page_of, print_report, print_rows, rules_data
from etude.cli.terminal import output
from etude.sleep.adoption.proposal import DIFF, read_proposal, readable
from etude.sleep.adoption.structure import doubts, plain
from etude.sleep.limits import spent_so_far
from etude.sleep.report import DocumentReport, HeldOutAttempt
from etude.sleep.state import REPORT

_LINE = 160


_OF_SESSIONS = ("source", "hours", "limit")


def run(args: argparse.Namespace) -> int:
    """Print what is asked for of a night; of all that is found, the sessions."""
    _check(args)
    if args.sessions:
        return show_sessions(args)
    if args.tasks or args.to is not None:
        return show_tasks(args)
    return _diff(args) if args.diff else _report(args)


def _check(args: argparse.Namespace) -> None:
    lost = [f"--{name}" for name in _OF_SESSIONS if getattr(args, name) is not None and not args.sessions]
    if lost:
        raise UsageError(f"{lost[0]} is about sessions", hint="add --sessions")
    if args.sessions and args.night is not None:
        raise UsageError("sessions are not those of a night", hint="leave out the number of the night")
    if args.to is not None and (args.sessions or args.diff or args.details):
        raise UsageError("--to is about tasks", hint="give --tasks in place of the other option")


def _report(args: argparse.Namespace) -> int:
    """The report of a night, and for each document what the held-out tasks and the optimizer said."""
    nights = find_nights(args)
    number = nights.number(args.night)
    report, stands = nights.report(number), nights.stands(number)
    if stands == "killed":  # it could not say itself what it has used
        report = report.model_copy(update={"spent": spent_so_far(nights.state.night(number))})
    rules, items = list[dict[str, Any]](), None
    if nights.has_proposal(number):
        proposal = read_proposal(nights.folder(number))
        items = nights.pending(number).items
        states = {item.rule.id: item.state for item in items}
        changed = {rule.id for one in proposal.documents for rule in (*one.added, *one.removed)}
        rules = rules_data({one.live.real: one.rules for one in proposal.documents}, changed)
        rules = [{**rule, "state": states.get(rule["id"])} for rule in rules]
    if args.json:
        output.json_result({**report.model_dump(mode="json"), "stands": stands, "rules": rules})
        return 0
    print_report(report, page_of(report, items), stands, elsewhere(args), details=args.details)
    if not args.details:
        more = f"{output.program()} sleep show {number}{elsewhere(args)} --details"
        output.line(f"\nstatistics and every answer: {more}")
        return 0
    if nights.has_proposal(number):
        _print_rules(rules)
    for document in report.documents:
        _print_document(document)
    if report.doubts:
        output.line("\ntasks with criteria that do not judge what they are for")
    for doubt in report.doubts:
        output.line(f"  {doubt.task}  {doubt.why}: {plain(doubt.intent, _LINE)}")
    output.line(f"\nall of it: {nights.state.night(number) / REPORT}")
    return 0


def _diff(args: argparse.Namespace) -> int:
    """Print what the proposal of a night would change, and note where it does not wait for a person."""
    nights = find_nights(args)
    number = nights.proposed(args.night)
    folder, stands = nights.folder(number), nights.stands(number)
    proposal = read_proposal(folder)
    text = (folder / DIFF).read_text(encoding="utf-8")
    if nights.waits(number):
        proposal = proposal.model_copy(update={"documents": nights.pending(number).documents})
        text = readable(proposal)
    if args.json:
        documents = [
            {"name": proposal.name(one), **one.model_dump(mode="json", exclude={"live": {"data"}})}
            for one in proposal.documents
        ]
        found = {"proposal": str(folder), "stands": stands, "diff": text}
        output.json_result({**found, "documents": documents})
        return 0
    if stands not in WAITING:
        output.note(f"note: night {number} is {stands}")
    for line in text.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        output.line(line, style)
    return 0


def _print_rules(rules: list[dict[str, Any]]) -> None:
    """The rules that a night brought, with what they rest on and what a person should look at, and those that it
    takes out."""
    replaced = {rule["replaces"] for rule in rules}
    output.line("\nrules (`sleep revert --rule ID` takes out one that is adopted)")
    for rule in rules:
        text = plain(rule["text"], _LINE)
        if rule["status"] == "active":
            since = "" if rule["state"] == "waits" else f"{rule['state']}: "
            output.line(f"  {rule['id']}  {since}{text}")
            if rule["replaces"]:
                output.line(f"    rewords {rule['replaces']}")
            output.line(f"    from {counts({what: len(rule['evidence'][what]) for what in ('tasks', 'sessions')})}")
            looked = (f"to look at: {doubt}" for doubt in doubts(rule["text"]))
            print_rows(("    why: ", rule["evidence"]["note"]), *(("    ", one) for one in looked))
        elif rule["id"] not in replaced:
            output.line(f"  {rule['id']}  out: {text}")


def _print_document(document: DocumentReport) -> None:
    which = "the candidate" if document.status in ("accepted", "inconclusive") else "the last candidate"
    output.line(f"\n{document.name}: held-out tasks under the old document -> under {which}")
    if not document.after:
        output.line("  no candidate was evaluated")
    before = {shown.task: shown for shown in document.before}
    for shown in document.after:
        change = f"{_score(before.get(shown.task))} -> {_score(shown)}"
        output.line(f"  {shown.task}  {change}  {plain(shown.why, _LINE)}")
        output.line(f"    replied: {plain(shown.response, _LINE)}")
    for reply in document.optimizer_replies:
        output.line(f"  the optimizer said: {plain(reply, _LINE)}")


def _score(shown: HeldOutAttempt | None) -> str:
    return "error" if shown is None or shown.hard is None else f"{shown.hard:.2f}"
