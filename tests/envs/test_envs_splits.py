from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs import splits
from etude.envs.splits import check_splits, split_by_ratio
from etude.errors import ConfigError, DataError
from etude.records import SPLITS, Task
from rows import rows


def task(name: str, text: str | None = None, **fields: str) -> Task:
    return Task(id=name, input=text if text is not None else f"do {name * 9}", **fields)


def check(*tasks: Sequence[Task], **more: Any) -> list[str]:
    """Of tasks for training, validation and the test."""
    return check_splits(dict(zip(SPLITS, tasks, strict=True)), **more)


def test_clean_splits_give_no_warning() -> None:
    assert check([task("a")], [task("b")], [task("c")]) == []


def test_an_empty_split_is_refused_with_the_file_it_came_from() -> None:
    with pytest.raises(DataError) as caught:
        check([task("a")], [], [], names={"val": "val.jsonl"})
    assert str(caught.value) == "val (val.jsonl): the val split is empty\nhint: give it at least one task"
    with pytest.raises(DataError, match="one task; tasks with the same input stay in one split"):
        check([task("a", "do it"), task("b", "do it")], [], [])


def test_an_empty_test_split_is_refused_only_when_it_is_needed() -> None:
    assert check([task("a")], [task("b")], []) == []
    with pytest.raises(DataError, match="the test split is empty"):
        check([task("a")], [task("b")], [], need=("train", "val", "test"))


def test_the_same_input_in_two_splits_is_refused_whatever_its_case_and_spaces() -> None:
    with pytest.raises(DataError) as caught:
        check([task("a", "What  is\nthis?")], [task("b", "what IS this? ")], [], names={"train": "t.csv"})
    assert "in two splits: train (t.csv) 'a' = val 'b'" in caught.value.message


@rows(
    ("one", "other"),
    [("the caf\u00e9 at 5", "the cafe\u0301 at 5"), ("a b", "a\u00a0b\u200b"), ("coop", "co\u00adop")],
)
def test_the_same_input_in_another_unicode_form_is_the_same_input(one: str, other: str) -> None:
    with pytest.raises(DataError, match="in two splits"):
        check([task("a", one)], [task("b", other)], [])


def test_an_input_with_another_letter_or_exponent_is_another_input() -> None:
    assert not check([task("a", "x\u00b2 caf\u00e9")], [task("b", "x2 cafe long")], [])


def test_duplicate_ids_are_refused_across_and_within_splits() -> None:
    with pytest.raises(DataError) as caught:
        check([task("a", "1"), task("b", "2"), task("b", "3")], [task("a", "4")], [])
    assert caught.value.message == "duplicate task ids: 'a' in train and val, 'b' in train and train"


def test_an_id_that_many_tasks_have_is_counted_and_not_listed() -> None:
    with pytest.raises(DataError) as caught:
        check([task("a", f"{n}") for n in range(20)], [task("b")], [])
    assert caught.value.message == "duplicate task ids: 'a' 20 times, as in train and train"


def test_a_long_list_of_problems_is_cut_and_counted() -> None:
    with pytest.raises(DataError, match=r"'e' in train and val, and 2 more"):
        check([task(n, f"x{n}") for n in "abcdefg"], [task(n, f"y{n}") for n in "abcdefg"], [])


def test_the_same_input_twice_within_a_split_is_a_warning() -> None:
    warnings = check([task("a", "Hi"), task("b", "hi")], [task("c")], [])
    assert warnings == ["the same input occurs more than once within a split: train 'a' = 'b'"]


def test_near_duplicates_across_splits_are_a_warning_whatever_the_order_of_words() -> None:
    text = "Natalia sold clips to forty eight of her friends in the month of April"
    turned = "In the month of April Natalia sold clips to forty eight of her friend"
    warnings = check([task("a", text), task("x")], [task("b")], [task("c", turned)])
    (said,) = warnings
    first = "as train 'a' 'Natalia sold clips to forty eight of her...' ~ test 'c' 'In the month of April Natalia"
    assert said.startswith(f"nearly the same in two splits: 1 pair of tasks (95% alike), {first}")
    assert said.endswith(": move one of each pair into the split of the other")


@rows(
    ("files", "group", "cure"),
    [
        (("a", "a", "a"), "", "add a column 'group' to the data, with one value for tasks that belong together"),
        (("a", "a", "a"), "g", "give both the same group, and they stay in one split"),
        (("a", "b", "c"), "g", "move one of each pair into the split of the other"),
    ],
)
def test_the_cure_for_near_duplicates_is_one_that_this_data_allows(
    files: tuple[str, ...], group: str, cure: str
) -> None:
    text = "Natalia sold clips to forty eight of her friends in the month of April"
    known = Task(id="x", input="something else", group=group)
    near = [task("a", text), known], [task("b")], [task("c", text + " too")]
    (said,) = check(*near, names=dict(zip(SPLITS, files, strict=True)))
    assert f": {cure}" in said


