import pytest

from etude.envs import splits
from etude.envs.splits import check_splits, split_by_ratio
from etude.errors import ConfigError, DataError
from etude.records import Task


def task(name: str, text: str | None = None, **fields: str) -> Task:
    return Task(id=name, input=text if text is not None else f"do {name * 9}", **fields)


def test_duplicate_ids_are_refused_across_and_within_splits() -> None:
    with pytest.raises(DataError) as caught:
        check_splits([task("a", "1"), task("b", "2"), task("b", "3")], [task("a", "4")], [])
    assert caught.value.message == "duplicate task ids: 'a' in train and val, 'b' in train and train"


def test_a_search_for_near_duplicates_that_would_take_too_long_is_left_out_and_says_so() -> None:
    many = [task(str(n), f"{n}") for n in range(2001)]
    others = [task(f"v{n}", f"v{n}") for n in range(2000)]
    assert check_splits(many, others, []) == [
        "near duplicates across splits were not looked for: 4,002,000 pairs of tasks are too many"
    ]
    assert splits.MAX_PAIRS < 4_002_000


@pytest.mark.parametrize(
    "ratio", [(0, 1, 7), (1, 0, 1), (1, 1, -1), (1, 1), (1, float("nan"), 1), (1, float("inf"), 1)]
)
def test_a_ratio_that_cannot_be_used_is_named(ratio: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match=r"ratio = .*expected three numbers"):
        split_by_ratio([task("a")], ratio)
