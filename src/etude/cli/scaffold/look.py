"""The first tasks as they will be asked and scored."""

import asyncio
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from etude.config import Section
from etude.envs.dataset import DatasetEnvironment
from etude.envs.scorers.answer_scorer import AnswerScorer, shorten
from etude.errors import EtudeError
from etude.protocols import Scorer
from etude.records import Task, Trajectory, canonical

SHOWN = 2
_MOST_CHARS = 800


@dataclass(frozen=True)
class TaskPreview:
    """A task, and what three answers to it score; no scores where a model judges."""

    id: str
    input: str
    gold: str
    scores: dict[str, float]
    rubric: str = ""


def first_tasks(env: DatasetEnvironment) -> list[TaskPreview]:
    """The first tasks of the training split."""
    return [asyncio.run(_shown(env, task)) for task in env.tasks("train")[:SHOWN]]


async def _shown(env: DatasetEnvironment, task: Task) -> TaskPreview:
    answers = {"A": "A", "": ""}
    scorer = cast("AnswerScorer[Section] | Scorer", env.scorer)
    if isinstance(scorer, AnswerScorer) and scorer.checks_gold:
        answers = {"gold": scorer.gold_answer(task), **answers}
    scores: dict[str, float] = {}
    for name, answer in answers.items():
        try:
            result = env.score(task, Trajectory(answer=answer))
            scores[name] = (await result if inspect.isawaitable(result) else result).hard
        except EtudeError:  # a model would have to judge
            break
    text = task.gold if isinstance(task.gold, str) else "" if task.gold is None else canonical(task.gold)
    rubric = task.data.get("rubric")
    criteria = shorten(rubric, 200) if isinstance(rubric, str) else ""
    return TaskPreview(task.id, shorten(task.input, _MOST_CHARS), shorten(text, 200), scores, criteria)


def as_lines(shown: list[TaskPreview]) -> Iterator[str]:
    """For people."""
    for number, task in enumerate(shown, 1):
        yield ""
        yield f"task {number}  as it is asked:"
        yield from (f"  | {line}".rstrip() for line in task.input.splitlines())
        for name, text in (("gold", task.gold), ("rubric", task.rubric)):
            first, *more = text.splitlines() or [""]
            if text:
                yield f"{name:<7} {first}"
                yield from (f"        {line}" for line in more)
        names = {"gold": "the gold", "A": "'A'", "": "an empty answer"}
        scores = ", ".join(f"{names[name]} {score:g}" for name, score in task.scores.items())
        yield f"scores  {scores or 'given by a model, the judge'}"
    if shown:
        yield ""
