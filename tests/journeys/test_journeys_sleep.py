"""A night end to end through the command: transcripts in, models over HTTP, a proposal out, adopted, reverted.
With the command in a process of its own: `tests/slow/test_slow_nights.py`."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_night import MODELS, Small, tree

from etude.cli.main import main
from etude.simulation.endpoint import running_endpoint

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


def test_a_night_over_http_is_proposed_adopted_and_reverted_without_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = Small(tmp_path, n=6)
    monkeypatch.chdir(small.project)
    monkeypatch.setenv("HOME", str(small.home))
    monkeypatch.setenv("XDG_STATE_HOME", small.environ["XDG_STATE_HOME"])

    def etude(*words: str) -> str:
        assert main(["sleep", *words]) == 0
        return capsys.readouterr().out

    with running_endpoint() as endpoint:
        settings(small, endpoint.url)
        report = through_a_night(small, etude)
        asked = endpoint.stats()["received"]
        assert report["spent"]["calls"] == asked
        assert json.loads(etude("run", "--json"))["status"] == "nothing to do"
        assert endpoint.stats()["received"] == asked + 2
    assert report["sessions"] == {"claude-code": 6}
    assert [(one["name"], one["status"], one["candidate"]) for one in report["documents"]] == [
        ("learned", "accepted", 1.0),
        ("memory", "unchanged", None),
    ]
    assert report["simulated"]
    assert not small.skill.exists()
