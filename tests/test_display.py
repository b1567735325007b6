"""Progress for a person who works from Python."""

import io
import re
from pathlib import Path

import pytest

from at_terminal import Terminal
from etude import ListEnvironment, Skill, Trainer
from etude.simulation import SEED_SKILL, make_tasks


def shown(stream: io.StringIO, folder: Path, monkeypatch: pytest.MonkeyPatch, **given: bool) -> str:
    """What a run writes on stderr where that is the stream."""
    tasks = make_tasks("counting", 12, seed=1)
    env = ListEnvironment(train=tasks[:4], val=tasks[4:8], test=tasks[8:], scorer="exact")
    config = {"train": {"epochs": 1}, "run": {"folder": str(folder), "name": "first"}}
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", stream)
    summary = Trainer(config, env=env, skill=Skill(text=SEED_SKILL), **given).train()
    assert repr(summary).startswith("<Summary 'first': test ")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())


def test_at_a_terminal_progress_is_shown_unless_it_is_switched_off_and_in_a_service_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown(Terminal(), tmp_path / "a", monkeypatch)
    assert "starting run 'first' in" in text
    assert "step 1 " in text
    assert "elapsed" in text
    assert shown(Terminal(), tmp_path / "b", monkeypatch, progress=False) == ""
    assert shown(io.StringIO(), tmp_path / "c", monkeypatch) == ""
