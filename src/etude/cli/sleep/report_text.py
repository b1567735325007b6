"""The report of a night for people."""

from collections.abc import Mapping, Sequence

from etude.cli.sleep.elsewhere import goes_on, only
from etude.cli.sleep.settings import WAITING
from etude.cli.terminal import output
from etude.cli.terminal.summary_text import LOUD, SIMULATED
from etude.sleep.adoption.structure import plain
from etude.sleep.limits import Spent
from etude.sleep.report import DocumentReport, NightReport
from etude.sleep.tasks.probe import GAMEABLE, HOLLOW

__all__ = ["counts", "document_lines", "print_report"]


def print_report(report: NightReport, stands: str = "", where: str = "", alone: Sequence[str] | None = ()) -> None:
    """What a night did, and what to do next.

    Args:
        stands: how it stands now, where that is asked for later and may be another thing than how it ended.
        where: what commands need to be about its nights, as `elsewhere` has it.
        alone: titles of the documents to adopt, where others of its proposal cannot be; None where none can be.
    """
    following = _next(report, stands, where, alone)
    stands = stands or report.status
    if report.simulated:
        output.line(SIMULATED, LOUD)
    why = f": {plain(report.reason, 500)}" if report.reason else ""
    output.line(f"night {report.night}  {stands}{why}")
    if report.hint:
        output.line(f"  hint: {plain(report.hint, 500)}")
    output.line(f"sessions  {counts(report.sessions)}" + (f"; {report.waiting} wait" if report.waiting else ""))
    if report.skipped:
        output.line(f"left out  {counts(report.skipped)}")
    if report.redacted:
        output.line(f"redacted  {counts(report.redacted)}")
    output.line(f"tasks     {counts(report.tasks)}")
    if report.dropped:
        output.line(f"dropped   {counts(report.dropped)}")
    if report.dropped.get(HOLLOW):
        output.line("  hint: name another `judge`: it grades the words of a rubric, not the work")
    gameable = sum(doubt.why == GAMEABLE for doubt in report.doubts)
    if gameable:
        output.line(f"gameable  {gameable}: an answer that has nothing but the words of their checks passes")
    for problem in report.problems:
        output.line(f"problem   {plain(problem, 300)}")
    for note in report.notes:
        output.line(f"note      {plain(note, 500)}")
    for document in report.documents:
        for text in document_lines(document):
            output.line(text)
    if report.test is not None:
        output.line(f"test      {report.test.mean:.3f} [{report.test.low:.3f}, {report.test.high:.3f}]")
    output.line(f"spent     {_spent(report.spent) if stands != 'under way' else 'not counted yet'}")
    for reason in report.held_back if stands in WAITING else ():
        output.line(f"waits for a person: {plain(reason, 300)}")
    for text in following:
        output.line(text)


def document_lines(document: DocumentReport) -> list[str]:
    """What came of a document."""
    lines = [f"{document.name}: {document.status}  ({plain(document.path, 300)})", f"  {plain(document.reason, 500)}"]
    if document.baseline is not None:
        after = "none made" if document.candidate is None else f"{document.candidate:.3f} (selected on)"
        lines.append(f"  held-out tasks: before {document.baseline:.3f}, candidate {after}, n={document.held_out}")
    if document.confirmed is not None:
        change = document.confirmed
        interval = f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
        lines.append(f"  fresh attempts: {interval}, verdict {document.verdict}")
    if document.fresh is not None:
        lines.append(f"  by luck alone: {document.fresh.told}")
    if document.settle:
        lines.append(f"  {document.settle}")
    if document.cost is not None:
        lines.append(f"  {document.cost.told}")
    return lines


def counts(found: Mapping[str, int]) -> str:
    """As in `3 codex, 5 pi`; `none` when there are none."""
    return ", ".join(f"{count:,} {plain(name, 80)}" for name, count in found.items() if count) or "none"


def _spent(spent: Spent) -> str:
    usd = "unknown" if spent.usd is None else f"{spent.usd:.4f} USD"
    return f"{spent.calls:,} calls, {spent.tokens:,} tokens, {usd}"


def _next(report: NightReport, stands: str, where: str, alone: Sequence[str] | None) -> list[str]:
    named = f"{report.night}{where}"
    adopt = () if alone is None else (f"adopt {report.night}{only(alone)}{where}",)
    commands = {
        "proposed": (f"diff {named}", *adopt),
        "adopted": (f"revert {named}",),
        "partly adopted": (f"diff {named}", *adopt, f"revert {named}"),
        "outdated": (f"diff {named}", f"tasks {named} --to tasks.json"),
    }
    lines = [f"{output.program()} sleep {command}" for command in commands.get(stands or report.status, ())]
    if not stands and (report.status == "no change" or (report.status == "nothing to do" and report.dropped)):
        lines = [f"{output.program()} sleep explain {named}"]
    if stands in ("stopped", "killed") and goes_on(report):
        lines = [goes_on(report)]
    return ["", "next:", *(f"  {line}" for line in lines)] if lines else []
