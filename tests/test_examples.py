"""Every example runs as its docstring says, writes only where it is told to, and shows what it claims."""

import subprocess
import sys
from pathlib import Path

import pytest

from rows import few, rows

EXAMPLES = Path(__file__).parent.parent / "examples"
TELLING = {
    "budget_and_resume": ["stopped: limits.calls = 80 is reached", "same best skill: True", "started again: 0"],
    "consolidate": ["skill: accepted", "verdict inconclusive", "'Recommendation:'"],
    "coming_from_skillrl": ["gain: +0.", "best skill: runs/coming-from-skillrl/best/sorting/SKILL.md"],
    "function_environment": ["gain on test tasks: +0."],
    "loop_in_one_file": ["step  1 of 9", "true score on 100 unseen tasks, simulated: 0."],
    "over_http": ["requests answered, faults: rate_limit_bare, server_error", "same scores as in this process: True"],
    "own_environment": ["gain on test tasks, in words in place: +0."],
    "own_model": ["gain on test tasks: +1.00"],
    "own_scorer": ["gain on test tasks, half of it partial credit: +0."],
    "spreadsheets": ["gain on test workbooks: +0.", "best skill: runs/spreadsheets/best/spreadsheets/SKILL.md"],
    "replace_a_prompt": ["gain on test tasks: +0."],
    "train_from_python": ["gain on 30 test tasks: +0.", "best skill: runs/train-from-python/best/counting/SKILL.md"],
    "watch_events": ["step 1: accepted", "stopped after step", "attempts: {'completed': "],
}
IN_MEMORY = {"loop_in_one_file"}
QUICK = ("loop_in_one_file", "own_model")


def test_every_example_is_known_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(TELLING)


@pytest.mark.parametrize("name", few(sorted(TELLING), *QUICK))
def test_an_example_runs_and_shows_what_it_claims(tmp_path: Path, name: str) -> None:
    arguments = [] if name in IN_MEMORY else ["runs"]
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / f"{name}.py", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in TELLING[name] if line not in done.stdout] == [], done.stdout
    assert [path.name for path in tmp_path.iterdir()] == arguments


@rows("name", sorted(TELLING))
def test_an_example_says_in_its_docstring_how_to_run_it(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert f"    python examples/{name}.py" in text.split('"""')[1]
