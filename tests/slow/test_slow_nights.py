"""Nights end to end through the command, in a process of its own: on real transcripts, with a linked memory file,
stopped by signals. Models are reached over HTTP."""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_night import MODELS, Small, tree

from etude.simulation.endpoint import Endpoint, running_endpoint

TRANSCRIPTS = Path(__file__).resolve().parents[2].parent / "shared" / "transcripts"
SEED = 3
"""With it the summaries of the real transcripts are for training, and some of the briefs are held out."""
SOURCES = ["claude-code", "codex", "qwen-code", "gemini-cli", "pi", "opencode", "copilot-cli"]

DEADLINE = 120


def start(small: Small, *words: str) -> subprocess.Popen[str]:
    """`etude sleep`, in the project, by a user with that home."""
    own = ("PATH", "VIRTUAL_ENV", "PYTHONPATH", "COVERAGE_PROCESS_START")
    environ = {name: os.environ[name] for name in own if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "etude", "sleep", *words],
        cwd=small.project,
        env={**environ, **small.environ, "HOME": str(small.home)},
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


Etude = Callable[..., str]
"""`etude sleep` with words, in a project; returns what it says."""


def settings(small: Small, url: str, *, seed: int = 42, **sleep: Any) -> None:
    """`sleep.yaml` in the project, with models behind the endpoint. Sides are drawn by the seed."""
    models = {
        role: {"model": f"openai:{name}", "base_url": url, "api_key_env": "NO_SUCH_KEY"}
        for role, name in MODELS.items()
    }
    night = {"lookback_hours": None, **sleep}
    found = {**models, "train": {"seed": seed}, "sleep": night}
    (small.project / "sleep.yaml").write_text(json.dumps(found))  # JSON is YAML


def outside(text: str) -> str:
    """A document without its block of learned rules."""
    return re.sub(r"<!-- etude:begin learned -->.*<!-- etude:end learned -->\r?\n", "", text, flags=re.DOTALL)


def through_a_night(small: Small, etude: Etude) -> dict[str, Any]:
    """Run, look, adopt, revert; the report of the night."""
    home = tree(small.home)
    before = tree(small.project)
    documents = {path: path.read_bytes().decode() for path in small.project.rglob("*.md")}
    report = json.loads(etude("run", "--json"))
    assert report["status"] == "proposed"
    assert tree(small.project) == before

    diff = etude("show", "--diff")
    assert "+<!-- etude:begin learned -->" in diff
    assert tree(small.project) == before

    etude("adopt")
    adopted = tree(small.project)
    changed = {name for name in adopted if adopted[name] != before.get(name)}
    assert any(name.endswith(".md") for name in changed)
    for path, text in documents.items():
        now = path.read_bytes().decode()
        assert outside(now) == outside(text)
        assert (now != text) == (str(path.relative_to(small.project)) in changed)

    etude("revert")
    assert tree(small.project) == before
    assert tree(small.home) == home
    return report


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as found:
        yield found


def test_a_linked_memory_file_gets_its_block_where_it_is_and_loses_it_again(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    small = Small(tmp_path, n=6)
    memory = small.project / "AGENTS.md"
    (small.project / "CLAUDE.md").rename(memory)
    (small.project / "CLAUDE.md").symlink_to("AGENTS.md")
    memory.chmod(0o640)
    settings(small, endpoint.url, skill=False)
    report = through_a_night(small, functools.partial(etude, small))
    assert [(one["name"], one["status"]) for one in report["documents"]] == [("memory", "accepted")]
    assert (small.project / "CLAUDE.md").is_symlink()
    assert memory.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the transcripts are not beside this checkout")
def test_a_night_on_the_real_transcripts_of_all_programs(tmp_path: Path, endpoint: Endpoint) -> None:
    small = Small(tmp_path, n=6)
    for run in sorted(TRANSCRIPTS.glob("*/*/home")):
        shutil.copytree(run, small.home, dirs_exist_ok=True)
    skill, memory = small.project / ".claude" / "skills" / "learned" / "SKILL.md", small.project / "CLAUDE.md"
    everywhere = {"project": "/", "skill": str(skill), "memory": str(memory), "max_tasks": 200, "scripts": True}
    settings(small, endpoint.url, seed=SEED, **everywhere)
    shown = json.loads(etude(small, "run", "--dry-run", "--json"))
    read = shown["sessions"]
    assert sorted(read) == sorted(SOURCES)
    report = through_a_night(small, functools.partial(etude, small))
    assert report["sessions"] == read
    assert report["problems"] == shown["problems"]
    # At the end of a session the user of each program asked for a summary. That is one kind of request, so that the
    # invented briefs beside it are what is held out.
    (kept,) = small.base.glob("*/nights/0001/tasks.json")
    tasks = json.loads(kept.read_text())["tasks"]
    asked = {task["id"]: task for task in tasks if task["type"] == "summary"}
    assert {one["source"] for task in asked.values() for one in task["sessions"]} == set(SOURCES)
    assert {task["split"] for task in asked.values()} == {"train"}
    rules = json.loads(etude(small, "show", "--json"))["rules"]
    (rule,) = (rule for rule in rules if "summar" in rule["text"])
    assert rule["tasks"] or any(line.startswith("You asked for it") for line in rule["lines"])


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_stops_a_night_that_the_next_run_ends(tmp_path: Path, signals: int) -> None:
    """The second one stops it at once."""
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
