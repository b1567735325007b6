"""The summary of a run, for people."""

from pathlib import Path

import pytest

from etude.cli.main import main
from etude.readable import fitted


def test_a_path_is_never_broken() -> None:
    path = "/".join(["folder"] * 20)
    assert fitted(f"best skill  {path}", 40) == [f"best skill  {path}"]


def test_the_demo_ends_with_what_changed_in_the_skill(
    fresh_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--folder", "demo", "--train.epochs", "1", "--test.enabled", "false"]) == 0
    out = capsys.readouterr().out
    _, _, changed = out.partition("\nwhat changed in the skill:\n--- initial\n+++ best")
    assert "\n+- " in changed.partition("\ntry next:\n")[0]
