"""Results as notebooks show them: small pieces of HTML that read well on light and on dark pages.

Everything that comes from outside goes through `safe`. No script, no style sheet, nothing that is loaded.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from etude.records.summary import Comparison, Flip, Interval, Step, Summary

DIFF_LINES = 400
"""Most lines of a diff that are shown."""
FLIPS = 10
"""Most tasks of a kind that are named."""
SIMULATED = "SIMULATED MODELS: these scores say nothing about a real model."
_GREEN, _RED, _AMBER, _GREY = (
    f"rgba({color},.22)" for color in ("46,160,67", "218,54,51", "210,153,34", "128,128,128")
)
_BANDS = {"ship": _GREEN, "do not ship": _RED, "inconclusive": _AMBER}
_LINE = "1px solid rgba(128,128,128,.35)"
_ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What would act on the page or on the reader's eye: controls, turns of direction, halves of characters."""


def safe(text: str) -> str:
    """Text that is nothing but text in HTML, in quotes of an attribute as well."""
    return escape(plain(text))


def plain(text: str) -> str:
    """Text whose control characters are shown."""
    return _ACTS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def summary_html(summary: "Summary") -> str:
    """Verdict, scores, the steps as a curve, costs, and what changed in the skill."""
    initial, best, cost = summary.initial, summary.best, summary.cost
    same = initial.hash == best.hash
    verdict = "the best skill is the initial one" if same else summary.verdict or "no verdict: not tested"
    notes = [] if summary.stopped is None else [f"stopped: {summary.stopped}"]
    notes += [] if summary.settle is None or same else [summary.settle.note]
    if summary.withheld:
        notes.append(f"{summary.withheld_why}: {summary.withheld}")
    rows = [("", "initial", "best"), ("validation", _score(initial.val), _score(best.val))]
    rows.append(("test", _score(initial.test), _score(best.test)))
    if summary.test_gain is not None and not same:
        rows.append(("test gain", "", f"{summary.test_gain.shown_change}, n={summary.test_gain.n}"))
    if summary.no_skill is not None:
        bare, worth = summary.no_skill.score, summary.no_skill.gain
        rows.append(("test, no skill", _score(bare), f"best is worth {worth.shown_change}"))
        notes += ["the test does not show that the skill helps"] if worth.low <= 0 else []
    calls = cost.target_calls + cost.optimizer_calls + cost.judge_calls
    money = (
        "cost unknown (no price set)"
        if cost.usd is None
        else f"${cost.usd:,.2f}"
        if cost.usd >= 0.01 or not cost.usd
        else f"${cost.usd:.4f}"
    )
    about = (
        f"{summary.steps} steps: {summary.accepted} accepted, {summary.rejected} rejected, {summary.skipped} skipped"
    )
    return _box(
        _band(verdict, f"run {summary.name}", "" if same else summary.verdict or ""),
        _warning(SIMULATED) if summary.simulated else "",
        *map(_warning, notes),
        _table(rows),
        curve(summary.curve),
        _small(f"{about}; {calls:,} calls, {money}. Mean {summary.metric} score with its 95% interval."),
        "" if same else _changes(Path(summary.folder), initial.skill, best.skill),
        _small(f"best skill: {Path(summary.folder) / best.skill}"),
    )


def comparison_html(found: "Comparison") -> str:
    """Verdict, scores of both skills, the difference with its interval, and the tasks behind it."""
    rows = [("", "skill", "score"), ("A", found.a.skill, _score(found.a.score))]
    rows += [("B", found.b.skill, _score(found.b.score)), ("B − A", "", found.difference.shown_change)]
    trials = "1 trial" if found.trials == 1 else f"{found.trials} trials each"
    errors = f"; {found.voids} attempts errored" if found.voids else ""
    about = f"{found.split} split, n={found.difference.n}, {trials}, mean {found.metric} score{errors}"
    return _box(
        _band(found.verdict, "B in place of A", found.verdict),
        _warning(SIMULATED) if found.simulated else "",
        "" if found.settle is None else _warning(found.settle.note),
        _table(rows),
        _interval(found.difference),
        _small(_claims(found)),
        _small(f"{about}; {len(found.gained)} better, {len(found.lost)} worse, {found.equal} equal under B."),
        _flips("better under B", found.gained),
        _flips("worse under B", found.lost),
    )


