import shutil
from pathlib import Path

import pytest
from small_night import MODELS, Kept, Small

from etude.cli.demo import make_project
from etude.cli.main import main
from made_once import made_once


@pytest.fixture(scope="session")
def demo_done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo project of two epochs and half of the tasks with its finished run. Look, do not touch: copy it with
    `demo_project`."""

    return made_once(tmp_path_factory, "cli", lambda folder: _demo(folder, epochs=2, train=40, val=20, test=30))


@pytest.fixture(scope="session")
def small_done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of one epoch and few tasks, for tests that only need a run."""
    return made_once(tmp_path_factory, "small", lambda folder: _demo(folder, epochs=1, train=20, val=16, test=4))


def _demo(folder: Path, *, epochs: int, **sizes: int) -> None:
    folder.mkdir()
    make_project(folder)
    for split, tasks in sizes.items():
        data = folder / "data" / f"{split}.jsonl"
        data.write_text("".join(data.read_text().splitlines(keepends=True)[:tasks]))
    settings = folder / "etude.yaml"
    settings.write_text(settings.read_text().replace("epochs: 4", f"epochs: {epochs}"))
    assert main(["demo", "--folder", str(folder)]) == 0


@pytest.fixture(scope="session")
def paper_done(demo_done: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo project with a finished run of two epochs by the published loop. Look, do not touch."""

    def make(folder: Path) -> None:
        shutil.copytree(demo_done, folder, ignore=shutil.ignore_patterns("runs"))
        settings = folder / "etude.yaml"
        settings.write_text(settings.read_text().replace("env:\n", "env:\n  limit: {test: 30}\n"))
        words = ["train", str(folder / "etude.yaml"), "--search.policy", "paper", "--train.epochs", "2"]
        assert main(words) == 0

    return made_once(tmp_path_factory, "paper", make)


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
def small_project(small_done: Path, here: Path) -> Path:
    """A copy of `small_done` as `demo` in the current folder."""
    shutil.copytree(small_done, here / "demo")
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


_PLACES = ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "QWEN_HOME")


@pytest.fixture
def sleeper(here: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """A home with transcripts of a project, which is the current folder, and settings for its nights in it."""
    return with_settings(Small(here), monkeypatch)


def with_settings(small: Small, monkeypatch: pytest.MonkeyPatch) -> Small:
    """The same for a project that is there."""
    monkeypatch.setenv("HOME", str(small.home))
    for name in _PLACES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", small.environ["XDG_STATE_HOME"])
    (small.home / ".profile").write_text(f"export XDG_STATE_HOME='{small.environ['XDG_STATE_HOME']}'\n")
    monkeypatch.chdir(small.project)
    models = "".join(f"{role}: {{model: 'simulated:{name}'}}\n" for role, name in MODELS.items())
    more = "sleep: {project: ., lookback_hours: null, memory: false}\n"
    (small.project / "sleep.yaml").write_text(models + more)
    return small


@pytest.fixture(scope="session")
def first_night(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    with pytest.MonkeyPatch.context() as monkeypatch:
        small = with_settings(Small(tmp_path_factory.mktemp("first") / "now"), monkeypatch)
        assert main(["sleep", "run", "--json"]) == 0
    return Kept(small)


@pytest.fixture
def one(first_night: Kept, here: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """What `sleeper` is, after a night that proposes a rule."""
    return with_settings(first_night.again(), monkeypatch)
