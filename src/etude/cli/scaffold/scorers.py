"""Which scorer fits gold answers, by what they look like."""

import re
from collections.abc import Callable, Sequence
from statistics import median

from pydantic import JsonValue

from etude.cli.scaffold.table import mapped
from etude.envs.scorers.numeric import read_number
from etude.readable import word_count

LONG_WORDS = 8
"""Gold answers of this many words and more, in sentences, are compared by overlap."""
_MOST_DIGITS = 15
"""Whole numbers with more digits are codes: they cannot be told apart as numbers."""

_LETTER = re.compile(r"\(?[A-J]\)?\.?")
_NUMBER = re.compile(r"[-+]?\s?[$€£]?\s?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?\s?%?")
_CODE = re.compile(rf"0\d+|\d{{{_MOST_DIGITS + 1},}}")
_SENTENCE = re.compile(r"[,.;:!?](?:\s|$)|[，。；：！？]")
_FORMULA = re.compile(r"\\(?:boxed|frac|dfrac|tfrac|sqrt|pi|text|left|cdot|infty)\b")


def guess_scorer(golds: Sequence[JsonValue]) -> tuple[str, str]:
    """(name of a scorer, what speaks for it)."""
    objects = any(isinstance(gold, dict) for gold in golds)  # then a list is no choice of answers, but one like them
    answers = golds if objects else [answer for gold in golds for answer in _alternatives(gold)]
    tests: tuple[tuple[str, Callable[[JsonValue], bool], str], ...] = (
        ("json", _is_object, "gold answers are objects"),
        ("numeric", is_number, "gold answers are numbers"),
        ("numeric", ends_in_number, "gold answers end in #### and a number"),
        ("choice", _is_letter, "gold answers are single letters"),
        ("math", _is_boxed, "gold answers are solutions with \\boxed{}"),
    )
    if answers and all(map(is_number, answers)) and any(map(_is_code, answers)):
        return "exact", "gold answers are codes: some begin with 0 or are too long to be numbers"
    for name, test, why in tests:
        if answers and all(test(answer) for answer in answers):
            return name, why
    texts = [answer for answer in answers if isinstance(answer, str)]
    if any(map(_FORMULA.search, texts)) and median(word_count(text) for text in texts) < LONG_WORDS:
        return "math", "gold answers are formulas"
    long = [text for text in texts if word_count(text) >= LONG_WORDS and _SENTENCE.search(text)]
    if texts and median(word_count(text) for text in texts) >= LONG_WORDS and len(long) * 2 > len(texts):
        return "f1", "gold answers are long texts"
    return "exact", "gold answers are short texts"


def _alternatives(gold: JsonValue) -> list[JsonValue]:
    """A list of texts is several answers that are equally right."""
    if isinstance(gold, list) and gold and all(isinstance(item, str | int | float) for item in gold):
        return gold
    return [gold]


def _is_object(value: JsonValue) -> bool:
    """An object or a list, also an object that is written as text."""
    return isinstance(value, dict | list) or (isinstance(value, str) and mapped(value) is not None)


def is_number(value: JsonValue) -> bool:
    """Whether a gold answer is a number, also with separators, a currency or a percent sign."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return True
    return isinstance(value, str) and any(map(str.isdigit, value)) and bool(_NUMBER.fullmatch(value.strip()))


def _is_code(value: JsonValue) -> bool:
    return bool(_CODE.fullmatch(str(value).strip()))


def ends_in_number(value: JsonValue) -> bool:
    """Whether a gold answer is a solution with the number behind `####`."""
    return isinstance(value, str) and "####" in value and read_number(value.rpartition("####")[2]) is not None


def _is_letter(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(_LETTER.fullmatch(value.strip()))


def _is_boxed(value: JsonValue) -> bool:
    return isinstance(value, str) and "\\boxed" in value
