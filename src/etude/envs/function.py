"""An environment from one Python function that attempts tasks, and usually scores them as well."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

from etude.concurrency import Threads
from etude.envs.lists import ListedTasks, TaskSource
from etude.envs.scorers.function import ScorerLike, as_score, as_scorer
from etude.envs.target import BlockingTarget, Target, returned_score, with_score
from etude.errors import BoundaryError, EtudeError
from etude.protocols import Agent, ChatModel, Texts
from etude.protocols.code_digest import source_digest
from etude.records import Score, Skill, Task, Trajectory, canonical

AttemptFunction = Callable[[Task, Skill, Any], Any]
"""`attempt(task, skill, target)`, sync or async. `target` is a BlockingTarget or, for `async def`, a Target.

It returns a score (a Score, or a number in [0, 1]), an answer (text, for the environment's scorer), or a pair of
answer and score.
"""

MAX_THREADS = 128


def environment(
    *,
    train: TaskSource,
    val: TaskSource,
    test: TaskSource = (),
    scorer: ScorerLike | None = None,
    name: str | None = None,
) -> Callable[[AttemptFunction], "FunctionEnvironment"]:
    """Make an environment of the function below.

    Tasks are Tasks, mappings with at least `input`, or pairs (input, gold); or functions that return them, called
    when tasks are first needed. `scorer` is needed when the function returns an answer without a score.

        @environment(train=[("2 + 2", "4")], val=[("3 + 4", "7")], scorer="numeric")
        async def sums(task, skill, target):
            return await target.ask(task.input, system=skill.text)
    """

    def make(function: AttemptFunction) -> FunctionEnvironment:
        return FunctionEnvironment(function, train, val, test, scorer=scorer, name=name)

    return make


class FunctionEnvironment(ListedTasks):
    """Tasks from lists, one for each split, attempted by a function. Raises ConfigError: the scorer is unknown."""

    def __init__(
        self,
        function: AttemptFunction,
        *splits: TaskSource,
        scorer: ScorerLike | None = None,
        name: str | None = None,
    ) -> None:
        self.function = function
        self.name = name if name is not None else getattr(function, "__name__", type(function).__name__)
        self.scorer = as_scorer(scorer, f"environment {self.name!r}") if scorer is not None else None
        super().__init__(*splits)

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """The score the function returned, else what the scorer says about its answer.
        Raises BoundaryError: there is neither."""
        returned = returned_score(trajectory)
        if returned is not None:
            return returned
        if self.scorer is None:
            problem = TypeError("returned an answer without a score; return (answer, score), or set `scorer`")
            raise BoundaryError(f"function {self.name!r}", problem)
        return await self.scorer.score(task, trajectory)

    def fingerprint(self) -> str:
        """Name, source of the function, scorer."""
        scorer = self.scorer.fingerprint() if self.scorer is not None else ""
        return canonical([self.name, source_digest(self.function), scorer])

    def agent(self, target: ChatModel, prompts: Texts | None = None) -> Agent:
        """The agent that calls the function. It has no use for prompts."""
        del prompts
        return FunctionAgent(self.name, self.function, target)


class FunctionAgent(Agent):
    """Attempts tasks by calling a function: an `async def` in the event loop, any other in a thread."""

    def __init__(self, name: str, function: AttemptFunction, model: ChatModel) -> None:
        self.name = name
        self._function = function
        self._model = model
        self._threads: Threads | None = None

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """Call the function once. What it raises is raised. Raises BoundaryError: it returned something unusable, or
        returned although its last request to the target failed: whatever it made of that is not a score."""
        target = Target(self._model, task.seed(trial))
        if _is_async(self._function):
            result = await cast(Awaitable[Any], self._function(task, skill, target))
        else:
            result = await self._in_thread(task, skill, target)
        if isinstance(target.failed, EtudeError):
            raise target.failed
        if target.failed is not None:
            raise BoundaryError(f"function {self.name!r}", target.failed)
        answer, score = self._understood(result)
        if answer is None:
            answer = target.messages[-1].text if target.messages else ""
        failure = "" if answer.strip() or score is not None else target.problem
        made = Trajectory(
            answer=answer,
            messages=tuple(target.messages),
            failure=failure,
            ended=target.ended if failure or target.ended == "cut off" else None,
            usage=target.usage,
            simulated=target.simulated,
        )
        return made if score is None else with_score(made, score)

    def fingerprint(self) -> str:
        """Name, source of the function, model."""
        return canonical([self.name, source_digest(self._function), self._model.fingerprint()])

    async def _in_thread(self, task: Task, skill: Skill, target: Target) -> Any:
        if self._threads is None:
            self._threads = Threads(MAX_THREADS)
        blocking = BlockingTarget(target, asyncio.get_running_loop())
        try:
            return await self._threads.run(self._function, task, skill, blocking)
        finally:
            blocking.close()

    def _understood(self, result: Any) -> tuple[str | None, Score | None]:
        where = f"function {self.name!r}"
        if isinstance(result, str):
            return result, None
        if isinstance(result, Score | int | float):
            return None, as_score(result, where)
        if isinstance(result, tuple) and len(cast(tuple[Any, ...], result)) == 2:
            answer, score = cast(tuple[Any, Any], result)
            if isinstance(answer, str):
                return answer, as_score(score, where)
        allowed = "a score (0 to 1), an answer (str), or (answer, score)"
        raise BoundaryError(where, TypeError(f"returned {result!r:.80}; allowed: {allowed}"))


def _is_async(function: AttemptFunction) -> bool:
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
