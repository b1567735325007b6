"""The parts of what notebooks show: small pieces of HTML that read well on light and on dark pages.

Everything that comes from outside goes through `safe`. No script, no style sheet, nothing that is loaded.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from html import escape

from etude.readable import visible

DIFF_LINES = 400
"""Most lines of a diff that are shown."""
_GREEN, _RED, _AMBER, _GREY = (
    f"rgba({color},.22)" for color in ("46,160,67", "218,54,51", "210,153,34", "128,128,128")
)
_BANDS = {"ship": _GREEN, "do not ship": _RED, "inconclusive": _AMBER}
_LINE = "1px solid rgba(128,128,128,.35)"
_MORE = re.compile(r"[\r\u200e\u200f\ud800-\udfff]")
"""What is harmless in a terminal only; halves of characters."""


def safe(text: str) -> str:
    """Text that is nothing but text in HTML, in quotes of an attribute as well."""
    return escape(_MORE.sub(lambda found: f"<U+{ord(found[0]):04X}>", visible(text)))


def diff_html(before: str, after: str) -> str:
    """Two texts line by line: what went and what came, with three lines around it."""
    # The first two lines name files.
    lines = list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm=""))[2:]
    if not lines:
        return small("the texts are equal")
    colors = {"+": _GREEN, "-": _RED, "@": _GREY}
    shown = "".join(
        f'<div style="background:{colors.get(line[0], "none")};padding:0 .4em">{_numbered(line)}</div>'
        for line in lines[:DIFF_LINES]
    )
    rest = len(lines) - DIFF_LINES
    style = "white-space:pre-wrap;overflow-wrap:anywhere;font-family:monospace;line-height:1.35;text-align:left"
    more = small(f"{rest:,} more lines") if rest > 0 else ""
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


def box(*parts: str) -> str:
    return f'<div style="max-width:50em;border:{_LINE};border-radius:6px;padding:.6em .8em">{"".join(parts)}</div>'


def band(text: str, about: str, verdict: str) -> str:
    style = f"background:{_BANDS.get(verdict, _GREY)};border-radius:4px;padding:.35em .6em;overflow-wrap:anywhere"
    return f'<div style="{style}"><b>{safe(text)}</b> <span style="opacity:.8">{safe(about)}</span></div>'


def warning(text: str) -> str:
    style = "border-left:4px solid rgb(210,153,34);padding:.1em .6em;margin:.4em 0;overflow-wrap:anywhere"
    return f'<div style="{style}">{safe(text)}</div>'


def small(text: str) -> str:
    return f'<div style="opacity:.75;font-size:.9em;white-space:pre-wrap;overflow-wrap:anywhere">{safe(text)}</div>'


def folded(title: str, inner: str) -> str:
    return f'<details style="margin:.3em 0"><summary style="cursor:pointer">{safe(title)}</summary>{inner}</details>'


def table(rows: Iterable[Sequence[str]]) -> str:
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
