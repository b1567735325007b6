"""Training with an agent program that is slow to start."""

from pathlib import Path

import pytest
from program_training import training_raises_the_score

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]


def test_training_through_opencode_raises_the_score(tmp_path: Path) -> None:
    training_raises_the_score(tmp_path, "opencode", "install")
