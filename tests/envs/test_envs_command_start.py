"""A check or grader that cannot be started is told before anything is paid for, and is never a score."""

import json
import sys
from pathlib import Path

import pytest

from etude.envs.command import CommandEnvironment
from etude.errors import BoundaryError, ConfigError
from etude.records import Task, Trajectory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"id": f"t{n}", "input": f"Question {n}?"} for n in range(2)]
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "project"


def env(folder: Path, first: str, mode: int = 0o755) -> CommandEnvironment:
    """The environment with a check of two lines."""
    (folder / "check").write_text(f"{first}\nprint('checked'); import sys; sys.exit(0)\n")
    (folder / "check").chmod(mode)
    return CommandEnvironment({"path": str(folder / "tasks.jsonl"), "ratio": [1, 1, 0], "check": "./check"})


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ("#!/bin/nope", "/bin/nope"),
        ("#! /bin/nope -x", "/bin/nope"),
        ("#!/usr/bin/env no-such-python", "no-such-python"),
        ("#!/usr/bin/env -S A=1 no-such-python -u", "no-such-python"),
    ],
)
def test_a_script_whose_interpreter_does_not_exist_is_refused(folder: Path, first: str, name: str) -> None:
    with pytest.raises(ConfigError) as error:
        env(folder, first)
    path = str(folder / "check")
    expected = f"program {path!r} needs {name!r}, which was not found"
    assert error.value.message == expected
    assert error.value.hint == f"install {name!r}, or correct the first line of {path!r}"


def test_a_file_that_is_not_executable_is_refused_at_once(folder: Path) -> None:
    with pytest.raises(ConfigError) as error:
        env(folder, "#!/bin/sh", mode=0o644)
    assert error.value.message == "env: check = './check': there is no program './check', or it is not executable"


async def test_a_check_that_cannot_be_started_any_more_is_no_score(folder: Path) -> None:
    broken = env(folder, f"#!{sys.executable}")
    (folder / "check").write_text("#!/bin/nope\n")
    with pytest.raises(BoundaryError, match=r"ended with exit code 127: .*No such file or directory"):
        await broken.score(Task(id="t", input="?"), Trajectory(answer="x"))
