"""A scorer for structured answers."""

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import cast

from pydantic import Field, JsonValue

from etude.config import Section
from etude.envs.files import reject_constant
from etude.envs.scorers.answer_scorer import AnswerScorer, expected, graded, pairs_up
from etude.envs.splits import one_form
from etude.errors import DataError
from etude.readable import some
from etude.records import Score, Task, canonical

_FENCE = re.compile(r"```[a-zA-Z0-9]*[ \t]*\n(.*?)```", re.DOTALL)
_STARTS = 1000
"""Most places in an answer where JSON is looked for."""
_SHOWN = 6


def _finite(digits: str) -> float:
    if not isfinite(value := float(digits)):
        raise ValueError(f"{digits[:80]} is too large")
    return value


_DECODER = json.JSONDecoder(parse_constant=reject_constant, parse_float=_finite)
"""Reads no number that could not be compared, or be written down again."""


class JsonOptions(Section):
    """What counts when two JSON values are compared."""

    ordered: bool = True
    """Lists must have the same order; False compares them as bags."""
    tolerance: float = Field(default=0.0, ge=0)
    """Largest allowed difference between two numbers."""
    casefold: bool = False
    """Ignore case, and white space around text."""
    allow_extra: bool = False
    """Fields that the gold does not have are ignored; False counts each of them as wrong."""


class Json(AnswerScorer[JsonOptions]):
    """Compares the JSON in an answer with the gold, field by field.

    The JSON is the last fenced block that parses, else the longest object or list in the text (the last of equals),
    else the whole text.
    A field is a value inside objects, as in `address.city`; a list is one field. Keys and texts are equal whatever
    their Unicode form.
    """

    name = "json"
    options_type = JsonOptions

    def compare(self, task: Task, answer: str) -> Score:
        """soft is the share of fields that are right, hard 1 when all are."""
        gold = self._gold(task)
        found = read_json(answer)
        if found is None:
            return graded(False, 0.0, expected([canonical(gold)], answer, "no JSON could be read from the answer"))
        want, got = dict(_fields(gold)), dict(_fields(found[0]))
        wrong = [f"{_shown(path)} is missing" for path in want if path not in got]
        wrong += [
            f"{_shown(path)} should be {canonical(value)[:80]}, is {canonical(got[path])[:80]}"
            for path, value in want.items()
            if path in got and not self._equal(value, got[path])
        ]
        if not self.options.allow_extra:
            wrong += [f"{_shown(path)} is not expected" for path in got if path not in want]
        extra = 0 if self.options.allow_extra else len(got.keys() - want.keys())
        total = len(want) + extra
        note = f"{len(wrong)} of {total} fields wrong: {some(wrong, _SHOWN, '; ')}"
        return graded(not wrong, (total - len(wrong)) / total, note)

    def gold_answer(self, task: Task) -> str:
        """The gold as JSON text."""
        return canonical(self._gold(task))

    def _gold(self, task: Task) -> JsonValue:
        """The gold value. Text that is JSON, as tables hold it, is read."""
        if task.gold is None:
            raise DataError(f"task {task.id!r} has no gold answer", hint="name its column in `fields.gold`")
        if isinstance(task.gold, str):
            parsed = _parse(one_form(task.gold))
            return one_form(task.gold) if parsed is None else parsed[0]
        return _one_form(task.gold)

    def _equal(self, one: JsonValue, other: JsonValue) -> bool:
        if isinstance(one, bool) or isinstance(other, bool):
            return one is other
        if isinstance(one, int | float) and isinstance(other, int | float):
            return one == other or self._near(one, other)
        if isinstance(one, str) and isinstance(other, str) and self.options.casefold:
            return one.strip().casefold() == other.strip().casefold()
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            if self.options.ordered:
                return all(map(self._equal, one, other))
            # In this order the first item that fits is the right one to take, also for numbers with a tolerance.
            return pairs_up(sorted(one, key=_rank), sorted(other, key=_rank), self._equal)
        if isinstance(one, dict) and isinstance(other, dict):
            keys_fit = one.keys() <= other.keys() if self.options.allow_extra else one.keys() == other.keys()
            return keys_fit and all(self._equal(value, other[key]) for key, value in one.items())
        return one == other

    def _near(self, one: float, other: float) -> bool:
        try:
            return abs(one - other) <= self.options.tolerance
        except OverflowError:  # a whole number that no float can hold is far from any
            return False


def _rank(value: JsonValue) -> tuple[int, float, str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0, value, ""
    return 1, 0, canonical(value)


def read_json(answer: str) -> tuple[JsonValue] | None:
    """The JSON in an answer, in a tuple of one since it may be null; None when there is none. Keys and texts in it
    have one Unicode form."""
    answer = one_form(answer)
    for block in reversed(_FENCE.findall(answer)):
        if (found := _parse(block)) is not None:
            return found
    if (found := _parse(answer)) is not None:
        return found
    best: tuple[JsonValue] | None = None
    longest = position = 0
    for _ in range(_STARTS):
        start = min((at for at in (answer.find("{", position), answer.find("[", position)) if at >= 0), default=-1)
        if start < 0:
            break
        try:
            value, end = _DECODER.raw_decode(answer, start)
            value = _one_form(value)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        if end - start >= longest:
            best, longest = (value,), end - start
        position = end
    return best


def _parse(text: str) -> tuple[JsonValue] | None:
    try:
        return (_one_form(_DECODER.decode(text)),)
    except (ValueError, RecursionError):
        return None


def _one_form(value: JsonValue) -> JsonValue:
    """The same value, with its keys and texts in one Unicode form."""
    return cast(JsonValue, json.loads(one_form(json.dumps(value, ensure_ascii=False))))


def _shown(path: tuple[str, ...]) -> str:
    return ".".join(path) or "value"


def _fields(value: JsonValue, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Path and value of every field; a value that is not an object, or an empty one, is a single field."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _fields(item, (*path, key))
    else:
        yield path, value
