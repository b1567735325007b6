"""Gold answers of training tasks that stand in what an optimizer writes: it read them in the feedback."""

import json
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from etude.records import Task
from etude.records.tasks import once_each
from etude.stages.shared.postings import Postings
from etude.stages.shared.word_list import words_of

_RUN = 8
"""Words in a row of a longer answer that are taken for a copy."""
_LETTERS, _DIGITS = 5, 3
"""Shortest answer that can be told from a word of a rule: without and with a digit in it."""
_COMMON = 3
"""An answer of this many tasks is a label, which rules have to name."""


class Golds:
    """The gold answers of tasks. Case, blanks and punctuation do not count.

    Left out are answers that a rule can hold for reasons of its own: short ones, those of several tasks, and those
    that half of the tasks name in their inputs. A task that several targets attempt is one task.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = once_each(tasks)
        self._inputs = ["".join(_words(task.input)) for task, *_ in self._tasks]
        self._answers = Postings(_answers(task.gold) for task, *_ in self._tasks)
        self._named: dict[str, bool] = {}
        """Of answers that were found, whether half of the tasks name them."""

    def copied(self, text: str, before: str) -> frozenset[str]:
        """Ids of the tasks whose answer stands in a text, and not in the text before."""
        found = {answer: owners for answer in _windows(_words(text)) if (owners := self._answers.having(answer))}
        known = _windows(_words(before)) if found else set[str]()
        return frozenset(
            task.id
            for answer, owners in found.items()
            if answer not in known and len(owners) < _COMMON and not self._is_named(answer)
            for number in owners
            for task in self._tasks[number]
        )

    def why(self, text: str, before: str) -> str:
        """What is wrong with a text that holds gold answers; empty when it holds none."""
        copied = sorted(self.copied(text, before))
        more = f" and of {len(copied) - 1} others" if len(copied) > 1 else ""
        return f"it copies the gold answer of {copied[0]!r}{more}" if copied else ""

    def _is_named(self, answer: str) -> bool:
        if answer not in self._named:
            self._named[answer] = 2 * sum(answer in text for text in self._inputs) >= len(self._inputs)
        return self._named[answer]


def _answers(gold: JsonValue) -> Iterator[str]:
    """The answers that a gold stands for, and the runs of long ones; what follows `####` is one of its own."""
    if gold is None:
        return
    for one in [gold, *gold] if isinstance(gold, list) else [gold]:
        text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
        for part in {text, text.rpartition("####")[2]}:
            words = _words(part.removesuffix(".0"))
            if len(words) > _RUN:
                yield from _runs(words, _RUN)
                continue
            answer = "".join(words)
            if len(answer) >= (_DIGITS if any(map(str.isdigit, answer)) else _LETTERS):
                yield answer


def _words(text: str) -> list[str]:
    return words_of(text.replace("_", " "))


def _runs(words: Sequence[str], length: int) -> list[str]:
    return ["".join(words[start : start + length]) for start in range(len(words) - length + 1)]


def _windows(words: Sequence[str]) -> set[str]:
    return {run for length in range(1, _RUN + 1) for run in _runs(words, length)}
