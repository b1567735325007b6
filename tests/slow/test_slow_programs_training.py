"""Training with further agent programs."""

from pathlib import Path

import pytest
from program_training import training_changes_the_skill

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]


@pytest.mark.parametrize(("program", "delivery"), [("opencode", "install"), ("pi", "install"), ("codex", "inline")])
def test_training_through_a_real_program_changes_the_skill(tmp_path: Path, program: str, delivery: str) -> None:
    training_changes_the_skill(tmp_path, program, delivery)
