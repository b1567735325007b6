"""The probe of criteria: a judge must not pass an answer without content. One that does grades words, not work, and a
night would learn to say the words. So its rubric does not count; checks of plain words do, and are marked."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from etude.concurrency import together
from etude.errors import EtudeError, OutageStop, RejectedRequest, StopRun, UnusableReply
from etude.protocols import Environment
from etude.records import Trajectory
from etude.sleep.tasks.mined import MinedTask

HOLLOW = "its judge passes a hollow answer"
UNJUDGED = f"{HOLLOW}, so that only its checks count"
GAMEABLE = "gameable: an answer that only says the right words passes"
SLOW = "a pattern of its checks takes too long"
_WORDS = frozenset(
    ("contains", "not_contains", "section_present", "section_contains", "max_chars", "min_chars", "no_refusal")
)
"""Operators that an answer without content can meet."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


class ProbeResult(NamedTuple):
    """Tasks with the criteria that count."""

    tasks: tuple[MinedTask, ...] = ()
    """Those that any are left of, `gameable` where these are plain words."""
    fooled: tuple[str, ...] = ()
    """For each task whose rubric does not count what became of it: `HOLLOW` or `UNJUDGED`."""


async def probe(tasks: Sequence[MinedTask], env: Environment | None) -> ProbeResult:
    """Look at the criteria of tasks: the judge of the night (in `env`, a `NightEnvironment`) is asked one question
    about each rubric; None where it is a person. Raises StopRun: a call failed. Answers are cached: the same call
    resumes."""
    judged = [task for task in tasks if task.rubric.strip()] if env is not None else []
    passed = await together(_judge_passes(task, env) for task in judged if env is not None)
    fooled = {task.id for task, hollow in zip(judged, passed, strict=True) if hollow}
    kept: list[MinedTask] = []
    whys: list[str] = []
    for task in tasks:
        left = task.model_copy(update={"rubric": ""}) if task.id in fooled else task
        left = left.model_copy(update={"gameable": _says_words_only(left)})
        whys += [UNJUDGED if left.criteria else HOLLOW] if task.id in fooled else []
        kept += [left] if left.criteria else []
    return ProbeResult(tuple(kept), tuple(whys))


def _says_words_only(task: MinedTask) -> bool:
    return set(task.criteria) == {"checks"} and all(check.op in _WORDS for check in task.checks)


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
