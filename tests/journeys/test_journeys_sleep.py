"""A night end to end through the command: transcripts in, models over HTTP, a proposal out, adopted, reverted."""

import json
import os
import re
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

DEADLINE = 120


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


def test_ctrl_c_stops_a_night_that_the_next_run_ends(tmp_path: Path) -> None:
    stopped_by_ctrl_c(tmp_path, 1)


def stopped_by_ctrl_c(tmp_path: Path, signals: int) -> None:
    """A night is interrupted by that many signals, and the next run ends it."""
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
