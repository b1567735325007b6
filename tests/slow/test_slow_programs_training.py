"""Training with further agent programs."""

from pathlib import Path

import pytest
from program_training import training_raises_the_score

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]


@pytest.mark.parametrize(("program", "delivery"), [("opencode", "install"), ("pi", "install"), ("codex", "inline")])
def test_training_through_a_real_program_raises_the_score(tmp_path: Path, program: str, delivery: str) -> None:
    training_raises_the_score(tmp_path, program, delivery)
