"""A skill with edits that entered, and tasks that pass or fail as a test says: for harm and for tracing."""

from collections.abc import Callable, Mapping, Sequence

from stages_doubles import AnswersEnv, ToldAgent, append, make_rollout

from etude.config import GateSection
from etude.errors import TransientError
from etude.records import Edit, LedgerEntry, Skill, Task, TaskHistory, TrainState
from etude.stages.harm import Harm, judged
from etude.stages.shared.history import Measure
from etude.stages.shared.jury import Jury, Suspect
from etude.stages.shared.noise import Outcomes, PassSpread

Passes = Callable[[str, str, int], bool | None]
"""Task, text of the skill, trial -> whether it passes; None for a void."""
STEADY = PassSpread.measured([Outcomes(0, 2)] * 60 + [Outcomes(2, 0)] * 60)
NOISY = PassSpread.measured([Outcomes(1, 1)] * 60 + [Outcomes(0, 2)] * 20 + [Outcomes(2, 0)] * 20)
START = "Start."
TRACE = 500_000 + 2 * 20
"""The first trial with edits left out in step 20, where harm is traced."""


def known(told: str, now: int = 0, skill: str = "s") -> TaskHistory:
    """What attempts told, as in `1+ 20-`: in which step, and whether they passed. Those since `now` are with the
    skill of now."""
    seen = tuple((int(one[:-1]), one[-1] == "+") for one in told.split())
    mine = [passed for step, passed in seen if step >= now]
    first = None if all(mine) else 0.0
    counts = {"trials": len(mine), "passed": sum(mine), "failed": len(mine) - sum(mine)}
    return TaskHistory(skill=skill if mine else "earlier", seen=seen, best_failed=first, **counts)


def named(letter: str, count: int, told: str) -> dict[str, str]:
    """The same history for tasks `b1`, `b2` and so on."""
    return {f"{letter}{number}": told for number in range(1, count + 1)}


class World:
    """A skill with the lines that these edits brought, in steps 2, 4, 6 and so on; now is step 20."""

    def __init__(self, *edits: Edit | str, passes: Passes, line_end: str = "\n", max_void: float = 0.99) -> None:
        self.edits = [append(edit) if isinstance(edit, str) else edit for edit in edits]
        text = "\n\n".join([START, *(edit.content for edit in self.edits)])
        self.skill = Skill(text=f"{text}\n".replace("\n", line_end))
        ledger = tuple(
            LedgerEntry(step=2 * place, edit=edit, fate="applied", accepted=True)
            for place, edit in enumerate(self.edits, 1)
        )
        self.state = TrainState(step=20, current=self.skill, best=self.skill, ledger=ledger)
        self.agent = ToldAgent(self._attempt)
        self._passes, self._max_void = passes, max_void

    def cite(self, lines: Mapping[str, Sequence[str]]) -> None:
        """These edits were proposed for these tasks."""
        ledger = [
            entry.model_copy(update={"tasks": tuple(lines.get(entry.edit.content, ()))})
            for entry in self.state.ledger
        ]
        self.state = self.state.model_copy(update={"ledger": tuple(ledger)})

    def refuse(self, line: str, tasks: Sequence[str], step: int = 16) -> None:
        """A line was proposed for these tasks, and did not enter."""
        entry = LedgerEntry(step=step, edit=append(line), fate="dropped", accepted=None, tasks=tuple(tasks))
        self.state = self.state.model_copy(update={"ledger": (*self.state.ledger, entry)})

    def jury(
        self,
        told: Mapping[str, str],
        *,
        repeats: bool = True,
        suspected: frozenset[str] = frozenset(),
        traced: Mapping[str, str] | None = None,
        noise: PassSpread = STEADY,
        others: int = 0,
    ) -> Jury:
        """With what is told of tasks, and of so many others that always passed."""
        told = {**told, **named("o", others, "1+ 20+")}
        history = {name: known(each, 2 * len(self.edits), self.skill.hash) for name, each in told.items()}
        env = AnswersEnv(lambda task, trajectory: float(trajectory.answer == "yes"))
        return Jury(
            rollout=make_rollout(self.agent, env, max_void=self._max_void),
            state=self.state.model_copy(update={"history": history, "suspected": suspected, "traced": traced or {}}),
            measure=Measure(GateSection(), noise, 0.0),
            tasks={name: Task(id=name, input="?", target=name.partition("@")[2]) for name in told},
            repeats=lambda task: repeats,
        )

    async def judged(self, told: Mapping[str, str], *, repeats: bool = True, others: int = 0) -> Harm:
        """The first edit, accused by these tasks."""
        jury = self.jury(told, repeats=repeats, others=others)
        return await judged(jury, [jury.removals[0].edit], [jury.tasks[name] for name in told])

    @property
    def attempts(self) -> list[tuple[str, str, int]]:
        return self.agent.attempts

    def with_line(self, line: str) -> list[tuple[str, int]]:
        """Task and trial of attempts with a line."""
        return [(task, trial) for task, text, trial in self.attempts if line in text]

    def without_line(self, line: str) -> list[tuple[str, int]]:
        return [(task, trial) for task, text, trial in self.attempts if line not in text]

    def _attempt(self, task: Task, skill: Skill, trial: int) -> str | Exception:
        passed = self._passes(task.id, skill.text, trial)
        return TransientError("no answer") if passed is None else "yes" if passed else "no"


def breaks(*lines: str) -> Passes:
    """Tasks `b...` fail with any of these lines, all others pass."""
    return lambda task, text, trial: not (task.startswith("b") and any(line in text for line in lines))


def never(task: str, text: str, trial: int) -> bool:
    return False


async def accused(jury: Jury, *suspects: Suspect) -> Harm:
    """All of these judged together."""
    return await judged(jury, [one.edit for one in suspects], [task for one in suspects for task in one.tasks])


def removed(suspect: Suspect | None) -> str:
    return "" if suspect is None else suspect.edit.target


def tasks_of(suspect: Suspect | None) -> list[str]:
    return [] if suspect is None else [task.id for task in suspect.tasks]


BROKEN = "1+ 20- 20-"
"""What a task did that an edit broke."""
