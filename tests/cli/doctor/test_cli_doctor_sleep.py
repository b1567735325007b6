"""What doctor says of the settings of a night, and of models that need no key."""

from pathlib import Path
from typing import Any

import pytest
from test_cli_doctor import checks

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]
CONFIG = "demo/etude.yaml"
NIGHT = """
target: {model: simulated:target}
optimizer: {model: simulated:optimizer}
limits: {calls: 100}
"""


def said(found: dict[str, list[dict[str, Any]]], name: str) -> list[tuple[str, str]]:
    return [(check["status"], check["text"]) for check in found[name]]


@pytest.fixture
def night(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a sleep.yaml as the current folder, a home with nothing in it."""
    (here / "home").mkdir()
    monkeypatch.setenv("HOME", str(here / "home"))
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    (here / "project").mkdir()
    monkeypatch.chdir(here / "project")
    Path("sleep.yaml").write_text(NIGHT)
    return Path("project")


def test_the_settings_of_a_night_are_found_and_checked(night: Path, here: Path, capsys: Captured) -> None:
    before = sorted(here.rglob("*"))
    found = checks(capsys)
    assert said(found, "config") == [("ok", "sleep.yaml is valid for `etude sleep`")]
    assert said(found, "target") == [("ok", "simulated:target at this process, needs no key")]
    assert said(found, "limits") == [("ok", "calls 100")]
    assert said(found, "night") == [("note", "transcripts, documents and tasks were not looked at")]
    assert "data" not in found
    assert [path for path in here.rglob("*") if path not in before and path.is_file()] == []


def test_a_file_with_a_section_sleep_is_one_of_a_night_whatever_its_name(night: Path, capsys: Captured) -> None:
    Path("mine.yaml").write_text(NIGHT + "sleep: {agent: codex}\n")
    assert said(checks(capsys, "mine.yaml"), "config") == [("ok", "mine.yaml is valid for `etude sleep`")]
    Path("mine.yaml").write_text(NIGHT + "sleep: {agnet: codex}\n")
    (config,) = checks(capsys, "mine.yaml", code=1)["config"]
    assert (config["text"], config["fix"]) == ("mine.yaml: unknown key 'sleep.agnet'", "did you mean 'sleep.agent'?")


def test_a_handoff_needs_no_key_and_its_folder_is_looked_at(
    fresh_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [CONFIG, "--optimizer.model", "handoff:asked"]
    found = said(checks(capsys, *words), "optimizer")
    assert found[:2] == [("ok", "handoff:asked at asked, needs no key"), ("ok", "no question waits in asked")]
    assert not Path("asked").exists()
    Path("asked/questions").mkdir(parents=True)
    for name in ("1.md", "2.md"):
        Path("asked/questions", name).write_text("# Question")
        ((status, text),) = said(checks(capsys, *words), "optimizer")[1:2]
        assert status == "note"
    assert text == "2 questions wait for an answer in asked"
    Path("file").write_text("")
    found = said(checks(capsys, CONFIG, "--optimizer.model", "handoff:file/below", code=1), "optimizer")
    assert ("wrong", "file/below cannot be written") in found


def test_a_handoff_is_not_asked_live(fresh_project: Path, capsys: Captured) -> None:
    found = checks(capsys, CONFIG, "--live", "--optimizer.model", "handoff:asked")
    assert said(found, "live optimizer") == [("note", "not asked: its question would wait for an answer")]
    assert not Path("asked").exists()


def test_a_plan_with_a_handoff_asks_for_no_key(fresh_project: Path, capsys: Captured) -> None:
    assert main(["plan", CONFIG, "--target.model", "handoff:asked", "--optimizer.model", "handoff:asked"]) == 0
    assert "OPENAI_API_KEY" not in "".join(capsys.readouterr())
