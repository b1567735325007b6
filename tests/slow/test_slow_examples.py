"""The examples that are not run with the fast tests."""

from pathlib import Path

import pytest

from test_examples import QUICK, TELLING, runs_and_shows


@pytest.mark.parametrize("name", sorted(TELLING.keys() - set(QUICK)))
def test_an_example_runs_and_shows_what_it_claims(tmp_path: Path, name: str) -> None:
    runs_and_shows(name, tmp_path)
