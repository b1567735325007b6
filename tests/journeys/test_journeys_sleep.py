"""A night end to end through the command: transcripts in, models over HTTP, a proposal out, adopted, reverted."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_night import MODELS, Small, tree

from etude.simulation.endpoint import Endpoint, running_endpoint

TRANSCRIPTS = Path(__file__).resolve().parents[2].parent / "shared" / "transcripts"
DEADLINE = 120
SEED = 3
"""With it the summaries of the real transcripts are for training, and some of the briefs are held out."""
SOURCES = ["claude-code", "codex", "qwen-code", "gemini-cli", "pi", "opencode", "copilot-cli"]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as found:
        yield found


def settings(small: Small, url: str, *, seed: int = 42, **sleep: Any) -> None:
    """`sleep.yaml` in the project, with models behind the endpoint. Sides are drawn by the seed."""
    models = {
        role: {"model": f"openai:{name}", "base_url": url, "api_key_env": "NO_SUCH_KEY"}
        for role, name in MODELS.items()
    }
    night = {"state": str(small.base), "lookback_hours": None, **sleep}
    found = {**models, "train": {"seed": seed}, "sleep": night}
    (small.project / "sleep.yaml").write_text(json.dumps(found))  # JSON is YAML


def start(small: Small, *words: str) -> subprocess.Popen[str]:
    """`etude sleep`, in the project, by a user with that home."""
    own = ("PATH", "VIRTUAL_ENV", "PYTHONPATH", "COVERAGE_PROCESS_START")
    environ = {name: os.environ[name] for name in own if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "etude", "sleep", *words],
        cwd=small.project,
        env={**environ, "HOME": str(small.home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def etude(small: Small, *words: str, code: int = 0) -> str:
    """What it says on stdout."""
    with start(small, *words) as process:
        out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == code, err
    return out


def outside(text: str) -> str:
    """A document without its block of learned rules."""
    return re.sub(r"<!-- etude:begin learned -->.*<!-- etude:end learned -->\r?\n", "", text, flags=re.DOTALL)


def through_a_night(small: Small) -> dict[str, Any]:
    """Run, look, adopt, revert; the report of the night."""
    home = tree(small.home)
    before = tree(small.project)
    documents = {path: path.read_bytes().decode() for path in small.project.rglob("*.md")}
    report = json.loads(etude(small, "run", "--json"))
    assert report["status"] == "proposed"
    assert tree(small.project) == before

    diff = etude(small, "diff")
    assert "+<!-- etude:begin learned -->" in diff
    assert tree(small.project) == before

    etude(small, "adopt")
    adopted = tree(small.project)
    changed = {name for name in adopted if adopted[name] != before.get(name)}
    assert any(name.endswith(".md") for name in changed)
    for path, text in documents.items():
        now = path.read_bytes().decode()
        assert outside(now) == outside(text)
        assert (now != text) == (str(path.relative_to(small.project)) in changed)

    etude(small, "revert")
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
    assert json.loads(etude(small, "run", "--json"))["status"] == "nothing to do"
    assert endpoint.stats()["received"] == asked + 2


def test_a_linked_memory_file_gets_its_block_where_it_is_and_loses_it_again(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    small = Small(tmp_path, n=6)
    memory = small.project / "AGENTS.md"
    (small.project / "CLAUDE.md").rename(memory)
    (small.project / "CLAUDE.md").symlink_to("AGENTS.md")
    memory.chmod(0o640)
    settings(small, endpoint.url, skill=False)
    report = through_a_night(small)
    assert [(one["name"], one["status"]) for one in report["documents"]] == [("memory", "accepted")]
    assert (small.project / "CLAUDE.md").is_symlink()
    assert memory.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the transcripts are not beside this checkout")
def test_a_night_on_the_real_transcripts_of_all_programs(tmp_path: Path, endpoint: Endpoint) -> None:
    small = Small(tmp_path, n=6)
    for run in sorted(TRANSCRIPTS.glob("*/*/home")):
        shutil.copytree(run, small.home, dirs_exist_ok=True)
    skill, memory = small.project / ".claude" / "skills" / "learned" / "SKILL.md", small.project / "CLAUDE.md"
    everywhere = {"project": "/", "skill": str(skill), "memory": str(memory), "max_tasks": 200}
    settings(small, endpoint.url, seed=SEED, **everywhere)
    shown = json.loads(etude(small, "dry-run", "--json"))
    read = {one["source"]: one["taken"] for one in shown["harvest"]["sources"] if one["taken"]}
    assert sorted(read) == sorted(SOURCES)
    report = through_a_night(small)
    assert report["sessions"] == read
    assert report["problems"] == shown["harvest"]["problems"]
    # At the end of a session the user of each program asked for a summary. That is one kind of request, so that the
    # invented briefs beside it are what is held out.
    (kept,) = small.base.glob("*/nights/0001/tasks.json")
    tasks = json.loads(kept.read_text())["tasks"]
    asked = {task["id"]: task for task in tasks if task["type"] == "summary"}
    assert {one["source"] for task in asked.values() for one in task["sessions"]} == set(SOURCES)
    assert {task["split"] for task in asked.values()} == {"train"}
    rules = json.loads(etude(small, "explain", "--json"))["rules"]
    (rule,) = (rule for rule in rules if "summar" in rule["text"])
    assert asked.keys() <= set(rule["evidence"]["tasks"])
    assert {name.partition(":")[0] for name in rule["evidence"]["sessions"]} == set(SOURCES)


def test_a_wrong_key_stops_the_night_and_nothing_is_used(tmp_path: Path) -> None:
    small = Small(tmp_path, n=4)
    with running_endpoint(key="right") as endpoint:
        settings(small, endpoint.url)
        found = json.loads(etude(small, "run", "--json", code=1))
    assert "target model" in found["error"]
    assert "HTTP 401" in found["error"]
    assert small.ledger() == {}
    assert (found["status"], found["resumes"], found["exit_code"]) == ("error", True, 1)
    with running_endpoint() as endpoint:
        settings(small, endpoint.url)
        assert json.loads(etude(small, "run", "--json"))["night"] == 1


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_stops_a_night_that_the_next_run_ends(tmp_path: Path, signals: int) -> None:
    small = Small(tmp_path, n=4)
    with running_endpoint(latency=0.3 if signals == 1 else 20) as endpoint:
        settings(small, endpoint.url)
        with start(small, "run") as process:
            end = time.monotonic() + DEADLINE
            while not endpoint.stats()["received"] and time.monotonic() < end:
                time.sleep(0.05)
            assert process.stderr is not None
            process.send_signal(signal.SIGINT)
            said = ""
            while "press Ctrl-C again" not in said and process.poll() is None:
                said = process.stderr.readline()
            if signals == 2:
                process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "resume: etude sleep run"
    with running_endpoint() as endpoint:
        settings(small, endpoint.url)
        report = json.loads(etude(small, "run", "--json"))
    assert (report["night"], report["status"]) == (1, "proposed")
