"""From a machine with transcripts to the first report."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from briefs_sessions import write_claude
from cli_said import Captured, data, said
from small_night import MODELS, Small, tree

from at_terminal import at_a_terminal
from etude.cli.main import main
from etude.sleep.config import load_sleep_config

NAMED = ["--target", f"simulated:{MODELS['target']}", "--optimizer", f"simulated:{MODELS['optimizer']}"]


@pytest.fixture
def machine(sleeper: Small, monkeypatch: pytest.MonkeyPatch) -> Small:
    """One where an agent was used, and etude never."""
    Path("sleep.yaml").unlink()
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return sleeper


def refused(capsys: Captured, *words: str) -> str:
    assert main(["sleep", "init", *words]) == 2
    return capsys.readouterr().err


def test_three_commands_lead_from_transcripts_to_the_first_report(machine: Small, capsys: Captured) -> None:
    before = tree(machine.home / ".claude")
    shown = said(capsys, "init", *NAMED)
    assert shown[:4] == [
        f"project    {machine.project}",
        "sessions   5 claude-code",
        "documents  .claude/skills/learned/SKILL.md (not there yet), CLAUDE.md (31 characters)",
        "models     simulated:target-steady, simulated:optimizer-perfect",
    ]
    (most,) = (int(line.split()[3].replace(",", "")) for line in shown if line.startswith("calls "))
    assert said(capsys, "run")[1] == "night 1  proposed"
    assert "Night 1 proposes 1 new rule. Nothing changes before you say so." in said(capsys, "show")
    spent = data(capsys, "show")["spent"]["calls"]
    assert 0 < spent <= most
    assert tree(machine.home / ".claude") == before


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (["--target", "simulated:x"], "unknown simulated model 'x'"),
        (["--target", "simulate"], "model 'simulate' names no known provider"),
        ([*NAMED[:2], "--optimizer", "agent:nope"], "names no known agent program"),
        (["--optimizer", "anthropic:claude-opus-5"], "'ANTHROPIC_API_KEY' is not set"),
        (["--target", "agent:codex"], "'codex'"),
    ],
)
def test_no_settings_are_written_for_a_model_that_a_night_could_not_ask(
    machine: Small, capsys: Captured, named: list[str], said: str
) -> None:
    told = refused(capsys, *named)
    assert said in told
    assert "hint: " in told
    assert not Path("sleep.yaml").exists()


def test_the_settings_are_short_and_no_night_of_usual_size_meets_their_limit(
    machine: Small, capsys: Captured
) -> None:
    told = data(capsys, "init", *NAMED)
    lines = Path("sleep.yaml").read_text().splitlines()
    assert sum(":" in line.partition("#")[0] for line in lines) <= 10
    config = load_sleep_config("sleep.yaml")
    assert (config.sleep.agent, config.sleep.lookback_hours) == ("claude-code", None)
    assert config.limits.calls is not None
    assert config.limits.calls == told["calls"] >= 150 * config.sleep.max_tasks
    assert told["next"] == ["etude sleep run"]


def test_where_a_setting_keeps_the_agent_from_its_memory_file_rules_go_into_the_skill(
    machine: Small, capsys: Captured
) -> None:
    (machine.project / ".claude").mkdir(exist_ok=True)
    (machine.project / ".claude" / "settings.json").write_text('{"claudeMdExcludes": ["**/*.md"]}')
    lines = said(capsys, "init", *NAMED)
    assert "not read   CLAUDE.md: its setting claudeMdExcludes keeps claude-code from that" in lines
    assert "documents  .claude/skills/learned/SKILL.md (not there yet)" in lines
    assert load_sleep_config("sleep.yaml").sleep.memory is False
    assert data(capsys, "run", "--dry-run")["sessions"] == {"claude-code": 5}


def test_it_looks_back_no_further_than_to_find_enough_sessions(machine: Small, capsys: Captured) -> None:
    start = datetime.now(UTC) - timedelta(days=12)
    write_claude(machine.home, machine.turns[:12], str(machine.project), start)
    told = data(capsys, "init", *NAMED)
    assert told["settings"]["sleep"]["lookback_hours"] == 720
    assert (told["sessions"], told["older"]) == ({"claude-code": 12}, 5)
    older = "older      5 sessions, which lookback_hours: 720 leaves out; null takes them in"
    assert older in said(capsys, "init", "--force", *NAMED)
    ahead = data(capsys, "run", "--dry-run")
    assert (ahead["sessions"], ahead["calls"]) == (told["sessions"], told["calls"])


def test_the_model_with_a_key_is_taken_where_no_agent_is_logged_in(
    machine: Small, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "openai:gpt-5.5: environment variable 'OPENAI_API_KEY' is not set" in refused(capsys)
    assert not Path("sleep.yaml").exists()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-invented-for-this-test")
    told = data(capsys, "init")
    assert told["settings"]["target"] == told["settings"]["optimizer"] == {"model": "openai:gpt-5.5"}


def test_the_subscription_of_the_agent_comes_before_a_key(
    machine: Small, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = machine.root / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.1.328 (Claude Code)'\n")
    program.chmod(0o755)
    (machine.home / ".claude" / ".credentials.json").write_text('{"claudeAiOauth": {"accessToken": "invented"}}')
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-invented-for-this-test")
    shown = said(capsys, "init")
    assert "models     agent:claude-code" in shown
    assert "cost       counts against your subscription" in shown


def test_settings_that_are_there_stay_unless_they_are_to_go(machine: Small, capsys: Captured) -> None:
    Path("sleep.yaml").write_text("mine")
    assert "'sleep.yaml' exists already" in refused(capsys, *NAMED)
    assert Path("sleep.yaml").read_text() == "mine"
    said(capsys, "init", "--force", *NAMED)
    assert load_sleep_config("sleep.yaml").target.model == "simulated:target-steady"


def test_a_folder_in_which_no_agent_has_worked_is_told_where_they_did(
    machine: Small, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = machine.root / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    told = refused(capsys, *NAMED)
    assert f"no agent has worked in '{other}' or below it; the newest sessions are of '{machine.project}' (5)" in told
    monkeypatch.setenv("HOME", str(other))
    told = refused(capsys, *NAMED)
    assert f"no agent has left a transcript in '{other}' that can be used; looked for: claude-code, codex, " in told
    assert list(other.iterdir()) == []


def test_what_cannot_be_used_is_named_where_there_is_nothing_else(
    machine: Small, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = machine.root / "home of another"
    monkeypatch.setenv("HOME", str(home))
    (home / ".codex" / "sessions").mkdir(parents=True)
    (home / ".codex" / "sessions" / "rollout-2026-11-27T09-00-01-a.jsonl.zst").write_bytes(b"")
    write_claude(home, machine.turns[:5], "/home/me/oldname", datetime.now(UTC))
    told = refused(capsys, *NAMED)
    assert "it is packed: `unzstd --keep` beside it has it read" in told
    assert "folders that are gone: '/home/me/oldname' (5); sleep.other_paths takes in those of this project" in told


def test_no_at_a_terminal_writes_nothing(machine: Small) -> None:
    assert "nothing was written" in at_a_terminal(["sleep", "init", *NAMED], ["n"])
    assert not Path("sleep.yaml").exists()


def test_a_harvest_reads_what_the_settings_say(sleeper: Small, capsys: Captured) -> None:
    assert len(data(capsys, "show", "--sessions")["sessions"]) == 5
    Path("sleep.yaml").write_text("sleep: {lookback_hours: 1}\n")
    assert data(capsys, "show", "--sessions")["sessions"] == []
    assert said(capsys, "show", "--sessions") == ["no session was found", "sessions   none", "left out   5 too old"]
    Path("sleep.yaml").write_text("sleep: {lookback_hours: null, sources: [codex]}\n")
    assert data(capsys, "show", "--sessions")["sessions"] == []
    Path("sleep.yaml").write_text(f"sleep: {{lookback_hours: null, project: {json.dumps(str(sleeper.home))}}}\n")
    assert data(capsys, "show", "--sessions")["sessions"] == []
    assert len(data(capsys, "show", "--sessions", "--project", ".")["sessions"]) == 5
