"""A night on tasks that a program of the project judges."""

from pathlib import Path

from scripted import task_file
from small_night import Small

JUDGE = """#!/bin/sh
grep -q 'Key Risks' && exit 0
echo 'there is no section on the key risks with bullets'
exit 1
"""


def test_a_reviewed_file_with_commands_is_worked_on_and_the_command_decides(tmp_path: Path) -> None:
    small = Small(tmp_path, n=0)
    judge = small.project / "judge.sh"
    judge.write_text(JUDGE)
    judge.chmod(0o755)
    common = {"command": ["./judge.sh"], "project": str(small.project)}
    tasks = [
        {"id": f"t{number}", "intent": turn.prompt, "split": "val" if number > 3 else "train", **common}
        for number, turn in enumerate(small.turns[:6])
    ]
    report = small.night(task_file(tmp_path, tasks))
    (document,) = report.documents
    assert (report.status, document.baseline, document.candidate) == ("proposed", 0, 1)
