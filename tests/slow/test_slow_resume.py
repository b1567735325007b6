"""A run killed before or after each single write ends as one that nothing disturbed."""

from pathlib import Path

from test_journeys_resume import Whole, ends_alike_when_killed, undisturbed

__all__ = ["undisturbed"]


def test_a_run_killed_before_or_after_any_write_ends_as_an_undisturbed_one(
    tmp_path: Path, undisturbed: Whole
) -> None:
    ends_alike_when_killed(undisturbed, tmp_path)
