"""`etude sleep show`: what a night did and why, its diff, its tasks, the sessions that are found."""

import argparse

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.sessions import show_sessions
from etude.cli.sleep.settings import WAITING, find_nights
from etude.cli.sleep.tasks import show_tasks
from etude.cli.sleep.text import elsewhere, print_report
from etude.cli.terminal import output
from etude.sleep.adoption.proposal import read_proposal, readable
from etude.sleep.limits import spent_so_far


def run(args: argparse.Namespace) -> int:
    """Print what is asked for of a night; of all that is found, the sessions."""
    _check(args)
    if args.sessions:
        return show_sessions(args)
    if args.tasks or args.to is not None:
        return show_tasks(args)
    return _diff(args) if args.diff else _report(args)


def _check(args: argparse.Namespace) -> None:
    if args.sessions and args.night is not None:
        raise UsageError("sessions are not those of a night", hint="leave out the number of the night")
    if args.to is not None and (args.sessions or args.diff):
        raise UsageError("--to is about tasks", hint="give --tasks in place of the other option")


def _report(args: argparse.Namespace) -> int:
    """The report of a night."""
    nights = find_nights(args)
    number = nights.number(args.night)
    report, stands = nights.report(number), nights.stands(number)
    if stands == "killed":  # it could not say itself what it has used
        report = report.model_copy(update={"spent": spent_so_far(nights.state.night(number))})
    found = nights.night(number)
    if args.json:
        rules = [rule.model_dump(mode="json") for rule in found.rules]
        output.json_result({**report.model_dump(mode="json"), "stands": stands, "rules": rules})
        return 0
    print_report(report, found, stands, elsewhere(args))
    output.line(f"\nstatistics and run folders: {nights.state.night(number)}")
    return 0


def _diff(args: argparse.Namespace) -> int:
    """Print what the proposal of a night would change, and note where it does not wait for a person."""
    nights = find_nights(args)
    number = nights.proposed(args.night)
    folder, stands = nights.folder(number), nights.stands(number)
    proposal = read_proposal(folder)
    if waiting := nights.pending(number).documents:
        proposal = proposal.model_copy(update={"documents": waiting})
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
