"""A task's own words in what an optimizer writes: runs of them that stand in this task only."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from etude.records import Task
from etude.records.tasks import once_each
from etude.stages.shared.postings import Postings
from etude.stages.shared.word_list import words_of

_RUN = 8
"""Words in a row that are taken for a copy: long enough not to be shared by chance."""
_PIECE = 4
"""Words in a row by which tasks are found that may have a run."""
_STRIDE = _RUN - _PIECE + 1
"""A piece is noted at each of so many words: every run has one of them in it."""


class OwnWords:
    """Finds runs of words that stand in one of the tasks only. What tasks share is their common wording; a task that
    several targets attempt is one task."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = once_each(tasks)
        self._texts: list[str] = []
        self._pieces = Postings(self._read())

    def copied(self, text: str, before: str) -> frozenset[str]:
        """Ids of the tasks of which a text has a run that is not in the text before."""
        return frozenset(task.id for _, number in self._runs(text, before) for task in self._tasks[number])

    def why(self, text: str, before: str) -> str:
        """What is wrong with a text that copies tasks; empty when it copies none."""
        return next((f"it copies {run!r}" for run, _ in self._runs(text, before)), "")

    def _read(self) -> Iterator[Iterable[tuple[str, ...]]]:
        """Keep the texts of the tasks, and give the pieces of each."""
        for task, *_ in self._tasks:
            words = words_of(task.input)
            self._texts.append(_spaced(words))
            yield zip(*(words[first::_STRIDE] for first in range(_PIECE)), strict=False)

    def _runs(self, text: str, before: str) -> Iterator[tuple[str, int]]:
        """The new runs that stand in one task only, and the number of that task."""
        words, known = words_of(text), _spaced(words_of(before))
        having = [self._pieces.having(tuple(words[at : at + _PIECE])) for at in range(len(words) - _PIECE + 1)]
        for start in range(len(words) - _RUN + 1):
            run = _spaced(words[start : start + _RUN])
            likely = frozenset[int]().union(*having[start : start + _STRIDE])
            found = list(islice((number for number in likely if run in self._texts[number]), 2))
            if len(found) == 1 and run not in known:
                yield run.strip(), found[0]


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "
