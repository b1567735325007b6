"""Planted dead lines: the whole figures."""

import pytest

import prune as bench


@pytest.mark.parametrize(("compliance", "most"), [(0.95, 600), (0.88, 900)])
def test_dead_lines_go_and_needed_ones_stay_within_the_attempts(compliance: float, most: int) -> None:
    found = [bench.run(seed, compliance, bench.KINDS["plain"]) for seed in range(1, 21)]
    assert sum(one.dead for one in found) / len(found) >= 0.9
    assert sum(one.needed for one in found) / len(found) <= 0.01
    assert sum(one.attempts for one in found) / len(found) <= most
