"""Small worlds for the stages: an environment, agents that do as told, and an optimizer that answers by prompt."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar

from etude.concurrency import Threads, together
from etude.config import LimitsSection
from etude.events import Event, Notice
from etude.executors.local import LocalExecutor
from etude.models.wrappers.structured import Structured
from etude.prompts import Prompts
from etude.protocols import Agent, Environment, Here, Journal
from etude.records import (
    Attempt,
    ChatRequest,
    Edit,
    Evaluation,
    Score,
    Skill,
    Split,
    Task,
    Trajectory,
    assistant,
    user,
)
from etude.stages.reflect import Minibatches, Reflection, analyses
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.rollout import Rollout
from etude.testing.doubles import ScriptedModel
from memory_doubles import MemoryJournal


async def reflect(*asked: Any) -> tuple[Reflection, ...]:
    """All analyses at the same time."""
    return tuple(await together(each.reflection for each in analyses(*asked)))


def tasks(count: int, kind: str = "") -> list[Task]:
    return [Task(id=f"t{i}", input=f"What is {i}?", gold=str(i), type=kind) for i in range(count)]


class AnswersEnv(Environment):
    """Solved when the answer is the gold one. Counts how often it scored."""

    name = "answers"

    def __init__(self, score: Callable[[Task, Trajectory], Any] | None = None) -> None:
        self.scored: list[str] = []
        self._judge = score or (lambda task, trajectory: float(trajectory.answer == task.gold))

    def tasks(self, split: Split) -> Sequence[Task]:
        return tasks(3)

    def score(self, task: Task, trajectory: Trajectory) -> Score | float | Awaitable[Score | float]:
        self.scored.append(task.id)
        return self._judge(task, trajectory)


class FreeEnv(AnswersEnv):
    """Its scores cost nothing, so they are no facts."""

    repeatable: ClassVar[bool] = True


Attempting = Callable[[Task, Skill, int], Any]


class ToldAgent(Agent):
    """Does as told: answers with a text, returns a trajectory, raises; may be told by an async function."""

    name = "told"

    def __init__(self, attempting: Attempting) -> None:
        self.attempts: list[tuple[str, str, int]] = []
        self._attempting = attempting

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        self.attempts.append((task.id, skill.text, trial))
        result = self._attempting(task, skill, trial)
        if asyncio.iscoroutine(result):
            result = await result
        if isinstance(result, BaseException):
            raise result
        if isinstance(result, Trajectory):
            return result
        return Trajectory(answer=result, messages=(user(task.input), assistant(result)))

    @property
    def tried(self) -> list[str]:
        return [task for task, _, _ in self.attempts]


class CallsAgent(ToldAgent):
    """All that it pays for are model calls, so its attempts are no facts."""

    journals_calls: ClassVar[bool] = True


def knows(*ids: str) -> Attempting:
    """Answers these tasks right and the others wrong."""
    return lambda task, skill, trial: task.gold if task.id in ids else "wrong"


def make_rollout(
    agent: Agent,
    env: Environment | None = None,
    *,
    journal: Journal | None = None,
    events: list[Event] | None = None,
    concurrency: int = 4,
    go_on: Callable[[], None] = lambda: None,
    threads: Threads | None = None,
    **limits: Any,
) -> Rollout:
    env = env or AnswersEnv()
    return Rollout(
        agent=agent,
        env=env,
        executor=LocalExecutor(concurrency),
        journal=journal or MemoryJournal(),
        limits=LimitsSection(**limits),
        emit=[].append if events is None else events.append,
        go_on=go_on,
        place=Here(agent, env, threads or Threads(16)),
    )


def attempt(
    name: str,
    hard: float | None = 0.0,
    *,
    kind: str = "",
    task: str | None = None,
    feedback: str = "",
    answer: str = "",
) -> Attempt:
    """A scored attempt, or a void one for hard = None."""
    task = task or f"task-of-{name}"
    question = f"Question of {task}"
    return Attempt(
        id=name,
        task=Task(id=task, input=question, type=kind),
        skill_hash="0" * 16,
        outcome="void" if hard is None else "completed",
        score=None if hard is None else Score(hard=hard, soft=hard, feedback=feedback),
        trajectory=Trajectory(answer=answer, messages=(user(question), assistant(f"Thoughts of {name}"))),
    )


def evaluation(values: Mapping[str, float | None], skill: str = "old") -> Evaluation:
    scores = {task: () if value is None else (Score(hard=value, soft=value),) for task, value in values.items()}
    return Evaluation(skill_hash=Skill(text=skill).hash, split="val", scores=scores)


def append(content: str, *cites: str) -> Edit:
    return Edit(op="append", content=content, cites=cites)


def edit_row(content: str, *cites: str, op: str = "append", target: str = "", reason: str = "") -> dict[str, Any]:
    """An edit as the optimizer writes it."""
    return {"op": op, "target": target, "content": content, "reason": reason, "cites": list(cites)}


def patch_reply(*edits: dict[str, Any], reasoning: str = "because") -> dict[str, Any]:
    return {"reasoning": reasoning, "edits": list(edits)}


class Desk:
    """An optimizer that answers each kind of call, named by its prompt, and keeps what it was asked.

    An answer is JSON data, a text, an exception, or a function of the request that gives one of these.
    """

    def __init__(self, memory: str = "", **answers: Any) -> None:
        self.events: list[Event] = []
        self.asked: list[tuple[str, ChatRequest]] = []
        self._answers = answers
        self._prompts = Prompts()
        self.model = ScriptedModel(self._answer)
        self.optimizer = Optimizer(
            model=Structured(self.model), prompts=self._prompts, emit=self.events.append, memory=memory
        )

    def _answer(self, request: ChatRequest) -> Any:
        said = request.messages[0].text
        name = next(name for name in self._answers if said.startswith(self._prompts[name]))
        self.asked.append((name, request))
        answer = self._answers[name]
        if callable(answer):
            answer = answer(request)
        return answer if isinstance(answer, str | Exception) else json.dumps(answer)

    @property
    def prompts(self) -> list[str]:
        """Names of the prompts of all calls, in order."""
        return [name for name, _ in self.asked]

    def shown(self, call: int = 0) -> str:
        """The data of a call: its user message."""
        return self.asked[call][1].messages[1].text

    @property
    def warnings(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice) and event.level == "warning"]


def minibatches(size: int = 8, *, failures_only: bool = False, seed: int = 7) -> Minibatches:
    """How attempts are divided among calls."""
    return Minibatches(size, seed, failures_only)
