"""Which of several edits a task needs that passes with all of them."""

from collections.abc import Sequence
from random import Random

import pytest

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


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize(
    ("needs", "found"),
    [
        (lambda has: 7 in has, {7}),
        (lambda has: {0, 5, 11} <= has, {0, 5, 11}),
        (lambda has: bool({2, 9} & has), None),  # either does: one of them stays, not none
        (lambda has: bool({4, 5} & has) and 0 in has, None),
    ],
)
async def test_parts_are_left_out_side_by_side(needs, found: set[int] | None, again: bool) -> None:
    rounds: list[int] = []

    async def ask(groups: Sequence[Sequence[int]], tasks: Sequence[str]) -> list[bool | None]:
        rounds.append(len(tasks))
        return [needs(set(group)) for group in groups]

    (group,) = await needed_sets(["a", "b"], range(12), ask, lambda task: again, sure=True)
    assert needs(set(group))
    assert not any(needs({*group} - {one}) for one in group)
    assert found is None or set(group) == found
    assert len(rounds) <= 8  # one part after the other took up to 18
