"""Rollout: attempt tasks with a skill, score what comes back, and never take a failed call for a score."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

from etude.concurrency import Threads
from etude.config import LimitsSection
from etude.errors import BoundaryError, EtudeError, LostWorker, StopRun, VoidStop
from etude.events import AttemptFinished, Event
from etude.protocols import Agent, Environment, Executor, Here, Journal, Workplace
from etude.records import Attempt, Score, Skill, Split, Task, Trajectory, Usage, digest
from etude.sandbox.process import seconds_used
from etude.skill.parts import laid_out
from etude.store.journal import facts_noted

VoidLimit = Literal["max_void", "max_void_eval"]
"""The setting in `limits` that says how many attempts may be void."""
MOST_LOST = 5
"""Times that an attempt is made whose process ends: it may be the attempt that ends it."""


class PlannedAttempt(NamedTuple):
    """One attempt to make."""

    task: Task
    skill: Skill
    trial: int = 0


class Whole(NamedTuple):
    """The attempts that others are a part of, and how many of them are void so far: limits are shares of these."""

    attempts: int
    voids: int = 0


@dataclass(frozen=True)
class Rollout:
    """Attempts tasks: an agent, an environment that scores, and what is known already."""

    agent: Agent
    env: Environment
    executor: Executor
    journal: Journal
    limits: LimitsSection
    emit: Callable[[Event], None]
    go_on: Callable[[], None] = lambda: None
    """Called before each attempt; raises StopRun when the run was asked to stop."""
    cost: Callable[[str, Usage, bool], float | None] = lambda target, usage, simulated: None
    """What the target of this name bills for this many tokens, in US dollars, and for simulated ones; None when the
    price is unknown."""
    judge_simulated: Callable[[], bool] = lambda: False
    """Whether the judge answered from the simulated world."""
    place: Workplace | None = None
    """Where attempts are made; in this process when not given."""

    async def stream(
        self, planned: Sequence[PlannedAttempt], split: Split
    ) -> AsyncGenerator[tuple[int, Attempt], None]:
        """Yield (index, attempt) as attempts come back; closing drops those that have not started.

        Raises:
            StopRun: a budget is used up or an endpoint is dead; attempts under way finish in the background.
        """

        async def work(each: PlannedAttempt) -> Attempt:
            attempt = await self.attempt(each.task, each.skill, each.trial)
            self.emit(AttemptFinished.of(attempt, split, digest(self.agent.fingerprint())[:8]))
            return attempt

        results = self.executor.stream(work, planned)
        try:
            async for index, attempt in results:
                yield index, attempt
        finally:
            close = getattr(results, "aclose", None)
            if close is not None:
                await close()

    async def collect(
        self, planned: Sequence[PlannedAttempt], split: Split, limit: VoidLimit, *, of: Whole | None = None
    ) -> list[Attempt]:
        """Make attempts, in the order of `planned`, and stop the run above the limit of void ones.

        Args:
            limit: the setting that says which share may be void. With `max_void_eval`, which is for many attempts of
                which only scores count, they come back without their messages.
            of: what these are a part of, unless they are all.

        Raises:
            VoidStop: more attempts are void than that.
        """
        found: dict[int, Attempt] = {}
        total, voids = of or Whole(len(planned))
        async with aclosing(self.stream(planned, split)) as attempts:
            async for index, attempt in attempts:
                found[index] = _without_messages(attempt) if limit == "max_void_eval" else attempt
                voids += attempt.outcome == "void"
                if voids > self.allowed_voids(total, limit):
                    raise too_many_voids(split, attempt, voids, total, limit)
        return [found[index] for index in range(len(planned))]

    async def settle(
        self,
        planned: Sequence[PlannedAttempt],
        split: Split,
        key: Mapping[str, object],
        known: Mapping[int, Attempt] = MappingProxyType({}),
    ) -> tuple[Attempt, ...]:
        """Make attempts, in the order of `planned`. Which of them the run continued without is a decision, journaled
        under `key`: they stay void when the run is resumed.

        Args:
            known: by index, attempts that would come back as they are: they do not wait for a turn.

        Raises:
            VoidStop: more attempts are void than `limits.max_void` allows, and more than one.
        """
        found = dict(known)
        left = [index for index in range(len(planned)) if index not in found]

        async def work() -> tuple[Attempt, ...]:
            made = await self.collect([planned[index] for index in left], split, "max_void", of=Whole(len(planned)))
            found.update(zip(left, made, strict=True))
            return tuple(found[index] for index in range(len(planned)) if found[index].outcome == "void")

        voids = await self.journal.once("decision", key, tuple[Attempt, ...], work)
        if len(found) < len(planned):  # decided before
            void = {(attempt.task.id, attempt.skill_hash, attempt.trial): attempt for attempt in voids}
            keys = [(each.task.id, each.skill.hash, each.trial) for each in planned]
            found = {index: void[key] for index, key in enumerate(keys) if key in void} | found
            left = [index for index in left if index not in found]
            async for number, attempt in self.stream([planned[index] for index in left], split):
                found[left[number]] = attempt
        return tuple(found[index] for index in range(len(planned)))

    async def tried(self, stage: str, step: int, planned: Sequence[PlannedAttempt]) -> tuple[Attempt, ...]:
        """Attempts at training tasks which a stage of a step asks for, made as `settle` does."""
        tries = digest([[each.task.id, each.skill.hash, each.trial] for each in planned])
        return await self.settle(planned, "train", {"stage": stage, "step": step, "tries": tries}) if planned else ()

    async def batch(
        self,
        tasks: Sequence[Task],
        skill: Skill,
        split: Split,
        *,
        trial: int = 0,
        step: int = 0,
        known: Mapping[str, Attempt] = MappingProxyType({}),
    ) -> tuple[Attempt, ...]:
        """Attempt all tasks with one skill, as `settle` does.

        Args:
            known: by task, attempts that would come back as they are.
        """
        key = {"stage": "rollout", "step": step, "skill": skill.hash, "trial": trial, "tasks": [t.id for t in tasks]}
        planned = [PlannedAttempt(task, skill, trial) for task in tasks]
        found = {index: known[task.id] for index, task in enumerate(tasks) if task.id in known}
        return await self.settle(planned, split, key, found)

    def allowed_voids(self, attempts: int, limit: VoidLimit) -> float:
        """How many attempts may be void. At training tasks one may, so that a task that never has a score ends no
        run, unless none is allowed at all."""
        if limit == "max_void_eval":
            return self.limits.max_void_eval * attempts
        return max(1.0, self.limits.max_void * attempts) if self.limits.max_void > 0 else 0.0

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Attempt:
        """One attempt. Failures of machinery become a void attempt; only `StopRun` is raised."""
        name = attempt_id(task.id, skill, trial)
        void = Attempt(id=name, task=task, skill_hash=skill.hash, trial=trial, outcome="void")
        made = void
        with facts_noted() as facts:
            for _ in range(MOST_LOST):
                try:
                    made = await self._attempt(void, skill)
                    break
                except LostWorker as error:  # what was answered is a fact and not paid for again
                    made = void.model_copy(update={"reason": f"{error.message}, {MOST_LOST} times in a row"})
        return made.model_copy(update={"facts": facts})

    async def _attempt(self, attempt: Attempt, skill: Skill) -> Attempt:
        task, trial = attempt.task, attempt.trial
        deadline = asyncio.timeout(None)
        try:
            self.go_on()
            async with AsyncExitStack() as room, deadline:
                await room.enter_async_context(self._place.room())
                trajectory = await self._trajectory(task, skill, trial)
                await room.aclose()  # scoring needs none of it, and may take long
                deadline.reschedule(asyncio.get_running_loop().time() + self.limits.attempt_seconds)
                score = await self.score(task, trajectory)
        except (StopRun, LostWorker):
            raise
        except asyncio.CancelledError as error:
            task_under_way = asyncio.current_task()
            if task_under_way is None or task_under_way.cancelling():
                raise
            return attempt.model_copy(update={"reason": f"the attempt cancelled itself: {error!r}"})
        except TimeoutError:
            if not deadline.expired():
                raise
            return attempt.model_copy(update={"reason": self._late})
        except EtudeError as error:
            return attempt.model_copy(update={"reason": "; ".join(filter(None, (error.message, error.hint)))})
        if trajectory.ended is not None:
            score = score.model_copy(update={"ended": trajectory.ended})
        failed = bool(trajectory.failure)
        return attempt.model_copy(
            update={
                "outcome": "failed" if failed else "completed",
                "score": score,
                "reason": trajectory.failure,
                "trajectory": trajectory,
            }
        )

    @cached_property
    def _place(self) -> Workplace:
        return self.place or Here(self.agent, self.env, Threads(16))

    @property
    def _late(self) -> str:
        return f"no result within limits.attempt_seconds = {self.limits.attempt_seconds:g}"

    async def _trajectory(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        async def work() -> Trajectory:
            started, late = time.monotonic(), asyncio.timeout(self.limits.attempt_seconds)
            spent = seconds_used()
            try:
                async with late:
                    trajectory = await self._place.attempt(task, laid_out(skill), trial)
            except EtudeError:
                raise
            except TimeoutError as error:
                if not late.expired():
                    raise BoundaryError(f"agent {self.agent.name!r}", error) from error
                if sum(spent) < self.limits.attempt_seconds / 2:
                    raise EtudeError(self._late) from None
                # The agent used the time, so that it cannot choose to have no score.
                trajectory = Trajectory(failure=self._late)
            except Exception as error:  # the boundary: whatever an agent raises is its failure
                raise BoundaryError(f"agent {self.agent.name!r}", error) from error
            usd = self.cost(task.target, trajectory.usage, trajectory.simulated) if self.agent.metered else None
            seconds = round(time.monotonic() - started, 3)
            return trajectory.model_copy(update={"seconds": seconds, "usd": usd})

        if self.agent.journals_calls:
            return await work()
        key = [self.agent.fingerprint(), task.model_dump(mode="json"), skill.hash, trial]
        return await self.journal.once("trajectory", key, Trajectory, work)

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """What the environment says of a trajectory; 0 for one that failed by the agent's own fault.
        Raises EtudeError: there is no score."""
        task = task.plain
        if trajectory.failure:
            right = "" if trajectory.answer.strip() else self.env.expectation(task)
            return Score(hard=0, soft=0, feedback="; ".join(filter(None, (trajectory.failure, right))))

        async def work() -> Score:
            try:
                score = await self._place.score(task, trajectory)
                return score.model_copy(update={"simulated": True}) if self.judge_simulated() else score
            except EtudeError:
                raise
            except Exception as error:  # the boundary: whatever a scorer raises is its failure
                raise BoundaryError(f"scoring in environment {self.env.name!r}", error) from error

        if self.env.repeatable:
            return await work()
        done = digest(trajectory.model_dump(mode="json", exclude={"seconds", "usd"}))
        key = [self.env.fingerprint(), task.model_dump(mode="json"), done]
        return await self.journal.once("score", key, Score, work)


def attempt_id(task: str, skill: Skill, trial: int) -> str:
    """The id of an attempt at the task of that id. Models and agents do not count: edits cite the same id
    whatever model answered."""
    return "a-" + digest([task, skill.hash, trial])[:8]


def too_many_voids(split: Split, example: Attempt, voids: int, total: int, limit: VoidLimit) -> VoidStop:
    """The error for attempts that cannot be decided on."""
    return VoidStop(
        f"{voids} of {total} {split} attempts errored; the last one ({example.task.id}): {example.reason}",
        hint=f"fix the cause and run the same command again, or allow more with limits.{limit}",
    )


def _without_messages(attempt: Attempt) -> Attempt:
    made = attempt.trajectory
    kept = Trajectory(usage=made.usage, simulated=made.simulated, read_skill=made.read_skill)
    return attempt.model_copy(update={"trajectory": kept})
