"""Scorers are tried on the gold answers before money is spent."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from etude.concurrency import Threads, in_thread, together
from etude.envs.scorers.answer_scorer import AnswerScorer, shorten
from etude.errors import DataError
from etude.protocols import Environment, Scorer, scored
from etude.records import Score, Split, Task, Trajectory

SHOWN = 3
_NAMED = 10
_FEW = 6
"""Fewer tasks than this can have one answer by chance."""
_NEARLY_ALL = 0.95


SOLUTION_SECONDS = 1200.0
"""Twice the usual `limits.attempt_seconds`: for a solution, and for scoring it."""


async def check_gold(env: Environment, tasks: Iterable[Task], seconds: float = SOLUTION_SECONDS) -> None:
    """Show every task to the scorer, and score its gold answer as if an agent had given it. A solution that a task
    brings, with its scoring, may take so many seconds.

    No answer is scored in environments whose `scorer` has no say about gold answers: those of other makers, those
    that ask a model, functions, checks and patterns.
    Raises DataError: a task that the scorer cannot use, or gold answers without full marks; names the tasks."""
    tasks = tuple(tasks)
    scorer = getattr(env, "scorer", None)
    if isinstance(scorer, Scorer):
        await in_thread(_show, scorer, tasks)
        await _check_solutions(scorer, tasks, seconds)
    if not isinstance(scorer, AnswerScorer) or not scorer.checks_gold:
        return
    problems: dict[str, str] = {}
    found = await _tried(env, [(task, scorer.gold_answer(task)) for task in tasks])
    for task, score in zip(tasks, found, strict=True):
        if isinstance(score, DataError):
            problems[task.id] = score.message
        elif score.hard < 1:
            problems[task.id] = score.feedback or f"scored {score.hard:g}"
    if problems:
        examples = "".join(
            f"\n  {shorten(problem if repr(task) in problem else f'{task!r}: {problem}', 200)}"
            for task, problem in list(problems.items())[:SHOWN]
        )
        named = ", ".join(map(repr, [*problems][:_NAMED])) + (", ..." if len(problems) > _NAMED else "")
        raise DataError(
            f"the scorer {scorer.name!r} does not accept the gold answer of {len(problems)} of {len(tasks)} tasks: "
            f"{named}{examples}",
            hint="fix these gold answers, or change the scorer or its settings",
        )


def _show(scorer: Scorer, tasks: Sequence[Task]) -> None:
    for task in tasks:
        scorer.check_task(task)


async def _check_solutions(scorer: Scorer, tasks: Sequence[Task], seconds: float) -> None:
    """Raises DataError: solutions of the tasks' authors do not get full marks; names the tasks."""
    places = asyncio.Semaphore(os.cpu_count() or 1)

    found: dict[str, DataError] = {}

    async def check(task: Task) -> None:
        async with places:
            try:
                await asyncio.wait_for(scorer.check_solution(task), seconds)
            except DataError as error:
                found[task.id] = error
            except TimeoutError:
                found[task.id] = DataError(
                    f"task {task.id!r}: its own solution is not done and scored within {seconds:,.0f} seconds",
                    hint="leave the task out, or raise limits.attempt_seconds, half of that",
                )

    await together(map(check, tasks))
    problems = [found[task.id] for task in tasks if task.id in found]
    if problems:
        examples = "".join(f"\n  {shorten(error.message, 600)}" for error in problems[:SHOWN])
        raise DataError(
            f"{len(problems)} of {len(tasks)} tasks are not solved by their own solutions:{examples}",
            hint=problems[0].hint,
        )


async def check_varied(env: Environment, splits: Mapping[Split, Sequence[Task]]) -> None:
    """See that no fixed reply solves a split, or all tasks where it has few: the most frequent gold answer is scored
    on them. Of environments whose gold answers cannot be scored, nothing is asked. Raises DataError: one does."""
    scorer = getattr(env, "scorer", None)
    if not isinstance(scorer, AnswerScorer) or not scorer.checks_gold:
        return
    every = [task for tasks in splits.values() for task in tasks]
    for split, found in splits.items():
        tasks, what = (found, f"{split} tasks") if len(found) >= _FEW else (every, "tasks")
        if len(tasks) < _FEW:
            continue
        ((reply, _),) = Counter(map(scorer.gold_answer, tasks)).most_common(1)
        scores = await scores_of(env, [(task, reply) for task in tasks])
        if sum(score.hard for score in scores) >= _NEARLY_ALL * len(tasks):
            solved = sum(score.hard >= 1 for score in scores)
            raise DataError(
                f"the fixed reply {shorten(reply, 80)!r} solves {solved} of {len(tasks)} {what}: a skill can "
                "learn nothing from them but that reply",
                hint="check the gold answers; set env.allow_constant_gold: true if they are as they should be",
            )


async def scores_of(env: Environment, answers: Sequence[tuple[Task, str]]) -> list[Score]:
    """The scores of answers, as if an agent had given them. Raises DataError: the scorer cannot use a task."""
    found = await _tried(env, answers)
    error = next((one for one in found if isinstance(one, DataError)), None)
    if error is not None:
        raise error
    return cast("list[Score]", found)


async def _tried(env: Environment, answers: Sequence[tuple[Task, str]]) -> list[Score | DataError]:
    """The score of each answer, or why there is none."""
    threads, found = Threads(1), list[Score | DataError]()
    for task, answer in answers:
        try:
            found.append(await scored(env, task, Trajectory(answer=answer), threads))
        except DataError as error:
            found.append(error)
    return found
