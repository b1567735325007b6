"""Edits that break tasks are found by the tasks that passed before, and taken back if they cost more."""

from collections.abc import Callable, Mapping

import pytest
from stages_doubles import AnswersEnv, ToldAgent, append, attempt, make_rollout

from etude.config import GateSection
from etude.errors import TransientError
from etude.records import Edit, LedgerEntry, Skill, Task, TaskHistory, TrainState
from etude.skill import apply_edits
from etude.stages.harm import Harm, find_harm
from etude.stages.shared.history import Measure
from etude.stages.shared.noise import Noise, Outcomes

Passes = Callable[[str, str, int], bool | None]
"""Task, text of the skill, trial -> whether it passes; None for a void."""
STEADY = Noise.measured([Outcomes(0, 2)] * 60 + [Outcomes(2, 0)] * 60)
START = "Start."


class World:
    """A skill with the lines that these edits brought, in steps 2, 4, 6 and so on. Tasks `b...` fail now."""

    def __init__(self, *edits: Edit | str, passes: Passes, others: int = 0, line_end: str = "\n") -> None:
        self.edits = [append(edit) if isinstance(edit, str) else edit for edit in edits]
        self.passes = passes
        text = "\n\n".join([START, *(edit.content for edit in self.edits)])
        self.skill = Skill(text=f"{text}\n".replace("\n", line_end))
        ledger = tuple(
            LedgerEntry(step=2 * place, edit=edit, fate="applied", accepted=True)
            for place, edit in enumerate(self.edits, 1)
        )
        self.state = TrainState(step=20, current=self.skill, best=self.skill, ledger=ledger)
        self.others = [Task(id=f"o{number}", input="?") for number in range(others)]
        self.attempts: list[tuple[str, str, int]] = []

    async def harm(
        self, solved: Mapping[str, int], *, failed: int = 2, settled: frozenset[str] = frozenset()
    ) -> Harm:
        """What is found where tasks passed in these steps and have failed so many times since."""
        history = {
            name: TaskHistory(skill=self.skill.hash, trials=failed, failed=failed, first=0.0, solved=step, step=20)
            for name, step in solved.items()
        }
        earlier = {name: attempt(f"a-{name}", 0.0, task=name) for name in solved}
        state = self.state.model_copy(update={"history": history, "earlier": earlier, "settled": settled})
        agent = ToldAgent(self._attempt)
        env = AnswersEnv(lambda task, trajectory: float(trajectory.answer == "yes"))
        rollout = make_rollout(agent, env, max_void=0.9)
        tasks = [*(Task(id=name, input="?") for name in solved), *self.others]
        found = await find_harm(rollout, state, tasks, Measure(GateSection(), STEADY, 0.0), tasks)
        self.attempts = agent.attempts
        return found

    def _attempt(self, task: Task, skill: Skill, trial: int) -> str | Exception:
        passed = self.passes(task.id, skill.text, trial)
        return TransientError("no answer") if passed is None else "yes" if passed else "no"


def breaks(*lines: str) -> Passes:
    """Tasks `b...` fail with any of these lines, all others pass."""
    return lambda task, text, trial: not (task.startswith("b") and any(line in text for line in lines))


async def test_a_line_by_which_tasks_fail_that_passed_before_is_taken_back() -> None:
    found = await World("Bad.", passes=breaks("Bad.")).harm({"b1": 1, "b2": 1, "b3": 1})
    assert [(edit.op, edit.target) for edit in found.edits] == [("delete", "Bad.")]
    assert found.settled == {edit.id for edit in found.edits}


async def test_of_several_lines_the_one_that_breaks_tasks_is_found() -> None:
    world = World("One.", "Two.", "Bad.", "Four.", "Five.", passes=breaks("Bad."))
    found = await world.harm({f"b{number}": 1 for number in range(4)})
    assert [edit.target for edit in found.edits] == ["Bad."]


async def test_lines_that_break_the_same_tasks_are_taken_back_together() -> None:
    found = await World("Bad.", "Worse.", passes=breaks("Bad.", "Worse.")).harm(
        {f"b{number}": 1 for number in range(4)}
    )
    assert [edit.target for edit in found.edits] == ["Bad.", "Worse."]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
async def test_an_example_of_several_lines_is_taken_back_as_one(line_end: str) -> None:
    example = "Example:\n- Input: 3 and 4\n- Output: 7"
    world = World("One.", example, "Three.", passes=breaks("Output: 7"), line_end=line_end)
    found = await world.harm({"b1": 1, "b2": 1, "b3": 1})
    assert [(edit.op, edit.target) for edit in found.edits] == [("delete", example)]
    assert apply_edits(world.skill.text, found.edits)[0] == line_end.join([START, "", "One.", "", "Three.", ""])


