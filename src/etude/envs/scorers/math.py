"""A scorer for results of mathematics, as people and models write them in LaTeX."""

import re
from fractions import Fraction

from pydantic import Field

from etude.config import Section
from etude.envs.scorers.base import AnswerScorer, accepted, expected, graded
from etude.errors import DataError
from etude.records import Score, Task

_BOXED = ("\\boxed", "\\fbox")
_LONGEST = 2000
"""Characters of a result; a longer one is compared as text."""
_SPACES = re.compile(r"\\[,;:! ]|\\(?:quad|qquad)(?![A-Za-z])|~|\s+")
_SIZES = re.compile(r"\\(?:left|right|big|Big|bigg|Bigg|displaystyle)(?![A-Za-z])")
_WORDS = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox|operatorname)\{([^{}]*)\}")
_UNITS = re.compile(r"\\?%|\^\{?\\circ\}?|\\degree(?![A-Za-z])|°|\\?\$")
_SHORT_FRACTION = re.compile(r"\\frac(\d)(\d)")
_FRACTION = re.compile(r"([-+]?)(?:\\frac\{([-+]?\d+)\}\{(\d+)\}|([-+]?\d+)/(\d+))")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)")
_THOUSANDS = re.compile(r"\d{1,3}(?:,(?:\\!)?\d{3})+(?!\d)")
_SAYS = re.compile(r"(?i:.*\banswer(?: is)?)\s*:?\s*(.+?)\.?\s*")
_EQUALS = re.compile(r"[A-Za-z](?:\([A-Za-z]\))?=(?=[^=]+$)([^=]+)")


class MathOptions(Section):
    """How near is near enough."""

    rel_tol: float = Field(default=1e-9, ge=0)
    """Largest allowed difference between two numbers, as a share of the larger one."""


class Math(AnswerScorer[MathOptions]):
    r"""1 when the result in the answer equals a gold result, else 0.

    The result is what the last `\boxed{}` holds, in the answer and in the gold, else the last line. Spaces, `\left`,
    `\text`, dollar, percent and degree signs do not count; numbers and fractions are compared as numbers, everything
    else as it is written.
    """

    name = "math"
    options_type = MathOptions

    def compare(self, task: Task, answer: str) -> Score:
        """hard = soft: 0 or 1. Raises DataError when a gold answer has no result."""
        golds = [read_result(gold) for gold in accepted(task)]
        if not all(golds):
            raise DataError(f"task {task.id!r}: the gold answer has no result", hint="write it in \\boxed{}")
        got = read_result(answer)
        right = any(same_result(gold, got, self.options.rel_tol) for gold in golds)
        return graded(right, float(right), expected(golds, got))


def read_result(text: str) -> str:
    r"""What the last `\boxed{}` holds, else the last line without words before it; empty when there is none."""
    start, mark = max((text.rfind(mark), mark) for mark in _BOXED)
    if start >= 0:
        inside = text[start + len(mark) :].lstrip()
        if inside.startswith("{"):
            return _in_braces(inside).strip()
        if inside:
            return inside.split("$")[0].split()[0]
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    said = _SAYS.fullmatch(lines[-1][:_LONGEST])
    return (said[1] if said else lines[-1]).strip()


def same_result(one: str, other: str, rel_tol: float = 0.0) -> bool:
    """Whether two results are equal as numbers, or written alike."""
    left, right = normal(one), normal(other)
    if not left or not right:
        return False
    if left == right:
        return True
    first, second = _number(left), _number(right)
    if first is None or second is None:
        return False
    return abs(first - second) <= Fraction(rel_tol) * max(abs(first), abs(second))


def normal(result: str) -> str:
    """A result without what only changes how it looks."""
    text = result[:_LONGEST].strip()
    for mark in ("$$", "$", "\\(", "\\)", "\\[", "\\]"):
        text = text.removeprefix(mark).removesuffix(mark)
    text = _WORDS.sub(r"\1", text)
    text = text.replace("dfrac", "frac").replace("tfrac", "frac").replace("\u2212", "-")
    text = _SIZES.sub("", text)
    text = _THOUSANDS.sub(lambda match: match[0].replace(",", "").replace("\\!", ""), text)
    text = _SPACES.sub("", _UNITS.sub("", text))
    text = _SHORT_FRACTION.sub(r"\\frac{\1}{\2}", text).rstrip(".")
    if (named := _EQUALS.fullmatch(text)) is not None:
        text = named[1]
    return text.casefold()


def _number(text: str) -> Fraction | None:
    fraction = _FRACTION.fullmatch(text)
    if fraction is not None:
        sign, top, bottom, plain_top, plain_bottom = fraction.groups()
        below = int(bottom or plain_bottom)
        value = Fraction(int(top or plain_top), below) if below else None
        return -value if value is not None and sign == "-" else value
    return Fraction(text) if _NUMBER.fullmatch(text) else None


def _in_braces(text: str) -> str:
    """What stands between the brace at the start and its partner; to the end where that is missing."""
    depth = 0
    for place, sign in enumerate(text):
        if text[place - 1 : place] == "\\":
            continue
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return text[1:place]
    return text[1:]
