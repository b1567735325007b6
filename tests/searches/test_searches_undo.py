"""Attempts that are made again: what they say of each other."""

from types import SimpleNamespace
from typing import Any

from stages_doubles import AnswersEnv, ToldAgent, make_rollout, tasks

from etude.config import GateSection
from etude.records import Score, Skill, TaskHistory, TrainState
from etude.searches.undo import attempted_again

SKILL = Skill(text="Be exact.")


async def test_repeats_are_judged_by_how_far_they_waver_themselves() -> None:
    """Half of the tasks score a little more in the second trial, half much less: none has passed."""
    again = {0: 0.7, 1: 0.1}
    agent = ToldAgent(lambda task, skill, trial: str(again[int(task.id[1:]) % 2] if trial else 0.5))
    env = AnswersEnv(lambda task, trajectory: Score(hard=0.0, soft=float(trajectory.answer)))
    bench: Any = SimpleNamespace(
        rollout=make_rollout(agent, env), config=SimpleNamespace(gate=GateSection(metric="soft"))
    )
    asked = tasks(8)
    state = TrainState(current=SKILL, best=SKILL, history={task.id: TaskHistory(skill=SKILL.hash) for task in asked})
    state, first = await attempted_again(bench, state, asked, 0)
    state, second = await attempted_again(bench, state, asked, 0)
    assert [{attempt.trial for attempt in made} for made in (first, second)] == [{0}, {1}]
    assert {(known.passed, known.trials) for known in state.history.values()} == {(0, 2)}
