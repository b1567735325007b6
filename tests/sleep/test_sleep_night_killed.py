"""A night that is killed goes on, and ends as if nothing had been."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("night_killed.py")


def test_a_night_killed_at_any_write_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    words = [sys.executable, str(SCRIPT), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    places = "\n".join(line["at"] for line in lines)
    for name in ("night.json", "tasks.json", "known.json", "proposal.json", "archive.jsonl", "journal"):
        assert name in places
    assert [line for line in lines if line["differs"] or line["other"]] == []
    # What was answered and not yet written down is asked for again: at concurrency 1 that is one question at most.
    assert {line["twice"] for line in lines} <= {0, 1}
