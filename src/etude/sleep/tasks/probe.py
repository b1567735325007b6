"""The probe of criteria: a judge must not pass an answer without content, and a pattern must come to an end.

A judge that passes such an answer grades words, not work: a night would learn to say the words. A pattern whose match
takes too long leaves every attempt without a score.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from etude.concurrency import together
from etude.errors import EtudeError, OutageStop, RejectedRequest, StopRun, UnusableReply
from etude.protocols import Environment
from etude.records import Record, Trajectory
from etude.sleep.tasks.mined import MinedTask, SessionRef
from etude.timed_regex import Matcher
from etude.workbench import Workbench

__all__ = [
    "HOLLOW",
    "SLOW",
    "Doubt",
    "Probed",
    "hollow_answer",
    "probe",
    "probed",
    "too_slow",
]

_Why = Literal["its judge passes a hollow answer", "its pattern takes too long"]
HOLLOW: _Why = "its judge passes a hollow answer"
SLOW: _Why = "its pattern takes too long"
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_SECONDS = 2.0
"""Longest that a pattern may take with one of the texts that are made for it."""
_LENGTH = 500
"""Characters of such a text: a match that doubles its work with each character does not end on it."""
_BEGINS = re.compile(r"(?:\(\?\w+\))?(?:\^|\\A)?([\w :,-]*)")
"""The words that a pattern begins with."""
_REPEATED = ("a", "1", " ", "-", ".", "_", "\n", "a ", "1,", "a.")


class Doubt(Record):
    """A task that was dropped for its criteria."""

    task: str
    intent: str
    why: _Why


class Probed(Record):
    """What came of a probe."""

    tasks: tuple[MinedTask, ...] = ()
    """Those that are used."""
    doubts: tuple[Doubt, ...] = ()
    lost: tuple[SessionRef, ...] = ()
    """Sessions of whose tasks none is left: another night may write better criteria for them."""

    @property
    def dropped(self) -> Mapping[str, int]:
        """How many tasks were dropped, by reason."""
        return dict(Counter(doubt.why for doubt in self.doubts))


async def probed(tasks: Sequence[MinedTask], bench: Workbench) -> Probed:
    """As `probe`, with the judge of a workbench whose environment is that of a night."""
    judge = bench.models.get("judge")
    ask = judge is not None and not judge.answered_by_hand
    return await probe(tasks, bench.rollout.env, ask=ask)


async def probe(tasks: Sequence[MinedTask], env: Environment, *, ask: bool = True) -> Probed:
    """Try the criteria of each task: patterns by code, a rubric with one question to its judge.

    Args:
        env: asks the judge of the night (`NightEnvironment`).
        ask: whether the judge may be asked. A person who judges is not.

    Raises:
        StopRun: a call failed. Answers are cached: the same call resumes.
    """
    found: dict[str, _Why] = {task.id: SLOW for task in tasks if await asyncio.to_thread(too_slow, task)}
    judged = [task for task in tasks if task.rubric.strip() and task.id not in found] if ask else []
    passed = await together(_judge_passes(task, env) for task in judged)
    found |= {task.id: HOLLOW for task, fooled in zip(judged, passed, strict=True) if fooled}
    left = tuple(task for task in tasks if task.id not in found)
    behind = {(session.source, session.id) for task in left for session in task.sessions}
    lost = [one for task in tasks for one in task.sessions if (one.source, one.id) not in behind]
    return Probed(
        tasks=left,
        lost=tuple({(one.source, one.id): one for one in lost}.values()),
        doubts=tuple(
            Doubt(task=task.id, intent=task.intent, why=found[task.id]) for task in tasks if task.id in found
        ),
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


def too_slow(task: MinedTask) -> bool:
    """Whether a pattern of the task takes too long with a text that repeats one thing, and then ends otherwise.
    Blocks while patterns are matched."""
    matcher = Matcher(_SECONDS)
    patterns = {(str(check.arg), check.flags) for check in task.checks if check.op in ("regex", "not_regex")}
    try:
        for pattern, flags in sorted(patterns):
            begins = _BEGINS.match(pattern)
            for part in dict.fromkeys((*_REPEATED, *re.findall(r"[^\W\d_]+", pattern))):
                text = part * (_LENGTH // len(part)) + "\0"
                for before in {"", begins[1] if begins else ""}:
                    matcher.matches(pattern, before + text, flags=flags)
    except TimeoutError:
        return True
    except ChildProcessError:  # another cause ended it; a night that meets that again stops and says so
        return False
    return False


async def _judge_passes(task: MinedTask, env: Environment) -> bool:
    """Whether the judge takes the hollow answer for a good one. One that has no usable grade takes it for nothing."""
    asked = task.task.model_copy(update={"gold": {"rubric": task.rubric.strip()}})
    try:
        score: Any = env.score(asked, Trajectory(answer=hollow_answer(task)))
        score = await score if asyncio.iscoroutine(score) else score
    except (StopRun, UnusableReply, RejectedRequest) as error:
        if isinstance(error, StopRun):
            raise
        return False
    except EtudeError as error:
        hint = error.hint or "fix the cause and run the same command again"
        raise OutageStop(f"judge: {error.message}", hint=hint) from error
    return score.hard >= 1
