"""Columns of labels: few short values, of which each answer is one."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pydantic import JsonValue
from rapidfuzz import fuzz, process

from etude.cli.scaffold.table import LABELS, Table
from etude.envs.files import Row
from etude.envs.splits import fold, one_form
from etude.readable import word_count
from etude.records import canonical

MOST_LABELS = 30
"""A column with more different values is no column of labels."""
_LABEL_CHARS = 40
_FILLED = 0.8
_MANY = 10
"""Rows from which a label that occurs once is odd."""
_MOST_ODD = 3
"""Where more labels occur once, most are rare, and none is odd."""
_NO_LABEL = frozenset(("n/a", "#n/a", "na", "nan", "null", "-", "?", "tbd"))
"""How tables write that there is none."""
_SIGNS = " .,;:!"
_JOINED = re.compile(r"\s*[,;|/+&]\s*")
_BETWEEN = re.compile(r"(?<=\w)[_-](?=\w)")
_ALIKE = 75.0
"""Percent; a label that is so near another one may be a slip of the pen."""
_EXTRACTED = 0.8
"""Of the rows: where so many answers stand in their own input, they are found there and not chosen."""


@dataclass(frozen=True)
class OddLabel:
    """A label that a single row has, beside labels that many have, or that may stand for none."""

    label: str
    place: str
    near: str
    """The label that is spelled nearly so; empty where there is none."""
    times: int = 1

    @property
    def what(self) -> str:
        """For people."""
        if self.times > 1:
            return f"label {self.label!r} occurs {self.times} times, as at {self.place}, and may stand for no label"
        return f"label {self.label!r} occurs once, at {self.place}" + (f", beside {self.near!r}" * bool(self.near))


def is_label(table: Table, column: str) -> bool:
    """Few different short values, in nearly all rows."""
    values = [value for value in table.values(column) if value not in (None, "")]
    if not all(isinstance(value, str | int) for value in values) or len(values) < _FILLED * len(table.sample):
        return False
    found = _spelled(table, column)
    return 1 < len(found) <= min(MOST_LABELS, len(values) // 3) and all(len(name) <= _LABEL_CHARS for name in found)


def labels_of(table: Table, asked: Sequence[str], gold: str, scorer: str) -> list[str]:
    """The labels to choose from, in order, each in its usual spelling; empty where the task is none of choosing, or
    names them already."""
    if table.wishes.scorer or not is_label(table, gold):
        return []
    called = any(name == gold and LABELS.fullmatch(folded) for folded, name in table.folded.items())
    if scorer != "exact" and not called:
        return []
    texts = [str(table.value(row, asked[-1])) for row in table.sample]
    labels = sorted(_spelled(table, gold).values())
    if not called and median(map(word_count, texts)) < 3:
        return []
    shown = sum(all(label in text for label in labels) for text in texts)
    return [] if shown * 2 > len(texts) or extracted(table, asked, gold) else labels


def extracted(table: Table, asked: Sequence[str], gold: str) -> bool:
    """Whether answers stand in their own inputs, word for word."""
    inputs = (fold("\n".join(str(table.value(row, column)) for column in asked)) for row in table.sample)
    golds = (fold(str(value)) for value in table.values(gold))
    found = sum(_has_words(text, answer) for text, answer in zip(inputs, golds, strict=True))
    return found >= _EXTRACTED * len(table.sample)


def decided(table: Table, column: str) -> Table:
    """The table with each label in its usual spelling where the scorer would take another for a wrong answer, and as
    the user said what odd ones mean: a row that has none then is left out."""
    meant = {**(_spelled(table, column) if is_label(table, column) else {})}
    meant |= {_key(label): said for label, said in table.wishes.labels.items()}
    rows: list[Row] = []
    for row in table.rows:
        value = table.value(row, column)
        label = meant.get(_key(value), value)
        if label or label == value:
            same = fold(str(label)) == fold(str(value))
            rows.append(row if same else Row(row.place, {**row.columns, column: label}))
    return table.with_rows(rows)


def odd_labels(table: Table, column: str) -> list[OddLabel]:
    """Labels that occur once beside many, or that may say that there is none, and that the user has not spoken of."""
    names, places = _spelled(table, column), {_key(table.value(row, column)): row.place for row in table.sample}
    counts = Counter(_key(value) for value in table.values(column) if value not in (None, ""))
    once = [label for label, count in counts.items() if count == 1]
    if len(table.sample) < _MANY or not len(once) <= min(_MOST_ODD, len(counts) - len(once)):
        once = []
    odd = dict.fromkeys([*once, *(label for label in counts if label in _NO_LABEL)])
    known = [label for label in counts if label not in odd]
    found: list[OddLabel] = []
    spoken_of = set(map(_key, table.wishes.labels))
    for label in (label for label in odd if label not in spoken_of):
        near = process.extractOne(label, known, scorer=fuzz.ratio, score_cutoff=_ALIKE)
        found.append(OddLabel(names[label], places[label], names[near[0]] if near else "", counts[label]))
    return found


def spellings(table: Table, column: str) -> list[str]:
    """A note on labels that are written in several ways."""
    names, ways = _spelled(table, column), dict[str, set[str]]()
    for value in table.values(column):
        ways.setdefault(_key(value), set()).add(str(value))
    several = [repr(names[key]) for key, found in ways.items() if len(found) > 1]
    return (
        [f"labels that differ in case, blanks, hyphens or a last sign are one: {', '.join(several)}"]
        if several
        else []
    )


def joined_labels(labels: Sequence[str]) -> list[str]:
    """A note on labels that are made of others, as `a, b` beside `a`."""
    known = set(map(_key, labels))
    joined = [label for label in labels if len(parts := _JOINED.split(label)) > 1 and known & set(map(_key, parts))]
    if not joined:
        return []
    some = "1 label seems" if len(joined) == 1 else f"{len(joined)} labels seem"
    return [f"{some} to be several in one cell, as {joined[0]!r}: an answer has to be just that text"]


def _key(value: JsonValue) -> str:
    """What makes a label the same as another."""
    text = _BETWEEN.sub(" ", fold(str(value)))
    return text.rstrip(_SIGNS) or text


def _spelled(table: Table, column: str) -> Mapping[str, str]:
    """The usual spelling of each label, by its key."""
    values = (value for value in table.values(column) if value not in (None, ""))
    texts = (one_form(value) if isinstance(value, str) else canonical(value) for value in values)
    counts = Counter(" ".join(text.split()) for text in texts)
    return {_key(name): name for name, _ in sorted(counts.items(), key=lambda found: (found[1], found[0]))}


def _has_words(text: str, words: str) -> bool:
    return bool(words) and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None