def test_what_a_template_adds_to_every_task_makes_none_of_them_alike() -> None:
    end = "\n\nAnswer with one of: billing, delivery, technical support, returns, other, complaints, praise, sales"
    tasks = [task(word, f"{word} is broken{end}") for word in ("the pump", "my lamp", "a door", "one key")]
    tasks += [task(f"t{n}", f"question {n * n * 7919} of somebody{end}") for n in range(1, 9)]
    assert check(tasks[::3], tasks[1::3], tasks[2::3]) == []


def test_a_search_for_near_duplicates_that_would_take_too_long_is_left_out_and_says_so() -> None:
    many = [task(str(n), f"{n}") for n in range(2001)]
    others = [task(f"v{n}", f"v{n}") for n in range(2000)]
    assert check(many, others, []) == [
        "near duplicates across splits were not looked for: 4,002,000 pairs of tasks are too many"
    ]
    assert splits.MAX_PAIRS < 4_002_000


def test_a_ratio_is_met_exactly_where_it_divides_evenly() -> None:
    result = split_by_ratio([task(str(n)) for n in range(100)], (2, 1, 7))
    assert {name: len(found) for name, found in result.items()} == {"train": 20, "val": 10, "test": 70}


def test_every_type_is_divided_in_the_ratio() -> None:
    tasks = [task(f"{kind}{n}", type=kind) for kind, count in (("x", 50), ("y", 10), ("z", 40)) for n in range(count)]
    result = split_by_ratio(tasks, (2, 1, 7))
    assert Counter(found.type for found in result["train"]) == {"x": 10, "y": 2, "z": 8}
    assert Counter(found.type for found in result["val"]) == {"x": 5, "y": 1, "z": 4}


def test_types_with_one_task_each_do_not_all_go_to_the_largest_split() -> None:
    result = split_by_ratio([task(str(n), type=str(n)) for n in range(20)], (2, 1, 7))
    assert {name: len(found) for name, found in result.items()} == {"train": 4, "val": 2, "test": 14}


def test_a_group_never_crosses_splits() -> None:
    tasks = [task(str(n), group=f"g{n % 7}") for n in range(60)]
    result = split_by_ratio(tasks, (1, 1, 1))
    groups = [{found.group for found in part} for part in result.values()]
    assert sum(map(len, groups)) == 7


def test_tasks_with_the_same_input_stay_in_one_split() -> None:
    tasks = [task(str(n), f"Input {n // 3}" if n % 2 else f"input  {n // 3}") for n in range(60)]
    result = split_by_ratio(tasks, (1, 1, 1))
    assert "within a split" in check(result["train"], result["val"], result["test"])[0]


def test_another_seed_gives_another_split() -> None:
    tasks = [task(str(n)) for n in range(50)]
    assert split_by_ratio(tasks, seed=1) != split_by_ratio(tasks, seed=2)


def test_a_share_of_zero_leaves_the_test_split_empty() -> None:
    assert split_by_ratio([task(str(n)) for n in range(9)], (2, 1, 0))["test"] == ()


@rows("ratio", [(0, 1, 7), (1, 0, 1), (1, 1, -1), (1, 1), (1, float("nan"), 1), (1, float("inf"), 1)])
def test_a_ratio_that_cannot_be_used_is_named(ratio: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match=r"ratio = .*expected three numbers"):
        split_by_ratio([task("a")], ratio)


KINDS = st.sampled_from(["", "x", "y"])
PARTS = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9))


@settings(max_examples=100, deadline=None)
@given(st.lists(KINDS, max_size=40), PARTS, st.integers(0, 5), st.randoms(use_true_random=False))
def test_splits_depend_on_tasks_and_seed_and_miss_the_ratio_by_less_than_one(kinds, ratio, seed, random) -> None:
    tasks = [task(str(n), type=kind) for n, kind in enumerate(kinds)]
    result = split_by_ratio(tasks, ratio, seed)
    random.shuffle(tasks)
    assert split_by_ratio(tasks, ratio, seed) == result
    assert sorted(found.id for part in result.values() for found in part) == sorted(found.id for found in tasks)
    for part, share in zip(result.values(), ratio, strict=True):
        assert abs(len(part) - Fraction(len(tasks) * share, sum(ratio))) < 1