def _claims(found: "Comparison") -> str:
    """What the verdict is about, and the other claim."""
    if found.these is None:
        return ""
    if found.claim == "these tasks":
        return f"The verdict is about just these tasks: {found.these.why}."
    return f"The verdict is about tasks like these. On just these tasks: {found.these.verdict}, {found.these.why}."


def progress_html(name: str, place: str, share: float | None, numbers: str, told: Sequence[str]) -> str:
    """Where a run is: its name, its stage with a bar (`share` of it is done), how it goes, what was told."""
    bar = ""
    if share is not None:
        inner = f'<div style="width:{100 * min(1.0, share):.0f}%;height:100%;background:rgb(46,160,67)"></div>'
        bar = f'<div style="height:6px;margin:.4em 0;background:{_GREY};border-radius:3px">{inner}</div>'
    style = "white-space:pre-wrap;font-family:monospace;font-size:.9em;overflow-wrap:anywhere"
    lines = f'<div style="{style}">{safe(chr(10).join(told))}</div>' if told else ""
    return _box(_band(name, place, ""), bar, _small(numbers), lines)


def diff_html(before: str, after: str) -> str:
    """Two texts line by line: what went and what came, with three lines around it."""
    # The first two lines name files.
    lines = list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm=""))[2:]
    if not lines:
        return _small("the texts are equal")
    colors = {"+": _GREEN, "-": _RED, "@": _GREY}
    shown = "".join(
        f'<div style="background:{colors.get(line[0], "none")};padding:0 .4em">{_numbered(line)}</div>'
        for line in lines[:DIFF_LINES]
    )
    rest = len(lines) - DIFF_LINES
    style = "white-space:pre-wrap;overflow-wrap:anywhere;font-family:monospace;line-height:1.35;text-align:left"
    more = _small(f"{rest:,} more lines") if rest > 0 else ""
    return f'<div style="{style}">{shown}</div>{more}'


def _numbered(line: str) -> str:
    """A line of a diff with its sign, or where the next lines are."""
    if line.startswith("@@"):
        return safe(f"line {line.split()[1].lstrip('-').partition(',')[0]}")
    return safe(f"{line[0]} {line[1:]}")


def counted_changes(before: str, after: str) -> tuple[int, int]:
    """How many lines came and how many went."""
    lines = list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm=""))[2:]
    return sum(line[0] == "+" for line in lines), sum(line[0] == "-" for line in lines)


def curve(steps: "Sequence[Step]") -> str:
    """Scores by step: training batches as a line, validation as squares; a full dot is a step that was accepted."""
    known = [(number, step, step.batch) for number, step in enumerate(steps) if step.batch is not None]
    if not known:
        return ""
    wide = 300 / max(1, len(steps) - 1)
    places = [(36 + number * wide, _high(score), step) for number, step, score in known]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" stroke="currentColor" '
        f'fill="{"currentColor" if step.action == "accepted" else "none"}">'
        f"<title>{safe(f'step {step.step}, {step.action}: {step.batch:.2f}')}</title></circle>"
        for x, y, step in places
    )
    squares = "".join(
        f'<rect x="{32 + number * wide:.1f}" y="{_high(step.val) - 4:.1f}" width="8" height="8" '
        f'fill="rgb(56,139,253)"><title>{safe(f"validation after step {step.step}: {step.val:.2f}")}</title></rect>'
        for number, step in enumerate(steps)
        if step.val is not None
    )
    scale = "".join(
        f'<line x1="30" x2="342" y1="{_high(at)}" y2="{_high(at)}" stroke="currentColor" opacity=".2"/>'
        f'<text x="26" y="{_high(at) + 4}" text-anchor="end" font-size="11" fill="currentColor">{at}</text>'
        for at in (0, 1)
    )
    path = f'<polyline points="{line}" fill="none" stroke="currentColor" opacity=".55"/>'
    blue = " <span style='color:rgb(56,139,253)'>■</span> validation" if squares else ""
    legend = f'<div style="opacity:.75;font-size:.9em">by step: ○ training batch, ● accepted{blue}</div>'
    return f'<div style="margin:.4em 0">{_svg("scores by step", 96, scale + path + squares + dots)}{legend}</div>'


