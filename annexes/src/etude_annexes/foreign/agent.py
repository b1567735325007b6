"""The agent of a task of another maker: a runner does the attempt, and asks the model through the gateway."""

import asyncio
import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from etude.concurrency import give_up
from etude.envs.scorers.answer_scorer import shorten
from etude.envs.target import with_score
from etude.errors import EtudeError
from etude.gateway import Gateway, GatewaySession
from etude.programs.account import Account, after_the_prompt, has_read, neutral
from etude.programs.program import installable
from etude.protocols import Agent, ChatModel
from etude.records import File, Reply, Score, Skill, Task, Trajectory, digest, user
from etude.records.said import said_in
from etude.sandbox.process import spend
from etude.skill import Document
from etude_annexes.foreign.runner import Runner, RunnerReply

_LOOK_SECONDS = 0.25


class ForeignFailed(EtudeError):
    """The package could not make the attempt, or not score it."""


@dataclass(frozen=True)
class Terms:
    """What an environment wants of its agent."""

    environment: str
    """Its name."""
    fingerprint: str
    """Of the environment."""
    folder: bool
    """Mount the skill as a folder in place of putting it into the conversation."""
    full_marks: float
    """What scores are divided by."""


class ForeignAgent(Agent):
    """Makes attempts by a runner, with its agent and its score. The `instructions` stand between the heading of the
    skill and the skill."""

    def __init__(self, target: ChatModel, instructions: str, runner: Runner, terms: Terms) -> None:
        self.name = terms.environment
        self._target = target
        self._limit = target.max_output_tokens
        self.told = self._instructions = instructions
        self._runner = runner
        self._terms = terms
        self._model = target.name.partition(":")[2] or target.name
        self._gateway = Gateway(target, model_name=self._model)

    def fingerprint(self) -> str:
        """Changes with the environment, the model and the words around the skill."""
        return digest([self._terms.fingerprint, self._target.fingerprint(), self._instructions])

    async def aclose(self) -> None:
        """End the runner and the gateway."""
        await self._runner.aclose()
        await self._gateway.aclose()

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """One attempt.

        Raises:
            ForeignFailed: the package has no score for it, or one outside of 0 to 1.
            RunnerDied: the package took down two processes in a row.
            EtudeError: whatever a request to the model failed with.
        """
        seed = task.seed(trial)
        async with self._gateway.session(seed=seed) as session, self._gateway.session(seed=seed) as others:
            order = {
                "do": "attempt",
                "variant": task.data["variant"],
                "task": task.data["task"],
                "model": self._model,
                "url": f"{session.url}/v1",
                "key": session.key,
                "other_key": others.key,
                **self._skill(skill),
            }
            reply = await self._reply(order, session, others)
            made = self._trajectory(task, skill, session, reply)
            simulated = made.simulated or others.simulated
            return made.model_copy(update={"usage": made.usage + others.usage, "simulated": simulated})

    async def _reply(self, order: dict[str, object], *sessions: GatewaySession) -> RunnerReply:
        """The reply of the runner. Raises the error of the model, should there be one."""
        port = int(sessions[0].url.rpartition(":")[2])
        asking = asyncio.create_task(self._runner.ask(order, sessions[0].socket, port))
        watching = asyncio.create_task(_count_work(sessions))
        failing = [asyncio.create_task(session.failed.wait()) for session in sessions]
        under_way: list[asyncio.Task[Any]] = [asking, watching, *failing]
        try:
            await asyncio.wait([asking, *failing], return_when=asyncio.FIRST_COMPLETED)
            for session in sessions:
                if session.error is not None:
                    raise session.error
            return await asking
        finally:
            await give_up(*under_way)
            if not watching.cancelled():
                spend(watching.result())

    def _skill(self, skill: Skill) -> dict[str, object]:
        """What the runner is told of the skill."""
        body = Document.parse(skill.text).body.strip()
        made = installable(skill) if self._terms.folder and body else None
        if made is None:
            text = f"# Skill\n\n{self._instructions}\n\n{body}\n" if body else ""
            return {"text": text, "files": {}, "name": ""}
        files = {"SKILL.md": File(data=made.text.encode()), **made.files}
        told = {name: (base64.b64encode(file.data).decode(), file.executable) for name, file in files.items()}
        return {"text": "", "files": told, "name": made.name}

    def _trajectory(self, task: Task, skill: Skill, session: GatewaySession, reply: RunnerReply) -> Trajectory:
        conversation = session.conversation
        value = 0.0 if reply.failure else self._value(reply)
        finish = session.log[-1].finish if session.log else "stop"
        _, problem, ended = said_in(Reply(text=reply.answer, finish=finish), self._limit)
        failure = reply.failure or ("" if value > 0 else problem)
        account = neutral(Account(reply.answer, after_the_prompt(conversation), {}), {})
        made = Trajectory(
            answer=account.answer,
            messages=(user(task.input), *account.messages),
            failure=failure,
            ended=ended if failure == problem or ended == "cut off" else None,
            usage=session.usage,
            simulated=session.simulated,
            read_skill=has_read(skill, conversation) if self._terms.folder else None,
        )
        if made.failure:
            return made
        feedback = "correct" if value >= 1 else shorten(reply.feedback)
        return with_score(made, Score(hard=value, soft=value, feedback=feedback))

    def _value(self, reply: RunnerReply) -> float:
        if reply.error or reply.score is None:
            raise ForeignFailed(f"environment {self.name!r}: {reply.error or 'there is no score'}")
        value = reply.score / self._terms.full_marks
        if not math.isfinite(value) or value > 1:
            most = f"{self._terms.full_marks:g}"
            raise ForeignFailed(
                f"environment {self.name!r}: the score {reply.score:g} is more than full marks, {most}",
                hint="set env.full_marks to the score of a task that is fully solved",
            )
        return max(0.0, value)


async def _count_work(sessions: Sequence[GatewaySession]) -> float:
    """Until it is cancelled: seconds since the first answer in which the package waited for none."""
    worked = 0.0
    try:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            asked, waits = any(each.log for each in sessions), any(each.pending for each in sessions)
            worked += _LOOK_SECONDS if asked and not waits else 0.0
    except asyncio.CancelledError:
        return worked
