"""Commands that a verb names are about the same nights, wherever its settings came from."""

import shlex
from pathlib import Path

import pytest
from cli_said import Captured, said
from small_night import Small


def follow(capsys: Captured, line: str) -> list[str]:
    """Carry out a command as it was printed."""
    words = shlex.split(line)
    assert words[:2] == ["etude", "sleep"]
    return said(capsys, *words[2:])


def test_after_a_night_of_another_settings_file_all_that_is_named_works(sleeper: Small, capsys: Captured) -> None:
    Path("sleep.yaml").rename("my nights.yaml")
    lines = said(capsys, "run", "my nights.yaml")
    *_, review, adopt = lines
    assert review == "  etude sleep review --config 'my nights.yaml'"
    waits = said(capsys, "status", "--config", "my nights.yaml")[-1]
    assert waits.endswith(f"or{adopt[1:]} for all")
    back = follow(capsys, adopt)[-1]
    assert back == "take it back with: etude sleep revert 1 --config 'my nights.yaml'"
    assert follow(capsys, back.partition(": ")[2]) == [f"restored  {sleeper.skill}: as it was before"]


def test_after_a_night_of_another_project_that_is_named(
    sleeper: Small, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sleeper.root)
    *_, adopt = said(capsys, "run", "project/sleep.yaml", "--sleep.project", "project")
    options = "--config project/sleep.yaml --project project"
    assert adopt == f"  etude sleep adopt {options}"
    assert follow(capsys, adopt)[0].startswith("adopted  ")
