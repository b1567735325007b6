"""Runs in a copy of the workspace as the agent left it: exit code 0 is full marks, the words are feedback."""

import os
import sys
from pathlib import Path


def main() -> None:
    """answer.txt must hold what the expected.txt of the task holds."""
    task = Path(__file__).parent / "tasks" / os.environ["ETUDE_TASK_ID"]
    wanted = (task / "expected.txt").read_text().strip()
    answer = Path("answer.txt")
    if not answer.is_file():
        sys.exit("there is no answer.txt")
    got = answer.read_text(errors="replace").strip()
    if got != wanted:
        sys.exit(f"expected: {wanted}; got: {got[:200]}")


if __name__ == "__main__":
    main()
