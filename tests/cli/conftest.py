import shutil
from pathlib import Path

import pytest

from skillgrad.cli.main import main


@pytest.fixture(scope="session")
def demo_done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo project with its finished run. Look, do not touch: copy it with `demo_project`."""
    folder = tmp_path_factory.mktemp("cli") / "demo"
    assert main(["demo", "--folder", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def paper_done(demo_done: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo project with a finished run of two epochs by the published loop. Look, do not touch."""
    folder = tmp_path_factory.mktemp("paper") / "demo"
    shutil.copytree(demo_done, folder, ignore=shutil.ignore_patterns("runs"))
    words = ["train", str(folder / "skillgrad.yaml"), "--search.policy", "paper", "--train.epochs", "2"]
    assert main(words) == 0
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, without keys in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def demo_project(demo_done: Path, here: Path) -> Path:
    """A copy of the finished demo as `demo` in the current folder."""
    shutil.copytree(demo_done, here / "demo")
    return Path("demo")


@pytest.fixture
def paper_project(paper_done: Path, here: Path) -> Path:
    """A copy of `paper_done` as `demo` in the current folder."""
    shutil.copytree(paper_done, here / "demo")
    return Path("demo")


@pytest.fixture
def fresh_project(demo_done: Path, here: Path) -> Path:
    """The demo as `demo` in the current folder, not yet trained."""
    shutil.copytree(demo_done, here / "demo", ignore=shutil.ignore_patterns("runs"))
    return Path("demo")
