"""The project of the guide "train a skill for my agent": from a skill and a folder of tasks to a better skill."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from etude.cli.main import main
from etude.simulation.endpoint import running_endpoint
from trusting import trust

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".tools" / "programs" / "bin"
SKILL = ".claude/skills/counting"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the current folder, with its tasks listed."""
    place = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "my_agent", place)
    monkeypatch.chdir(place)
    subprocess.run([sys.executable, "evals/collect.py"], check=True, timeout=60)
    trust()
    return place


def train(capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    code = main(["train", *flags, "--json"])
    out = capsys.readouterr().out
    assert code == 0, out
    return json.loads(out)


def test_the_skill_gets_better_and_goes_back_with_all_its_files(project: Path, capsys) -> None:
    before = {path: path.read_text() for path in (project / SKILL).rglob("*.md")}
    few = ["--env.limit={train: 7, val: 2, test: 4}", "--train.epochs", "1", "--test.no_skill", "false"]
    summary = train(capsys, *few, "--search.policy", "paper")  # four validation tasks show no gain
    assert summary["test_gain"]["mean"] > 0.1
    assert {path: path.read_text() for path in (project / SKILL).rglob("*.md")} == before
    sent = [json.loads(path.read_text()) for path in sorted((project / "runs").rglob("rollout.json"))]
    assert sent
    assert "expected.txt" not in json.dumps(sent)  # no attempt sees what the check knows
    assert main(["export", "my-agent", "--for", "claude", "--force"]) == 0
    after = {path: path.read_text() for path in (project / SKILL).rglob("*.md")}
    document = project / SKILL / "SKILL.md"
    assert after.keys() == before.keys()
    assert [path for path in after if after[path] != before[path]] == [document]
    assert after[document].startswith(before[document].partition("# Counting")[0])
    trained = project / "runs" / "my-agent" / "best" / "counting" / "SKILL.md"
    assert after[document] == trained.read_text()


@pytest.mark.programs
@pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them")
def test_the_same_project_trains_with_a_real_program(project: Path, capsys) -> None:
    few = ["--env.limit", "5", "--train.epochs", "1", "--limits.concurrency", "4", "--test.enabled", "false"]
    few += ["--search.policy", "paper"]  # five tasks show no gain
    with running_endpoint() as endpoint:
        real = ["--target.model", "openai:target", "--target.base_url", endpoint.url, "--agent.name", "codex"]
        summary = train(capsys, *few, *real, "--target.api_key_env", "NO_SUCH_KEY")
        assert endpoint.stats()["answered"] == summary["cost"]["target_calls"] > 0
    assert summary["voids"] == 0
    assert main(["export", "my-agent", "--for", "agents"]) == 0
    trained = (project / ".agents" / "skills" / "counting" / "SKILL.md").read_text()
    assert len(trained) > len((project / SKILL / "SKILL.md").read_text())
