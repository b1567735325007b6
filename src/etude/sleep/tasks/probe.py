"""The probe of criteria: a judge must not pass an answer without content. One that does grades words, not work, and a
night would learn to say the words. So its rubric does not count; checks of plain words do, and are marked."""

from collections.abc import Sequence

from etude.concurrency import together
from etude.envs.hollow import judge_passes
from etude.protocols import Environment
from etude.sleep.tasks.mined import MinedTask

HOLLOW = "its judge passes a hollow answer"
UNJUDGED = f"{HOLLOW}, so that only its checks count"
GAMEABLE = "gameable: an answer that only says the right words passes"
SLOW = "a pattern of its checks takes too long"
_WORDS = frozenset(
    ("contains", "not_contains", "section_present", "section_contains", "max_chars", "min_chars", "no_refusal")
)
"""Operators that an answer without content can meet."""


async def probe(tasks: Sequence[MinedTask], env: Environment | None) -> tuple[tuple[MinedTask, ...], tuple[str, ...]]:
    """The tasks with the criteria that count, those that any are left of, `gameable` where these are plain words; and
    for each task whose rubric does not count what became of it: `HOLLOW` or `UNJUDGED`. The judge of the night (in
    `env`, a `NightEnvironment`) is asked one question about each rubric; None where it is a person.

    Raises:
        StopRun: a call failed. Answers are cached: the same call resumes.
    """
    judged = [task for task in tasks if task.rubric.strip()] if env is not None else []
    passed = await together(
        judge_passes(task.task, task.intent, task.rubric, env) for task in judged if env is not None
    )
    fooled = {task.id for task, hollow in zip(judged, passed, strict=True) if hollow}
    kept: list[MinedTask] = []
    whys: list[str] = []
    for task in tasks:
        left = task.model_copy(update={"rubric": ""}) if task.id in fooled else task
        left = left.model_copy(update={"gameable": _says_words_only(left)})
        whys += [UNJUDGED if left.criteria else HOLLOW] if task.id in fooled else []
        kept += [left] if left.criteria else []
    return tuple(kept), tuple(whys)


def _says_words_only(task: MinedTask) -> bool:
    return set(task.criteria) == {"checks"} and all(check.op in _WORDS for check in task.checks)
