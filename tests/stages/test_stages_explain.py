"""Smallest parts that work, found by halves."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from etude.stages.shared.explain import explain


class Needs:
    """Works with any of some sets of elements; counts the tests."""

    def __init__(self, *sets: set[int]) -> None:
        self.sets = sets
        self.asked: list[tuple[int, ...]] = []

    async def __call__(self, part) -> bool:
        self.asked.append(tuple(part))
        return any(one <= set(part) for one in self.sets)


async def test_nothing_is_needed_for_what_works_without_anything() -> None:
    assert await explain([1, 2, 3], Needs(set())) == []


async def test_of_no_elements_none_is_needed() -> None:
    assert await explain([], Needs({1})) == []


async def test_one_needed_element_of_sixteen_is_found_in_few_tests() -> None:
    works = Needs({11})
    assert await explain(list(range(16)), works) == [11]
    assert len(works.asked) <= 11


async def test_elements_that_only_work_together_are_found_together() -> None:
    assert await explain(list(range(8)), Needs({1, 6})) == [1, 6]


async def test_of_two_that_cover_for_each_other_the_preferred_one_is_taken() -> None:
    assert await explain([5, 3, 9], Needs({9}, {5})) == [5]


async def test_parts_are_asked_about_in_the_order_of_the_elements() -> None:
    works = Needs({4, 1})
    await explain([4, 3, 2, 1], works)
    assert all(list(part) == sorted(part, reverse=True) for part in works.asked)


@given(st.lists(st.sets(st.integers(0, 7), max_size=4), min_size=1, max_size=4))
async def test_what_is_found_works_and_nothing_of_it_can_be_left_out(sets) -> None:
    works = Needs(*sets)
    found = await explain(list(range(8)), works)
    assert await works(found)
    assert not any([await works(part) for part in combinations(found, len(found) - 1)] if found else [])
