"""What doctor says of the settings of a night, and of models that need no key."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from etude.cli.main import main
from etude.sleep.schedule import job_name, line_of
from made_once import remember

Captured = pytest.CaptureFixture[str]
CONFIG = "demo/etude.yaml"
NIGHT = """
target: {model: simulated:target}
optimizer: {model: simulated:optimizer}
limits: {calls: 100}
"""
LINE = json.dumps(
    {
        "type": "user",
        "sessionId": "s1",
        "uuid": "u1",
        "cwd": "/p",
        "timestamp": "2026-01-02T03:04:05Z",
        "message": {"role": "user", "content": "Write a commit message."},
    }
)


def checks(capsys: Captured, *words: str, code: int = 0) -> dict[str, list[dict[str, Any]]]:
    assert main(["doctor", *words, "--json"]) == code
    found: dict[str, list[dict[str, Any]]] = {}
    for check in json.loads(capsys.readouterr().out)["checks"]:
        found.setdefault(check["name"], []).append(check)
    return found


def said(found: dict[str, list[dict[str, Any]]], name: str) -> list[tuple[str, str]]:
    return [(check["status"], check["text"]) for check in found[name]]


@pytest.fixture
def night(here: Path, versions: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a sleep.yaml as the current folder, a home with nothing but versions in it, and no crontab."""
    (here / "home").mkdir()
    remember(versions, here / "home" / ".local" / "state")
    (here / "bin").mkdir()
    crontab(here, "echo 'no crontab for you' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{here / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(here / "home"))
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    (here / "project").mkdir()
    monkeypatch.chdir(here / "project")
    Path("sleep.yaml").write_text(NIGHT)
    return Path("project")


def crontab(here: Path, script: str) -> None:
    (here / "bin" / "crontab").write_text(f"#!/bin/sh\n{script}\n")
    (here / "bin" / "crontab").chmod(0o755)


def transcript(home: Path) -> None:
    path = home / ".claude" / "projects" / "-p" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(LINE + "\n")


def test_the_settings_of_a_night_are_found_and_checked(night: Path, here: Path, capsys: Captured) -> None:
    Path("CLAUDE.md").write_text("Use tabs.\n")
    transcript(here / "home")
    before = sorted(here.rglob("*"))
    found = checks(capsys)
    assert said(found, "config") == [("ok", "sleep.yaml is valid for `etude sleep`")]
    assert said(found, "target") == [("ok", "simulated:target at this process, needs no key")]
    assert said(found, "limits") == [("ok", "calls 100")]
    assert said(found, "transcripts") == [("ok", f"sessions in '{here / 'home'}': claude-code 1")]
    assert said(found, "skill") == [("ok", ".claude/skills/learned/SKILL.md: not there yet")]
    assert said(found, "memory") == [("ok", "CLAUDE.md: 10 characters")]
    (state,) = found["state"]
    assert state["status"] == "ok"
    assert state["text"].startswith(str(here / "home" / ".local" / "state" / "etude" / "sleep" / "project-"))
    assert state["text"].endswith(": 0 nights")
    assert said(found, "schedule") == [("note", "nights are not scheduled")]
    assert "data" not in found
    # Of agent programs, where there are some: their versions, and what Copilot CLI unpacks when it is first asked.
    new = [path for path in here.rglob("*") if path not in before and path.is_file() and "copilot" not in path.parts]
    assert [path.name for path in new] in ([], ["versions.json"])


def test_a_file_with_a_section_sleep_is_one_of_a_night_whatever_its_name(night: Path, capsys: Captured) -> None:
    Path("mine.yaml").write_text(NIGHT + "sleep: {agent: codex}\n")
    assert said(checks(capsys, "mine.yaml"), "memory") == [("ok", "AGENTS.md: not there yet")]
    Path("mine.yaml").write_text(NIGHT + "sleep: {agnet: codex}\n")
    (config,) = checks(capsys, "mine.yaml", code=1)["config"]
    assert (config["text"], config["fix"]) == ("mine.yaml: unknown key 'sleep.agnet'", "did you mean 'sleep.agent'?")


def test_a_home_without_transcripts_is_noted_and_so_is_a_source_that_is_named_in_vain(
    night: Path, here: Path, capsys: Captured
) -> None:
    ((status, text),) = said(checks(capsys), "transcripts")
    assert status == "note"
    assert text.startswith("no session of claude-code, codex, ")
    transcript(here / "home")
    named = said(checks(capsys, "--sleep.sources", "[claude-code, codex]"), "transcripts")
    assert named[1] == ("note", f"no session of codex in '{here / 'home'}'")
    ((status, text),) = said(checks(capsys, "--sleep.sources", "[claude]", code=1), "transcripts")
    assert (status, text) == ("wrong", "unknown source 'claude'")


def test_what_a_night_could_not_use_is_wrong(night: Path, here: Path, capsys: Captured) -> None:
    Path("CLAUDE.md").write_bytes(b"\xff")
    found = checks(capsys, "--sleep.tasks", "none.json", "--sleep.state", "sleep.yaml", code=1)
    wrong = {name: check["text"] for name, (check, *_) in found.items() if check["status"] == "wrong"}
    assert list(wrong) == ["tasks", "memory", "state"]
    assert "none.json" in wrong["tasks"]
    assert wrong["memory"] == "'CLAUDE.md' is not UTF-8: byte 0 is 0xff"
    found = checks(capsys, "--sleep.project", "none", code=1)
    assert said(found, "project") == [("wrong", "sleep.project = 'none' is not a folder")]
    assert "state" not in found


def test_a_state_folder_that_cannot_be_written_is_wrong(night: Path, here: Path, capsys: Captured) -> None:
    Path("full").write_text("no folder")
    ((status, text),) = said(checks(capsys, "--sleep.state", "full/below", code=1), "state")
    assert (status, text.endswith("cannot be used: Not a directory")) == ("wrong", True)


def test_a_database_that_cannot_be_read_is_noted_and_is_no_session(night: Path, capsys: Captured) -> None:
    database = Path(os.environ["HOME"]) / ".local/share/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"no database at all, but long enough to be one" * 100)
    (first, *others) = said(checks(capsys), "transcripts")
    assert first[0] == "note"
    assert first[1].startswith(f"{str(database)!r}: cannot be read: it cannot be read as a database")
    assert not any("opencode 1" in text for _, text in others)


def test_a_folder_of_transcripts_that_cannot_be_read_is_noted(night: Path, capsys: Captured) -> None:
    home = Path(os.environ["HOME"])
    (home / ".claude").mkdir()
    (home / ".claude/projects").symlink_to("projects")
    status, text = said(checks(capsys), "transcripts")[0]
    assert (status, text.startswith("claude-code: they cannot be read: ")) == ("note", True)


def test_a_reviewed_task_file_takes_the_place_of_transcripts(night: Path, capsys: Captured) -> None:
    task = {"id": "a", "intent": "Sum the column.", "exact": ["12"]}
    file = {"format": "etude.tasks", "version": 1, "reviewed": True, "tasks": [task]}
    Path("tasks.json").write_text(json.dumps(file))
    found = checks(capsys, "--sleep.tasks", "tasks.json")
    assert said(found, "tasks") == [("ok", "1 in tasks.json")]
    assert "transcripts" not in found


def test_a_scheduled_night_is_reported(night: Path, here: Path, capsys: Captured) -> None:
    (here / "table").write_text(f"{line_of(job_name(Path.cwd()), (3, 17), 'true')}\n")
    crontab(here, f"cat '{here / 'table'}'")
    assert said(checks(capsys), "schedule") == [("ok", "every night by cron")]


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


def test_tasks_that_no_night_can_use_are_reported(night: Path, capsys: Captured) -> None:
    same = {"intent": "The same words.", "checks": [{"op": "min_chars", "arg": 1}]}
    tasks = [{"id": "a", **same}, {"id": "b", "split": "val", **same}]
    file = {"format": "etude.tasks", "version": 1, "reviewed": True, "tasks": tasks}
    Path("tasks.json").write_text(json.dumps(file))
    ((status, text),) = said(checks(capsys, "--sleep.tasks", "tasks.json", code=1), "tasks")
    assert (status, "the same input" in text) == ("wrong", True), text


def test_a_pause_that_holds_is_named_with_the_way_out(night: Path, here: Path, capsys: Captured) -> None:
    assert "pause" not in checks(capsys)
    assert main(["sleep", "schedule", "--pause"]) == 0
    capsys.readouterr()
    (found,) = checks(capsys)["pause"]
    assert found["status"] == "note"
    assert found["text"].endswith(" (UTC)")
    assert found["fix"] == "`etude sleep schedule --resume` ends it"
