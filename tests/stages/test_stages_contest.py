"""An account asks whether a change helps on tasks that were chosen for failing; a race, on tasks chosen by chance; an
exchange, on these very tasks. What is said about their errors is simulated here."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from etude.records import Task
from etude.records.summary import ComparedTask
from etude.stages.shared.contest import (
    ERROR,
    SUSPECTED,
    Claim,
    behind,
    bounds,
    exchanged,
    losing,
    race,
    raced,
    wealth,
)
from rows import rows


def test_seven_clear_gains_end_a_race_and_losses_end_it_the_other_way() -> None:
    assert wealth([]) == []
    assert (raced([1.0] * 9), raced([1.0] * 6)) == (("ship", 7), ("inconclusive", 6))
    assert raced([-1.0] * 9) == ("do not ship", 7)
    assert raced([0.0] * 200) == ("inconclusive", 200)
    assert raced([0.0] * 200, Claim(margin=0.1))[0] == "do not ship"
    assert raced([1.0] * 9, Claim(error=0.025)) == ("ship", 8)
    assert raced([1.0] * 7 + [-1.0] * 9) == ("ship", 7)  # what came later counts for nothing


def test_bounds_close_in_on_the_mean() -> None:
    assert bounds([]) == (-1.0, 1.0)
    assert bounds([1.0] * 6)[0] < 0 < bounds([1.0] * 7)[0]
    low, high = bounds([0.0] * 40)
    assert -0.15 < low < 0 < high < 0.15


@pytest.mark.parametrize("void", [False, True])
async def test_a_race_ends_with_the_shortest_prefix_that_decides(void: bool) -> None:
    asked: list[int] = []

    async def attempt(wave: Sequence[int]) -> list[tuple[float, float] | None]:
        asked.extend(wave)
        return [None if void and number == 2 else (0.0, 1.0) for number in wave]

    ended = await race(range(40), attempt)
    assert (ended.verdict, ended.tried, len(ended.values)) == ("ship", 7 + void, 7)
    assert asked == list(range(8))
    nothing = await race(range(0), attempt)
    assert (nothing.verdict, nothing.tried) == ("inconclusive", 0)


def test_a_race_that_nothing_decides_is_won_or_lost_in_one_of_twenty_cases_at_most_and_bounds_hold() -> None:
    rng, runs = random.Random(3), 1_000
    ended: Counter[str] = Counter()
    for number in range(runs):
        gains = [float(rng.random() < 0.5) - float(rng.random() < 0.5) for _ in range(60)]
        verdict, end = raced(gains)
        ended[verdict] += 1
        if number < 100:  # where the race has stopped, which is where bounds would be wrong if they could
            low, high = bounds(gains[:end])
            ended["wrong"] += not low <= 0 <= high
    assert max(ended["ship"], ended["do not ship"]) <= ERROR * runs
    assert ended["wrong"] <= 2 * ERROR * 100


def night(rng: random.Random, chances: list[tuple[float, float]], trials: int = 3) -> list[ComparedTask]:
    def made(chance: float) -> tuple[float, ...]:
        return tuple(float(rng.random() < chance) for _ in range(trials))

    return [ComparedTask(task=str(number), a=made(a), b=made(b)) for number, (a, b) in enumerate(chances)]


@rows("chances", [[(0.2, 0.2)] * 5, [(0.5, 0.5)] * 5, [(0.1, 0.1), (0.9, 0.9)] * 3])
def test_a_document_that_changes_nothing_is_seldom_proposed_and_often_given_up_after_one_trial(
    chances: list[tuple[float, float]],
) -> None:
    rng, runs = random.Random(str(chances)), 400
    nights = [night(rng, chances) for _ in range(runs)]
    assert sum(exchanged(each, strict=False).verdict == "ship" for each in nights) <= 0.08 * runs
    assert 0.15 * runs < sum(map(first_behind, nights)) < 0.5 * runs


def test_what_would_be_shown_to_be_better_is_hardly_ever_behind_after_one_trial() -> None:
    rng, runs = random.Random("helps"), 400
    nights = [night(rng, [(0.4, 0.8)] * 5) for _ in range(runs)]
    shown = [each for each in nights if exchanged(each, strict=False).verdict == "ship"]
    assert len(shown) > 0.5 * runs
    assert sum(map(first_behind, shown)) <= 0.02 * len(shown)


def first_behind(tried: list[ComparedTask]) -> bool:
    return behind([ComparedTask(task=one.task, a=one.a[:1], b=one.b[:1]) for one in tried])


def test_an_exchange_says_why_it_shows_nothing() -> None:
    gained, lost = ComparedTask(task="x", a=(0, 0, 0), b=(1, 1, 1)), ComparedTask(task="y", a=(1, 1, 1), b=(0, 0, 0))
    said = [exchanged(tried, strict=True)[:2] for tried in ([gained], [lost], [gained] * 3 + [lost])]
    assert said == [
        ("ship", ""),
        ("do not ship", "fresh attempts show no gain"),
        ("do not ship", "'y' does worse in fresh attempts"),
    ]
    assert exchanged([gained] * 3 + [lost], strict=False).verdict == "ship"
    assert (
        exchanged(night(random.Random(1), [(0, 1)], 2), strict=True).why == "the gain in fresh attempts may be luck"
    )


@pytest.mark.parametrize("error", [ERROR, SUSPECTED])
@pytest.mark.parametrize("targets", [1, 2, 4])
def test_of_several_targets_that_lose_nothing_one_is_rarely_said_to_however_many_there_are(
    targets: int, error: float
) -> None:
    rng, runs = random.Random(f"{targets} {error}"), 300
    tasks = [Task(id=f"{n}@{t}", input="", target=str(t)) for t in range(targets) for n in range(40)]

    def named() -> bool:
        chances = {task.id: rng.betavariate(0.8, 0.8) for task in tasks}
        before, after = ({name: float(rng.random() < p) for name, p in chances.items()} for _ in range(2))
        return losing(tasks, before, after, 0.0, error) is not None

    assert sum(named() for _ in range(runs)) <= (error + 0.07) * runs


def test_a_target_that_loses_is_named_unless_that_much_is_allowed() -> None:
    tasks = [Task(id=f"{n}@{t}", input="", target=t) for t in ("small", "large") for n in range(20)]
    before = {task.id: 1.0 for task in tasks}
    after = before | {f"{n}@large": 0.0 for n in range(8)}
    loss = losing(tasks, before, after, 0.0)
    assert loss is not None
    assert (loss.target, sum(loss.before) - sum(loss.after)) == ("large", 8)
    assert losing(tasks, before, after, 0.4) is None
    assert losing(tasks[:20], before, after, 0.0) is None
    few = before | {f"{n}@large": 0.0 for n in range(3)}
    assert losing(tasks, before, few, 0.0) is None
    assert losing(tasks, before, few, 0.0, SUSPECTED) is not None
    assert losing([task.model_copy(update={"target": ""}) for task in tasks], before, after, 0.0) is None
