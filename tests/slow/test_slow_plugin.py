"""A plugin from a wheel in an environment of its own: found, listed, used, and true to its contract; with other
tasks; and one that is broken."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugin"


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


def broken_wheel(folder: Path) -> Path:
    """A wheel with one scorer that cannot be imported and one environment that keeps no contract."""
    wheel = folder / "broken_plugin-2.0-py3-none-any.whl"
    info = "broken_plugin-2.0.dist-info"
    files = {
        "broken_plugin/__init__.py": "",
        "broken_plugin/scorer.py": "import no_such_package\n",
        "broken_plugin/environment.py": "class Empty:\n    pass\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: broken-plugin\nVersion: 2.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[etude.scorers]\nworse = broken_plugin.scorer:Worse\n\n"
        "[etude.environments]\nempty = broken_plugin.environment:Empty\n",
    }
    record = ""
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(text)}\n"
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return wheel


def test_a_scorer_of_a_plugin_can_be_used_with_any_tasks(python: Path, tmp_path: Path) -> None:
    rows = [{"input": f"Sort these words alphabetically: b{n} a{n} C", "gold": f"a{n} b{n} C"} for n in range(20)]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "etude.yaml").write_text(
        "env: {path: tasks.jsonl, ratio: [1, 1, 1], scorer: {name: words-in-place, casefold: true}}\n"
    )
    assert doctor(python, tmp_path)["scorer"]["text"] == "words-in-place accepts all gold answers"
    out = run(python, "-m", "etude", "doctor", "--env.scorer.casefolding", "1", "--json", cwd=tmp_path, code=1)
    assert "env.scorer 'words-in-place': unknown key 'casefolding'" in out


def test_a_broken_plugin_is_named_and_does_not_break_the_rest(python: Path, tmp_path: Path) -> None:
    install(python, broken_wheel(tmp_path))
    try:
        config = [PLUGIN / "etude.yaml", "--run.folder", str(tmp_path / "runs")]
        checks = doctor(python, tmp_path, *config, code=1)
        assert {name for name, check in checks.items() if check["status"] == "wrong"} == {
            "plugin worse",
            "plugin empty",
        }
        assert checks["plugin worse"]["text"] == (
            "scorer 'worse' cannot be loaded from 'broken_plugin.scorer:Worse': No module named 'no_such_package'"
        )
        assert checks["plugin empty"]["text"] == (
            "environment 'empty' from 'broken_plugin.environment:Empty' has no "
            "`from_options(options, *, where, judge)`"
        )
        assert "broken-plugin 2.0" in checks["plugin worse"]["fix"]
        few = ["--train.epochs", "1", "--env.tasks", "24"]
        assert json.loads(run(python, "-m", "etude", "train", *config, *few, "--json", cwd=tmp_path))["simulated"]
    finally:
        run(sys.executable, "-m", "pip", "--python", python, "uninstall", "--quiet", "--yes", "broken-plugin")
