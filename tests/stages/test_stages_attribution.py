"""Which of several edits a task needs that passes with all of them."""

from collections.abc import Sequence
from random import Random

from etude.stages.shared.attribution import needed_sets


async def test_whatever_noise_answers_sets_are_of_edits_that_were_given_and_the_questions_end() -> None:
    rng = Random(1)

    async def ask(groups: Sequence[Sequence[int]], tasks: Sequence[str]) -> list[bool | None]:
        return [rng.choice((True, False, None)) for _ in tasks]

    for _ in range(300):
        edits = rng.sample(range(20), rng.randint(1, 12))
        for group, tasks in (
            await needed_sets(["a", "b", "c"], edits, ask, lambda task: task != "b", sure=True)
        ).items():
            assert group
            assert set(group) <= set(edits)
            assert set(tasks) <= {"a", "b", "c"}
