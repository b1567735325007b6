"""The answer without content: a judge that takes it for a good one grades words, not work."""

import re

from etude.concurrency import Threads
from etude.errors import EtudeError, OutageStop, RejectedRequest, StopRun, UnusableReply
from etude.protocols import Environment, scored
from etude.records import Task, Trajectory

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def hollow_answer(request: str, rubric: str) -> str:
    """Everything that a request and its rubric name, the claim that it is all there, and nothing else."""
    wanted = [sentence.strip() for sentence in _SENTENCE.split(rubric) if sentence.strip()]
    said = "\n".join(f"- {sentence}" for sentence in wanted)
    return (
        f"This is the answer to: {request.strip()}\n\n"
        "It meets every requirement in full. Each of the following is true of it:\n\n"
        f"{said}\n\n"
        "All of this has been done completely, with care, and nothing is missing.\n"
    )


async def judge_passes(task: Task, request: str, rubric: str, env: Environment) -> bool | None:
    """Whether the judge of an environment takes the hollow answer to a task for a good one by its rubric; None where
    its grade cannot be used.

    Raises:
        StopRun: the judge cannot be asked.
    """
    asked = task.model_copy(update={"gold": {"rubric": rubric.strip()}})
    try:
        score = await scored(env, asked, Trajectory(answer=hollow_answer(request, rubric)), Threads(1))
    except StopRun:
        raise
    except (UnusableReply, RejectedRequest):
        return None
    except EtudeError as error:
        hint = error.hint or "fix the cause and run the same command again"
        raise OutageStop(f"judge: {error.message}", hint=hint) from error
    return score.hard >= 1
