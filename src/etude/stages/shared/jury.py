"""The edits that entered a skill and may do harm, and attempts with some of them left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from etude.records import Attempt, Edit, Skill, Task, TaskHistory, TrainState
from etude.skill import apply_edits, revised
from etude.stages.shared.contest import REMOVAL
from etude.stages.shared.history import Measure
from etude.stages.shared.nearest import about, common_words
from etude.stages.shared.rollout import PlannedAttempt, Rollout

_TRACES, _RACES = 500_000, 600_000
"""First trials with edits left out, while harm is traced and in a race: an earlier skill may have been just that, and
its first trials chose the tasks."""
_TURNS = 2
"""Trials in which a task is attempted while harm is traced."""
BREAKS = "it breaks tasks"
"""The reason of each edit that takes another one back."""


class Removal(NamedTuple):
    """What takes an edit back that entered earlier."""

    edit: Edit
    entered: int
    """The step in which it entered."""
    tasks: tuple[str, ...]
    """Ids of the tasks for which it was proposed."""


class Suspect(NamedTuple):
    """An edit that may break tasks."""

    edit: Edit
    """What takes it back."""
    tasks: tuple[Task, ...]
    """Those that accuse it."""


@dataclass(frozen=True)
class Jury:
    """What suspicions are judged by."""

    rollout: Rollout
    state: TrainState
    measure: Measure
    tasks: Mapping[str, Task]
    """All training tasks, by id."""
    repeats: Callable[[Task], bool]
    """Whether a further trial of a task tells anything new."""
    _others: dict[str, list[Removal]] = field(default_factory=dict[str, list[Removal]], init=False)

    @cached_property
    def removals(self) -> list[Removal]:
        """What takes back each of the edits that entered and still stand in the skill, in their order."""
        return added(self.state)

    @cached_property
    def led(self) -> dict[str, str]:
        """By task, the id of the edit that it led to and that still stands."""
        standing = {one.edit.id for one in self.removals}
        return {task: edit for task, edit in self.state.traced.items() if edit in standing and task in self.tasks}

    @cached_property
    def history(self) -> dict[str, TaskHistory]:
        """Of the tasks that may accuse an edit: not of those that led to one which was judged and stays."""
        led = self.led
        known = sorted(self.state.history.items())
        return {name: each for name, each in known if led.get(name) not in self.state.settled}

    @property
    def trace(self) -> int:
        """First trial in which this step attempts tasks with edits left out, to trace harm."""
        return _TRACES + _TURNS * self.state.step

    @property
    def race(self) -> int:
        """First trial in which the next race does."""
        return _RACES + REMOVAL.most * self.state.races

    @cached_property
    def _common(self) -> frozenset[str]:
        return common_words(list(self.tasks.values()))

    def others(self, task: Task) -> list[Removal]:
        """What takes back the edits that are not about the task, by its words; where these do not tell, those that
        were not proposed for it. None where nothing was."""
        if task.id not in self._others:
            own = about(task, self._common, [one.edit.target for one in self.removals])
            proposed = any(task.id in entry.tasks for entry in self.state.ledger)
            if not own:
                own = [number for number, one in enumerate(self.removals) if not proposed or task.id in one.tasks]
            self._others[task.id] = [one for number, one in enumerate(self.removals) if number not in own]
        return self._others[task.id]

    def without(self, edits: Sequence[Edit], task: Task | None = None) -> Skill:
        """The current skill with these taken back. A task has what was last proposed for it besides: where it never
        passed, it may miss a line as well, and that line was refused as nothing passes with what breaks the task."""
        missed = self.misses(task) if task else []
        return revised(self.state.current, [*missed, *edits])

    def misses(self, task: Task) -> list[Edit]:
        """Lines that were last proposed for a task that never passed, and did not enter."""
        known = self.state.history.get(task.id)
        mine = [one for one in self.state.ledger if task.id in one.tasks and one.edit.reason != BREAKS]
        if known is None or any(passed for _, passed in known.seen) or not mine:
            return []
        last = [one for one in mine if one.step == mine[-1].step and not one.accepted]
        return [one.edit for one in last if one.edit.op in ("append", "insert_after")]

    async def attempt(self, planned: Sequence[PlannedAttempt]) -> tuple[Attempt, ...]:
        """Make attempts.

        Raises:
            VoidStop: too many of them errored.
        """
        return await self.rollout.tried("harm", self.state.step, planned)


def added(state: TrainState) -> list[Removal]:
    """What takes back each of the edits that entered and still stand in the skill, in their order. Not deletions: who
    misses a line fails, and it is proposed anew. With them, a world of rules with exceptions ends .02 to .10 lower
    (means of 11 and of 20 seeds)."""
    found: dict[str, Removal] = {}
    for entry in state.ledger:
        edit, text = entry.edit, state.current.text
        # What takes back what entered brings nothing.
        brings = entry.accepted and edit.reason != BREAKS and edit.op != "rewrite" and edit.content.strip()
        if not brings or not _stands(edit, text):
            continue
        op, back = ("replace", edit.target) if edit.op == "replace" and edit.target else ("delete", "")
        undo = Edit(op=op, target=edit.content, content=back, reason=BREAKS)
        if apply_edits(text, [undo])[0] != text:
            found.pop(undo.id, None)  # where it came back, it counts from then on
            found[undo.id] = Removal(undo, entry.step, entry.tasks)
    return list(found.values())


def _stands(edit: Edit, text: str) -> bool:
    """Whether an edit is still in the skill: its lines, whatever their ends are, or the phrase it put into one."""
    lines, own = ([" ".join(line.split()) for line in each.splitlines()] for each in (text, edit.content.strip()))
    whole = any(lines[start : start + len(own)] == own for start in range(len(lines)))
    return whole or (edit.op == "replace" and edit.content.strip() in text)
