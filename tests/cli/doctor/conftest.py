import os
from pathlib import Path

import pytest

from etude.cli.main import main
from made_once import made_once, remember


@pytest.fixture(scope="session")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `doctor` remembers of the programs of this machine, which take seconds to say their versions."""

    def make(folder: Path) -> None:
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setenv("XDG_STATE_HOME", str(folder))
            main(["doctor"])

    return made_once(tmp_path_factory, "versions", make) / "etude" / "versions.json"


@pytest.fixture(autouse=True)
def remembered(versions: Path) -> None:
    remember(versions, Path(os.environ["XDG_STATE_HOME"]))
