"""Harm: which edits that entered a skill break tasks that passed before them.

A task that passed once and now fails, twice in a row, accuses the edits that entered since. They are taken back
together on such tasks. Where that makes them pass, halves of the edits are tried until one is left. What breaks some
tasks may fix more others, so it is taken back only if random training tasks do better without it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import NamedTuple

from etude.records import Attempt, Edit, Skill, Task, TaskHistory, TrainState, digest
from etude.skill import apply_edits
from etude.stages.shared.contest import REMOVAL, Seen, account
from etude.stages.shared.history import Measure
from etude.stages.shared.noise import Outcomes
from etude.stages.shared.rollout import PlannedAttempt, Rollout

_LEAST = 2
"""Tasks that have to accuse an edit: a single lost task is mostly noise, and refusing edits for one threw out right
ones."""
_AT_ONCE = 4
"""Tasks that are attempted in one round."""
_COMPARED = 40
"""Random tasks that are compared: a rule that breaks a tenth of them more than it fixes loses here in nine of ten
cases."""


class Removal(NamedTuple):
    """What takes an edit back that entered earlier."""

    edit: Edit
    entered: int
    """The step in which it entered."""


class Broken(NamedTuple):
    """A task that passed before and fails now."""

    task: Task
    known: TaskHistory
    accused: frozenset[int]
    """Numbers of the edits that entered since it passed."""


class Harm(NamedTuple):
    """What was found."""

    edits: tuple[Edit, ...] = ()
    """What takes harmful edits back."""
    settled: frozenset[str] = frozenset()
    """Ids of edits and tasks that need not be looked at again."""
    attempts: tuple[Attempt, ...] = ()
    reason: str = ""


def added(state: TrainState) -> list[Removal]:
    """What takes back each of the edits that entered the current skill and still stand there."""
    found: list[Removal] = []
    words = _words(state.current.text)
    for entry in state.ledger:
        edit, own = entry.edit, _words(entry.edit.content)
        if not entry.accepted or not own or own not in words or edit.op == "rewrite":
            continue
        back = edit.target if edit.op == "replace" else ""
        undo = Edit(op="replace" if back else "delete", target=edit.content, content=back, reason="it breaks tasks")
        found.append(Removal(undo, entry.step))
    return found


def _words(text: str) -> str:
    """A text whose line ends and blanks do not count: an edit of several lines got the line ends of the skill."""
    return " ".join(text.split())


def broken(state: TrainState, tasks: Mapping[str, Task], removals: Sequence[Removal]) -> list[Broken]:
    """The tasks that passed before and fail now, with what they accuse; of edits that at least two of them accuse."""
    found: list[Broken] = []
    for name, known in sorted(state.history.items()):
        fails = known.skill == state.current.hash and not known.passed and known.failed >= _LEAST
        if not fails or known.solved is None or name in state.settled or name not in tasks:
            continue
        since = frozenset(
            number
            for number, removal in enumerate(removals)
            if removal.entered > known.solved and removal.edit.id not in state.settled
        )
        found.append(Broken(tasks[name], known, since))
    often = {number for number in range(len(removals)) if sum(number in one.accused for one in found) >= _LEAST}
    return [one._replace(accused=one.accused & often) for one in found if one.accused & often]


async def find_harm(
    rollout: Rollout, state: TrainState, tasks: Sequence[Task], measure: Measure, order: Sequence[Task]
) -> Harm:
    """Find edits of the current skill that do harm.

    Args:
        tasks: all training tasks.
        order: those that were attempted, in random order, for the comparison.

    Raises:
        VoidStop: too many attempts errored.
    """
    removals = added(state)
    found = broken(state, {task.id: task for task in tasks}, removals)
    if not found:
        return Harm()
    trying = _Trying(rollout, state, measure, removals)
    group = sorted(frozenset[int]().union(*(one.accused for one in found)), key=lambda n: removals[n].entered)
    if not await trying.explains(found, group):
        return Harm(settled=frozenset(one.task.id for one in found), attempts=tuple(trying.attempts))
    while len(group) > 1:
        halves = group[len(group) // 2 :], group[: len(group) // 2]
        smaller = [half for half in halves if await trying.explains(found, half)][:1]
        if not smaller:
            break
        group = smaller[0]
    edits = tuple(removals[number].edit for number in group)
    settled = frozenset(edit.id for edit in edits)
    gain = await trying.gain(edits, order[:_COMPARED], min(removals[number].entered for number in group))
    worse = gain <= 0
    what = "1 edit breaks tasks" if len(edits) == 1 else f"{len(edits)} edits break tasks"
    reason = f"{what}; {min(_COMPARED, len(order))} random tasks score {gain:+g} without"
    return Harm(() if worse else edits, settled, tuple(trying.attempts), reason)


@dataclass(frozen=True)
class _Trying:
    rollout: Rollout
    state: TrainState
    measure: Measure
    removals: Sequence[Removal]
    attempts: list[Attempt] = field(default_factory=list[Attempt])

    async def explains(self, found: Sequence[Broken], group: Sequence[int]) -> bool:
        """Whether tasks pass again without these edits: from each, only those are taken back that it accuses, since
        it passed without these."""
        concerned = [one for one in found if one.accused & set(group)]
        seen: dict[str, Outcomes] = {}
        made = 0
        while concerned and made < REMOVAL.most:
            turn = [concerned[(made + n) % len(concerned)] for n in range(min(_AT_ONCE, REMOVAL.most - made))]
            turn = list({one.task.id: one for one in turn}.values())
            planned = [
                PlannedAttempt(
                    one.task,
                    self._without([self.removals[n].edit for n in group if n in one.accused]),
                    sum(seen.get(one.task.id, Outcomes())),
                )
                for one in turn
            ]
            for one, attempt in zip(turn, await self._attempted(planned), strict=True):
                if attempt.score is not None:
                    passed = self.measure.better(attempt, one.known.first or 0.0)
                    seen[one.task.id] = seen.get(one.task.id, Outcomes()).plus(passed)
            made += len(turn)
            failed = {one.task.id: Outcomes(one.known.passed, one.known.failed) for one in concerned}
            found_so_far = account([Seen(t, failed[name]) for name, t in seen.items()], self.measure.noise)
            if found_so_far >= REMOVAL.won:
                return True
            if found_so_far <= REMOVAL.lost:
                return False
        return False

    async def gain(self, edits: Sequence[Edit], tasks: Sequence[Task], since: int) -> float:
        """What tasks score more without these edits, in all. Attempts that were made with them count again."""
        history, earlier = self.state.history, self.state.earlier
        known = {task.id: earlier[task.id] for task in tasks if task.id in earlier and history[task.id].step >= since}
        fresh = [task for task in tasks if task.id not in known]
        skill, shorter = self.state.current, self._without(edits)
        planned = [PlannedAttempt(task, skill, self._next(task)) for task in fresh]
        made = await self._attempted([*planned, *(PlannedAttempt(task, shorter, 0) for task in tasks)])
        known |= {task.id: attempt for task, attempt in zip(fresh, made, strict=False)}
        after = made[len(fresh) :]
        pairs = [(known[task.id], one) for task, one in zip(tasks, after, strict=True)]
        return fsum(
            self.measure.value(b) - self.measure.value(a)
            for a, b in pairs
            if a.score is not None and b.score is not None
        )

    def _next(self, task: Task) -> int:
        known = self.state.history.get(task.id)
        return known.trials if known is not None and known.skill == self.state.current.hash else 0

    def _without(self, edits: Sequence[Edit]) -> Skill:
        return self.state.current.with_text(apply_edits(self.state.current.text, edits)[0])

    async def _attempted(self, planned: Sequence[PlannedAttempt]) -> tuple[Attempt, ...]:
        tries = digest([[each.task.id, each.skill.hash, each.trial] for each in planned])
        key = {"stage": "harm", "step": self.state.step, "tries": tries}
        made = await self.rollout.settle(planned, "train", key) if planned else ()
        self.attempts.extend(made)
        return made
