"""What an edit copies from training tasks, and which failures can then speak for it; whether it names one."""

from collections.abc import Collection, Iterable, Sequence

from etude.records import Attempt, Edit, Task
from etude.stages.shared.golds import Golds
from etude.stages.shared.own_words import OwnWords


class Copies:
    """Finds gold answers and own words of tasks in edits. That an edit solves a task which it copies says nothing
    for it."""

    def __init__(self, golds: Golds, tasks: Sequence[Task]) -> None:
        self._golds = golds
        self._own_words = OwnWords(tasks)

    def copied(self, edit: Edit, before: str) -> frozenset[str]:
        """Ids of the tasks that an edit of this text copies."""
        return self._golds.copied(edit.content, before) | self._own_words.copied(edit.content, before)

    def spoken_for(
        self, edit: Edit, failures: Sequence[Attempt], read: Iterable[Collection[str]], before: str
    ) -> tuple[Edit, str]:
        """An edit without the cites of tasks that it copies, and why it is left out; empty when it is not.

        Where it cites only tasks whose words it copies, the failures that were read together with them count: a rule
        that comes with an example may be a good one.

        Args:
            read: ids of attempts that were read together.
            before: the text that the edit is for.
        """
        copied = self.copied(edit, before)
        if not copied:
            return edit, ""
        answers = self._golds.copied(edit.content, before)
        if {attempt.id for attempt in failures if attempt.task.id in answers}.issuperset(edit.cites):
            return edit, self._golds.why(edit.content, before)
        able = [attempt.id for attempt in failures if attempt.task.id not in copied]
        cites = [cite for cite in edit.cites if cite in able]
        if not cites:
            beside = {name for ids in read if not set(edit.cites).isdisjoint(ids) for name in ids}
            cites = [name for name in able if name in beside]
        why = "" if cites else self._own_words.why(edit.content, before)
        return edit.model_copy(update={"cites": tuple(cites)}), why


def names_one(edit: Edit, names: Iterable[str]) -> str:
    """Which of these tasks and attempts the edit names; empty when it names none."""
    # A bare number or word may stand in a statement for reasons of its own.
    telling = (name for name in names if len(name) > 4 and not name.isdigit() and any(map(str.isdigit, name)))
    named = next((name for name in telling if name in edit.content), "")
    return f"it names {named!r}" if named else ""
