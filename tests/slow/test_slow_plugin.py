"""A plugin whose scorer is used with other tasks, and one that is broken."""

import base64
import hashlib
import json
import sys
import zipfile
from pathlib import Path

from test_journeys_plugin import PLUGIN, doctor, install, python, run

__all__ = ["python"]


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