async def test_a_replaced_line_comes_back() -> None:
    replaced = Edit(op="replace", target="Good.", content="Bad.")
    found = await World(replaced, passes=breaks("Bad.")).harm({"b1": 1, "b2": 1, "b3": 1})
    assert [(edit.op, edit.target, edit.content) for edit in found.edits] == [("replace", "Bad.", "Good.")]


async def test_a_single_task_accuses_nothing() -> None:
    world = World("Bad.", passes=breaks("Bad."))
    assert await world.harm({"b1": 1}) == Harm()
    assert world.attempts == []


async def test_tasks_that_failed_once_accuse_nothing() -> None:
    world = World("Bad.", passes=breaks("Bad."))
    assert await world.harm({"b1": 1, "b2": 1, "b3": 1}, failed=1) == Harm()
    assert world.attempts == []


async def test_a_line_that_entered_before_the_tasks_passed_is_not_accused() -> None:
    world = World("Old.", passes=breaks("Old."))
    assert await world.harm({"b1": 3, "b2": 3, "b3": 3}) == Harm()
    assert world.attempts == []


async def test_from_each_task_only_what_it_accuses_is_taken_back() -> None:
    """`b4` and `b5` passed after the first line had entered."""
    world = World("One.", "Bad.", passes=breaks("Bad."))
    found = await world.harm({"b1": 1, "b2": 1, "b3": 1, "b4": 3, "b5": 3})
    assert [edit.target for edit in found.edits] == ["Bad."]
    tried = [text for task, text, _ in world.attempts if task in ("b4", "b5")]
    assert tried
    assert all("One." in text for text in tried)


async def test_tasks_that_fail_without_the_lines_too_are_not_asked_again() -> None:
    world = World("One.", passes=lambda task, text, trial: False)
    found = await world.harm({"b1": 1, "b2": 1, "b3": 1})
    assert found.edits == ()
    assert found.settled == {"b1", "b2", "b3"}
    assert len(world.attempts) <= 8
    assert await world.harm({"b1": 1, "b2": 1, "b3": 1}, settled=found.settled) == Harm()


async def test_a_line_that_breaks_few_tasks_and_fixes_many_stays_and_is_not_asked_about_again() -> None:
    def passes(task: str, text: str, trial: int) -> bool:
        return ("Mixed." in text) is not task.startswith("b")

    world = World("Mixed.", passes=passes, others=12)
    solved = {"b1": 1, "b2": 1, "b3": 1}
    found = await world.harm(solved)
    assert found.edits == ()
    assert len(found.settled) == 1
    assert await world.harm(solved, settled=found.settled) == Harm()


async def test_a_line_that_breaks_more_tasks_than_it_fixes_goes() -> None:
    def passes(task: str, text: str, trial: int) -> bool:
        return ("Mixed." in text) is (task in ("o1", "o2")) if task[0] == "b" or task in ("o1", "o2") else True

    found = await World("Mixed.", passes=passes, others=12).harm({"b1": 1, "b2": 1, "b3": 1})
    assert [edit.target for edit in found.edits] == ["Mixed."]
    assert "score +1 without" in found.reason


async def test_attempts_that_were_made_with_a_line_count_for_it_and_others_are_made_again() -> None:
    world = World("Bad.", passes=breaks("Bad."), others=3)
    await world.harm({"b1": 1, "b2": 1, "b3": 1})
    with_it = [task for task, text, _ in world.attempts if "Bad." in text]
    assert with_it == ["o0", "o1", "o2"]


async def test_an_attempt_without_a_score_says_nothing() -> None:
    def passes(task: str, text: str, trial: int) -> bool | None:
        return None if task == "b1" else breaks("Bad.")(task, text, trial)

    found = await World("Bad.", passes=passes).harm({"b1": 1, "b2": 1, "b3": 1, "b4": 1})
    assert [edit.target for edit in found.edits] == ["Bad."]
    assert sum(one.score is None for one in found.attempts) > 0


async def test_lines_that_are_gone_already_or_were_there_from_the_start_are_not_accused() -> None:
    world = World("Bad.", passes=breaks("Bad."))
    gone = LedgerEntry(step=3, edit=append("Gone."), fate="applied", accepted=True)
    refused = LedgerEntry(step=3, edit=append(START), fate="applied", accepted=False)
    world.state = world.state.model_copy(update={"ledger": (gone, refused)})
    assert await world.harm({"b1": 1, "b2": 1}) == Harm()
