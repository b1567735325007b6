"""The scripts of this repository say what they take."""

import shutil
import subprocess
from pathlib import Path

from docs_pages import ROOT


def test_the_help_of_the_tests_is_its_own_and_installs_nothing(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    copy = shutil.copy(ROOT / "scripts" / "test", tmp_path / "scripts" / "test")
    done = subprocess.run([copy, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--no-programs" in done.stdout
    assert "--slow" in done.stdout
    assert [path.name for path in tmp_path.rglob("*")] == ["scripts", "test"]
