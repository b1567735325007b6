"""A scorer for numbers, as people and models write them."""

import re
from math import isclose, isfinite
from typing import Literal

from pydantic import Field

from etude.config import Section
from etude.envs.scorers.base import AnswerScorer, accepted, expected, graded
from etude.errors import DataError
from etude.records import Score, Task

_MARK = "####"
_NUMBER = re.compile(
    r"""
    (?P<sign>(?<![\w)\]])[-+\u2212])?       # a minus after a word or bracket is an operator or a range
    (?:\\?[$\u20ac\u00a3\u00a5\u20b9]\s?)?  # currency
    (?P<inner>(?<=[$\u20ac\u00a3\u00a5\u20b9])[-\u2212])?
    (?<![A-Za-z_.\d])                        # not inside a word or another number
    (?P<digits>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)
    (?P<exponent>[eE][-+\u2212]?\d+|\s?(?:[x*\u00d7]|\\times)\s?10\^\{?[-+\u2212]?\d+\}?)?
    (?P<percent>\s?\\?%)?
    """,
    re.VERBOSE,
)


class NumericOptions(Section):
    """How near is near enough."""

    abs_tol: float = Field(default=0.0, ge=0)
    """Largest allowed difference."""
    rel_tol: float = Field(default=1e-9, ge=0)
    """Largest allowed difference as a share of the larger of the two numbers."""
    percent: Literal["drop", "fraction"] = "drop"
    """`drop` reads 45% as 45, `fraction` as 0.45; in answer and gold alike."""


class Numeric(AnswerScorer[NumericOptions]):
    """1 when the number in the answer equals a gold number, else 0.

    The number is the first one after the last `####`, else the last one of the answer. Thousands separators,
    currency signs, percent signs and scientific notation are understood.
    """

    name = "numeric"
    options_type = NumericOptions

    def compare(self, task: Task, answer: str) -> Score:
        """hard = soft: 0 or 1. Raises DataError when a gold answer holds no number."""
        golds = accepted(task)
        values = [read_number(gold, self.options.percent) for gold in golds]
        for gold, value in zip(golds, values, strict=True):
            if value is None:
                raise DataError(f"task {task.id!r}: gold {gold[-80:]!r} holds no number", hint="use another scorer")
        got = read_number(answer, self.options.percent)
        shown = [f"{value:.12g}" for value in values if value is not None]
        if got is None:
            return graded(False, 0.0, expected(shown, answer, "the answer holds no number"))
        near = {"rel_tol": self.options.rel_tol, "abs_tol": self.options.abs_tol}
        right = any(value is not None and isclose(value, got, **near) for value in values)
        return graded(right, float(right), expected(shown, f"{got:.12g}"))


def read_number(text: str, percent: Literal["drop", "fraction"] = "drop") -> float | None:
    """The number a text ends with, or the first one behind `####`; None when there is none or it is too large."""
    head, mark, tail = text.rpartition(_MARK)
    found = list(_NUMBER.finditer(tail))
    if not found:
        found = list(_NUMBER.finditer(head))
        mark = ""
    if not found:
        return None
    match = found[0] if mark else found[-1]
    value = float(match["digits"].replace(",", "") + _exponent(match["exponent"]))
    if "-" in _ascii((match["sign"] or "") + (match["inner"] or "")):
        value = -value
    if match["percent"] and percent == "fraction":
        value /= 100
    return value if isfinite(value) else None


def _exponent(text: str | None) -> str:
    if text is None:
        return ""
    power = re.search(r"[-+]?\d+$", _ascii(text).rstrip("}"))
    return f"e{power.group()}" if power is not None else ""


def _ascii(text: str) -> str:
    return text.replace("\u2212", "-")
