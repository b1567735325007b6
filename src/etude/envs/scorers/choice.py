"""A scorer for multiple choice."""

import re

from etude.config import Section
from etude.envs.scorers.base import AnswerScorer, accepted, expected, graded
from etude.envs.splits import fold
from etude.errors import DataError
from etude.records import Score, Task

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_OPTION_LINE = re.compile(r"^[ \t]*(?:\(([A-Z])\)|\[([A-Z])\]|([A-Z])[).:])[ \t]*(\S.*)$", re.MULTILINE)
_OPTION_INLINE = re.compile(r"\(([A-Z])\)([^()]+)")
_ALONE = re.compile(r"[^A-Za-z0-9]*(?:[A-Za-z]+\{)?([A-Za-z])[^A-Za-z0-9]*")
_AT_START = re.compile(r"[*_ \t]*(?:\(([A-Za-z])\)|\[([A-Za-z])\]|([A-Z])[).:](?=\s|\*|$))")
# Repetitions are bounded: an answer may be any text, and must not be able to make its reading slow.
_LABEL = (
    r"[\s*_:=\"'$\\]{0,20}(?:(?:boxed|text)\{\\?){0,2}\s?"
    r"(?:\(([A-Za-z])\)|\[([A-Za-z])\]|([A-Z](?![\w'])|[a-z](?=[^\w\n]{0,20}$)))"
)
_ANSWER = re.compile(
    r"(?i:\banswer|\bboxed)(?i:\s{1,3}(?:is|would be|should be|choice|option)){0,3}" + _LABEL, re.MULTILINE
)
_CHOICE = re.compile(r"(?i:\b(?:option|choice|choose|select|pick))(?i:\s{1,3}is)?" + _LABEL, re.MULTILINE)
_BRACKET = re.compile(r"\(([A-Z])\)")


class ChoiceOptions(Section):
    """Settings of the choice scorer."""

    labels: str = ""
    """The letters to choose from, as in `ABCD`; those listed in the task's input when empty, else A to Z."""


class Choice(AnswerScorer[ChoiceOptions]):
    """1 when the answer names the gold label, else 0.

    Understood are a label alone (`B`, `(B)`, `B.`, `**B**`), behind words such as `answer:` or `option`, at the start
    of the last or first line, in brackets if it is the only one, and the text of a listed option. An answer that only
    repeats the options chooses none.
    """

    name = "choice"
    options_type = ChoiceOptions

    def compare(self, task: Task, answer: str) -> Score:
        """hard = soft: 0 or 1. Raises DataError when the gold is neither a label nor the text of an option."""
        listed = read_options(task.input)
        labels = self.options.labels.upper() or "".join(listed) or _ALPHABET
        golds: list[str] = []
        for gold in accepted(task):
            label = read_label(gold, listed, labels)
            if label is None:
                raise DataError(
                    f"task {task.id!r}: gold {gold[:80]!r} is neither a label out of {labels} nor a listed option",
                    hint="write the label, as in 'B'",
                )
            golds.append(label)
        got = read_label(answer, listed, labels)
        right = got in golds
        shown = [f"({label}) {listed.get(label, '')}".strip() for label in golds]
        if got is None:
            return graded(False, 0.0, expected(shown, answer, "no choice could be read from the answer"))
        return graded(right, float(right), expected(shown, f"({got}) {listed.get(got, '')}".strip()))


def read_options(text: str) -> dict[str, str]:
    """Label to text of the options a task lists, one to a line or in a row; empty unless they begin with A, B."""
    lines = [(match[1] or match[2] or match[3], match[4].strip()) for match in _OPTION_LINE.finditer(text)]
    inline = [(match[1], match[2].strip()) for match in _OPTION_INLINE.finditer(text)]
    for found in (lines, inline):
        labels = "".join(label for label, _ in found)
        if len(labels) > 1 and _ALPHABET.startswith(labels):
            return dict(found)
    return {}


def read_label(answer: str, listed: dict[str, str], labels: str) -> str | None:
    """The label an answer chooses, in upper case; None when none or more than one could be meant."""
    text = answer.strip()
    if not text:
        return None
    lines = text.splitlines()
    alone = _ALONE.fullmatch(text) or _ALONE.fullmatch(lines[-1])
    if alone is not None and alone[1].upper() in labels:
        return alone[1].upper()
    if found := _labels(_ANSWER, text, labels):
        return found[-1]
    if (label := _listed_text(text, listed)) is not None:
        return label
    repeated = bool(listed) and read_options(text) == listed
    for line in () if repeated else (lines[-1], lines[0]):
        start = _AT_START.match(line)
        if start is not None and (label := _label(start)) in labels:
            return label
    for pattern in (_CHOICE, _BRACKET):
        if len(found := set(_labels(pattern, text, labels))) == 1:
            return found.pop()
    return _contained_text(text, listed)


def _label(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None).upper()


def _labels(pattern: re.Pattern[str], text: str, labels: str) -> list[str]:
    return [label for match in pattern.finditer(text) if (label := _label(match)) in labels]


def _listed_text(text: str, listed: dict[str, str]) -> str | None:
    folded = fold(text).rstrip(".")
    found = [label for label, option in listed.items() if fold(option).rstrip(".") == folded]
    return found[0] if len(found) == 1 else None


def _contained_text(text: str, listed: dict[str, str]) -> str | None:
    folded = fold(text)
    found = [
        label
        for label, option in listed.items()
        if re.search(rf"(?<!\w){re.escape(fold(option).rstrip('.'))}(?!\w)", folded)
    ]
    return found[0] if len(found) == 1 else None
