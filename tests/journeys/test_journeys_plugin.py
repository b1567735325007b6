"""A plugin from a wheel in an environment of its own: found, listed, used, and true to its contract."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugin"

pytestmark = pytest.mark.slow


def run(*words: str | Path, cwd: Path | None = None, code: int = 0) -> str:
    # Only what is installed counts, not what the environment of these tests can see.
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ETUDE_", "COV"))}
    environ["PATH"] = "/usr/bin:/bin"  # without agent programs, which take long to say their versions
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=environ, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def build(project: Path, folder: Path) -> Path:
    """The wheel of a project, built without a network."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    run(*command, "--wheel-dir", folder, project, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the plugin and etude from their wheels."""
    folder = tmp_path_factory.mktemp("plugin")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    for project in (ROOT, PLUGIN):
        wheels = folder / project.name
        wheels.mkdir()
        install(python, build(project, wheels))
    # What etude depends on is taken from where these tests run; what is installed here goes before it.
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    return python


def install(python: Path, wheel: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", python]
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", wheel)


def doctor(python: Path, folder: Path, *words: str | Path, code: int = 0) -> dict[str, dict[str, Any]]:
    out = run(python, "-m", "etude", "doctor", *words, "--json", cwd=folder, code=code)
    return {check["name"]: check for check in json.loads(out)["checks"]}


def test_an_installed_plugin_is_listed_trains_and_keeps_its_contract(python: Path, tmp_path: Path) -> None:
    place = run(python, "-c", "import etude; print(etude.__file__)", cwd=tmp_path).strip()
    assert Path(place).is_relative_to(python.parents[1])  # etude itself comes from its wheel

    checks = doctor(python, tmp_path, PLUGIN / "etude.yaml", "--run.folder", str(tmp_path / "runs"))
    assert checks["plugin alphabet"]["text"] == (
        "etude-alphabet 0.1.0: etude_alphabet.environment:Alphabet, one of the environments"
    )
    assert checks["plugin words-in-place"]["text"] == (
        "etude-alphabet 0.1.0: etude_alphabet.scorer:WordsInPlace, one of the scorers"
    )
    assert checks["data"]["text"] == "60 train, 30 val, 30 test tasks"
    assert checks["scorer"]["text"] == "words-in-place accepts all gold answers"

    command = [python, "-m", "etude", "train", PLUGIN / "etude.yaml", "--run.folder", tmp_path / "runs"]
    summary = json.loads(run(*command, "--json", cwd=tmp_path))
    assert summary["test_gain"]["low"] > 0

    out = run(
        *(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:xdist"),
        *("--rootdir", PLUGIN, "-c", PLUGIN / "pyproject.toml", PLUGIN / "tests"),
        cwd=tmp_path,
    )
    assert " passed" in out
