"""What runs attempts, and where they are made."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from etude.concurrency import Threads
from etude.protocols.parts import Agent, Environment
from etude.records import Score, Skill, Task, Trajectory

T = TypeVar("T")
R = TypeVar("R")


class Workplace(ABC):
    """Where attempts are made and scored."""

    @abstractmethod
    def room(self) -> AbstractAsyncContextManager[object]:
        """As `Agent.room`. Held while `attempt` is called."""

    @abstractmethod
    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """As `Agent.attempt`. Raises LostWorker: the process that made it is gone."""

    @abstractmethod
    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """As `Environment.score`. Raises LostWorker: the process that did it is gone."""


class Here(Workplace):
    """Attempts are made in this process, by this agent and this environment. Scoring functions that are not async run
    in `threads`: one that hangs keeps its thread."""

    def __init__(self, agent: Agent, env: Environment, threads: Threads) -> None:
        self._agent = agent
        self._env = env
        self._threads = threads

    def room(self) -> AbstractAsyncContextManager[object]:
        return self._agent.room()

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        return await self._agent.attempt(task, skill, trial)

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        return await scored(self._env, task, trajectory, self._threads)


async def scored(env: Environment, task: Task, trajectory: Trajectory, threads: Threads) -> Score:
    """What an environment says of a trajectory. A function that is not async runs in a thread: it may hang, and the
    loop goes on."""
    if inspect.iscoroutinefunction(env.score):
        result = await env.score(task, trajectory)
    else:
        result = await threads.run(env.score, task, trajectory)
        if inspect.isawaitable(result):
            result = await result
    if isinstance(result, Score):
        return result
    number = float(result)
    return Score(hard=number, soft=number)


Ask = Callable[[str, str], Awaitable[str]]
"""Asks the process that holds the run: of what name, and what, as JSON text. The answer is JSON text."""


@dataclass(frozen=True)
class Recipe:
    """How another process makes the agent and the environment of a run."""

    builder: str
    """Import path `package.module:function` of what makes them there, of type `(order: str, ask: Ask) -> (agent,
    environment)`."""
    order: str
    """What the builder is told, as JSON text. Without keys."""
    answer: Ask
    """Answers what the other process asks. Called in the context of the attempt that asks."""
    fingerprints: Sequence[str]
    """Of agent and environment: those made elsewhere must have the same."""
    secret_variables: Sequence[str]
    """Environment variables with keys, which other processes must not have."""
    notice: Callable[[str], None] = lambda text: None
    """Tells the user."""


class Executor(ABC):
    """Runs work on many items with bounded concurrency."""

    builds_elsewhere: ClassVar[bool] = False
    """Other processes make attempts. They build agent and environment from settings, so these cannot be given as
    objects."""

    def check(self) -> None:  # noqa: B027 - most executors have nothing to look at
        """Look whether it could work, before a run begins. Raises ConfigError: it could not."""

    def placed(self, here: Here, recipe: Callable[[], Recipe]) -> AbstractAsyncContextManager[Workplace]:
        """Where the attempts of a run are made, by default in this process. Leaving it ends what was started for
        them; attempts are over by then. `recipe` is for executors that build elsewhere."""
        del recipe
        return nullcontext(here)

    @abstractmethod
    def stream(self, work: Callable[[T], Awaitable[R]], items: Sequence[T]) -> AsyncIterator[tuple[int, R]]:
        """Yield (index, result) as results arrive. Closing the iterator drops items that have not started; those
        under way run on in the background until `drain`."""

    @abstractmethod
    async def drain(self) -> None:
        """Wait for work that was left running."""

    @abstractmethod
    async def cancel(self) -> None:
        """Cancel all work under way and wait until it has ended."""
