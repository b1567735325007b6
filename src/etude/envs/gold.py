"""Scorers are tried on the gold answers before money is spent."""

import inspect
from collections.abc import Iterable

from etude.envs.scorers.base import AnswerScorer, shorten
from etude.errors import DataError
from etude.protocols import Environment, Scorer
from etude.records import Score, Task, Trajectory

SHOWN = 3


async def check_gold(env: Environment, tasks: Iterable[Task]) -> None:
    """Show every task to the scorer, and score its gold answer as if an agent had given it.

    No answer is scored in environments whose `scorer` has no say about gold answers: those of other makers, those
    that ask a model, functions, checks and patterns.

    Raises:
        DataError: a task that the scorer cannot use, or gold answers without full marks; names the tasks.
    """
    tasks = tuple(tasks)
    scorer = getattr(env, "scorer", None)
    if isinstance(scorer, Scorer):
        for task in tasks:
            scorer.check_task(task)
    if not isinstance(scorer, AnswerScorer) or not scorer.checks_gold:
        return
    problems: dict[str, str] = {}
    for task in tasks:
        try:
            result = env.score(task, Trajectory(answer=scorer.gold_answer(task)))
            score = await result if inspect.isawaitable(result) else result
        except DataError as error:
            problems[task.id] = error.message
            continue
        hard = score.hard if isinstance(score, Score) else score
        if hard < 1:
            problems[task.id] = score.feedback if isinstance(score, Score) else f"scored {score:g}"
    if problems:
        examples = "".join(
            f"\n  {task!r}: {shorten(problem, 200)}" for task, problem in list(problems.items())[:SHOWN]
        )
        raise DataError(
            f"the scorer {scorer.name!r} does not accept the gold answer of {len(problems)} tasks: "
            f"{', '.join(map(repr, problems))}{examples}",
            hint="fix these gold answers, or change the scorer or its settings",
        )
