"""Many attempts leave nothing behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import program_contract
import pytest

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]


def test_two_hundred_attempts_leak_no_process_no_folder_no_file_and_no_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("many_attempts.py"))],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(program_contract.__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=900,
    )
    first, last = json.loads(done.stdout)
    assert last["mb"] <= 1.1 * first["mb"]
    assert last["files"] <= first["files"]
    assert list(tmp_path.iterdir()) == []
    assert program_contract.processes_with(str(tmp_path)) == []
