"""A night end to end through the command: transcripts in, models over HTTP, a proposal out, adopted, reverted."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_night import MODELS, Small, tree

from skillgrad.simulation.endpoint import Endpoint, running_endpoint

TRANSCRIPTS = Path(__file__).resolve().parents[2].parent / "shared" / "transcripts"
SOURCES = ["claude-code", "codex", "qwen-code", "gemini-cli", "pi", "opencode", "copilot-cli"]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as found:
        yield found


def settings(small: Small, url: str, **sleep: Any) -> None:
    """`sleep.yaml` in the project, with models behind the endpoint."""
    models = {
        role: {"model": f"openai:{name}", "base_url": url, "api_key_env": "NO_SUCH_KEY"}
        for role, name in MODELS.items()
    }
    night = {"state": str(small.base), "lookback_hours": None, "confirm_trials": 1, **sleep}
    (small.project / "sleep.yaml").write_text(json.dumps({**models, "sleep": night}))  # JSON is YAML


def skillgrad(small: Small, *words: str, code: int = 0) -> str:
    """What `skillgrad sleep` says on stdout, run in the project by a user with that home."""
    own = ("PATH", "VIRTUAL_ENV", "PYTHONPATH", "COVERAGE_PROCESS_START")
    environ = {name: os.environ[name] for name in own if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "skillgrad", "sleep", *words],
        cwd=small.project,
        env={**environ, "HOME": str(small.home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def outside(text: str) -> str:
    """A document without its block of learned rules."""
    return re.sub(r"<!-- skillgrad:begin learned -->.*<!-- skillgrad:end learned -->\r?\n", "", text, flags=re.DOTALL)


def through_a_night(small: Small) -> dict[str, Any]:
    """Run, look, adopt, revert; the report of the night."""
    home = tree(small.home)
    before = tree(small.project)
    documents = {path: path.read_bytes().decode() for path in small.project.rglob("*.md")}
    report = json.loads(skillgrad(small, "run", "--json"))
    assert report["status"] == "proposed"
    assert tree(small.project) == before

    diff = skillgrad(small, "diff")
    assert "+<!-- skillgrad:begin learned -->" in diff
    assert tree(small.project) == before

    skillgrad(small, "adopt")
    adopted = tree(small.project)
    changed = {name for name in adopted if adopted[name] != before.get(name)}
    assert any(name.endswith(".md") for name in changed)
    for path, text in documents.items():
        now = path.read_bytes().decode()
        assert outside(now) == outside(text)
        assert (now != text) == (str(path.relative_to(small.project)) in changed)

    skillgrad(small, "revert")
    assert tree(small.project) == before
    assert tree(small.home) == home
    return report


def test_a_night_over_http_is_proposed_adopted_and_reverted_without_a_trace(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    small = Small(tmp_path, n=6)
    settings(small, endpoint.url)
    report = through_a_night(small)
    assert report["sessions"] == {"claude-code": 6}
    assert [(one["name"], one["status"], one["candidate"]) for one in report["documents"]] == [
        ("learned", "accepted", 1.0),
        ("memory", "unchanged", None),
    ]
    assert report["spent"]["calls"] == endpoint.stats()["received"]
    assert report["simulated"]
    assert not small.skill.exists()
    asked = endpoint.stats()["received"]
    assert json.loads(skillgrad(small, "run", "--json"))["status"] == "nothing to do"
    assert endpoint.stats()["received"] == asked + 2


def test_a_memory_file_gets_its_block_and_loses_it_again(tmp_path: Path, endpoint: Endpoint) -> None:
    small = Small(tmp_path, n=6)
    memory = small.project / "CLAUDE.md"
    memory.chmod(0o640)
    settings(small, endpoint.url, skill=False)
    report = through_a_night(small)
    assert [(one["name"], one["status"]) for one in report["documents"]] == [("memory", "accepted")]
    assert memory.stat().st_mode & 0o777 == 0o640


def test_a_linked_memory_file_is_changed_where_it_is(tmp_path: Path, endpoint: Endpoint) -> None:
    small = Small(tmp_path, n=6)
    (small.project / "CLAUDE.md").rename(small.project / "AGENTS.md")
    (small.project / "CLAUDE.md").symlink_to("AGENTS.md")
    settings(small, endpoint.url, skill=False)
    through_a_night(small)
    assert (small.project / "CLAUDE.md").is_symlink()


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the transcripts are not beside this checkout")
def test_a_night_on_the_real_transcripts_of_all_programs(tmp_path: Path, endpoint: Endpoint) -> None:
    small = Small(tmp_path, n=6)
    for run in sorted(TRANSCRIPTS.glob("*/*/home")):
        shutil.copytree(run, small.home, dirs_exist_ok=True)
    settings(small, endpoint.url, scope="all", max_sessions=200)
    told = json.loads(skillgrad(small, "dry-run", "--json"))
    read = {one["source"]: one["taken"] for one in told["harvest"]["sources"] if one["taken"]}
    assert sorted(read) == sorted(SOURCES)
    report = through_a_night(small)
    assert report["sessions"] == read
    assert report["problems"] == told["harvest"]["problems"]
    # The scripted conversations of the real programs hold no task that the simulated miner knows.
    assert sum(report["tasks"].values()) == 6


def test_a_wrong_key_stops_the_night_and_nothing_is_used(tmp_path: Path) -> None:
    small = Small(tmp_path, n=4)
    with running_endpoint(key="right") as endpoint:
        settings(small, endpoint.url)
        found = json.loads(skillgrad(small, "run", "--json", code=1))
    assert "target model" in found["error"]
    assert "HTTP 401" in found["error"]
    assert small.ledger() == {}
    assert (found["status"], found["resumes"], found["exit_code"]) == ("error", True, 1)
    with running_endpoint() as endpoint:
        settings(small, endpoint.url)
        assert json.loads(skillgrad(small, "run", "--json"))["night"] == 1