def _high(score: float) -> float:
    return round(86 - 76 * score, 1)


def _interval(found: "Interval") -> str:
    """A difference with its interval, on a line from -1 to 1."""

    def at(value: float) -> float:
        return round(175 + 160 * max(-1.0, min(1.0, value)), 1)

    marks = "".join(
        f'<text x="{at(value)}" y="42" text-anchor="middle" font-size="11" fill="currentColor">{text}</text>'
        for value, text in ((-1, "−1"), (0, "0"), (1, "+1"))
    )
    low, mean, high = map(at, (found.low, found.mean, found.high))
    lines = (
        '<line x1="15" x2="335" y1="16" y2="16" stroke="currentColor" opacity=".25"/>'
        '<line x1="175" x2="175" y1="4" y2="28" stroke="currentColor" opacity=".6"/>'
        f'<line x1="{low}" x2="{high}" y1="16" y2="16" stroke="rgb(56,139,253)" stroke-width="5"/>'
        f'<circle cx="{mean}" cy="16" r="5" fill="currentColor"/>'
    )
    return _svg("difference with its 95% interval", 46, lines + marks)


def _svg(label: str, high: int, inner: str) -> str:
    size = f'width="350" height="{high}" viewBox="0 0 350 {high}"'
    return f'<svg {size} style="max-width:100%" role="img" aria-label="{label}">{inner}</svg>'


def _changes(folder: Path, before: str, after: str) -> str:
    """What changed from one skill file of a run folder to another; nothing where they are gone."""
    try:
        texts = [(folder / name).read_bytes().decode(errors="replace") for name in (before, after)]
    except OSError:
        return ""
    plus, minus = counted_changes(*texts)
    return _folded(f"what changed in the skill (+{plus} −{minus} lines)", diff_html(*texts))


def _flips(what: str, flips: "Sequence[Flip]") -> str:
    if not flips:
        return ""
    rows = [("task", "A", "B"), *((flip.task, f"{flip.a:.2f}", f"{flip.b:.2f}") for flip in flips[:FLIPS])]
    more = _small(f"and {len(flips) - FLIPS:,} more") if len(flips) > FLIPS else ""
    return _folded(f"{len(flips)} {what}", _table(rows) + more)


def _score(interval: "Interval | None") -> str:
    return "not measured" if interval is None else f"{interval.shown}, n={interval.n}"


def _box(*parts: str) -> str:
    return f'<div style="max-width:50em;border:{_LINE};border-radius:6px;padding:.6em .8em">{"".join(parts)}</div>'


def _band(text: str, about: str, verdict: str) -> str:
    style = f"background:{_BANDS.get(verdict, _GREY)};border-radius:4px;padding:.35em .6em;overflow-wrap:anywhere"
    return f'<div style="{style}"><b>{safe(text)}</b> <span style="opacity:.8">{safe(about)}</span></div>'


def _warning(text: str) -> str:
    style = "border-left:4px solid rgb(210,153,34);padding:.1em .6em;margin:.4em 0;overflow-wrap:anywhere"
    return f'<div style="{style}">{safe(text)}</div>'


def _small(text: str) -> str:
    return f'<div style="opacity:.75;font-size:.9em;white-space:pre-wrap;overflow-wrap:anywhere">{safe(text)}</div>'


def _folded(title: str, inner: str) -> str:
    return f'<details style="margin:.3em 0"><summary style="cursor:pointer">{safe(title)}</summary>{inner}</details>'


def _table(rows: Iterable[Sequence[str]]) -> str:
    """The first row is the header, the first cell of a row its name."""
    lines: list[str] = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        style = f"text-align:left;padding:.15em 1.2em .15em 0;border-bottom:{_LINE};overflow-wrap:anywhere"
        cells = "".join(f'<{tag} style="{style}">{safe(cell)}</{tag}>' for cell in row)
        lines.append(f'<tr style="background:none">{cells}</tr>')
    # A page without a document type gives tables a color of their own.
    style = "color:inherit;font-size:inherit;border-collapse:collapse;margin:.5em 0;font-variant-numeric:tabular-nums"
    return f'<table style="{style}">{"".join(lines)}</table>'
