"""The probe of rubrics: a judge must not pass an answer without content. One that does grades words, not work, and a
night would learn to say the words."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from etude.concurrency import together
from etude.errors import EtudeError, OutageStop, RejectedRequest, StopRun, UnusableReply
from etude.protocols import Environment
from etude.records import Record, Trajectory
from etude.sleep.tasks.mined import MinedTask

HOLLOW = "its judge passes a hollow answer"
SLOW = "a pattern of its checks takes too long"
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


class Doubt(Record):
    """A task that was dropped for its criteria."""

    task: str
    intent: str
    why: str = HOLLOW


async def probe(tasks: Sequence[MinedTask], env: Environment) -> tuple[Doubt, ...]:
    """The tasks whose rubric fails: the judge of the night (in `env`, a `NightEnvironment`) is asked one question
    about each. Raises StopRun: a call failed. Answers are cached: the same call resumes."""
    judged = [task for task in tasks if task.rubric.strip()]
    passed = await together(_judge_passes(task, env) for task in judged)
    return tuple(
        Doubt(task=task.id, intent=task.intent) for task, fooled in zip(judged, passed, strict=True) if fooled
    )


def hollow_answer(task: MinedTask) -> str:
    """Everything that the request and its rubric name, the claim that it is all there, and nothing else."""
    wanted = [sentence.strip() for sentence in _SENTENCE.split(task.rubric) if sentence.strip()]
    said = "\n".join(f"- {sentence}" for sentence in wanted)
    return (
        f"This is the answer to: {task.intent.strip()}\n\n"
        "It meets every requirement in full. Each of the following is true of it:\n\n"
        f"{said}\n\n"
        "All of this has been done completely, with care, and nothing is missing.\n"
    )


async def _judge_passes(task: MinedTask, env: Environment) -> bool:
    """Whether the judge takes the hollow answer for a good one; it does not where its grade cannot be used."""
    asked = task.task.model_copy(update={"gold": {"rubric": task.rubric.strip()}})
    try:
        score: Any = env.score(asked, Trajectory(answer=hollow_answer(task)))
        score = await score if asyncio.iscoroutine(score) else score
    except StopRun:
        raise
    except (UnusableReply, RejectedRequest):
        return False
    except EtudeError as error:
        hint = error.hint or "fix the cause and run the same command again"
        raise OutageStop(f"judge: {error.message}", hint=hint) from error
    return score.hard >= 1
