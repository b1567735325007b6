"""What doctor says of the sandbox, of agent programs and of the agent that a config names."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from etude.cli.doctor.checks import DoctorReport, check_programs, check_sandbox
from etude.cli.main import main
from etude.programs.known import known_programs
from etude.sandbox import find_sandbox
from fake_docker import FakeDocker

Captured = pytest.CaptureFixture[str]
CONFIG = "demo/etude.yaml"


def checks(capsys: Captured, *words: str, code: int = 0) -> dict[str, dict[str, Any]]:
    assert main(["doctor", *words, "--json"]) == code
    return {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}


def test_the_sandbox_that_works_here_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeDocker(tmp_path / "docker", monkeypatch)
    found = DoctorReport()
    check_sandbox(found)
    check, docker = found
    assert (docker.status, docker.text) == ("ok", "version 29.0.1 answers")
    assert check.text.startswith(f"{find_sandbox().name} works")
    assert check.status in ("ok", "note")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the program would be found."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "fake-agent"


def executable(place: Path, script: str) -> None:
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


def test_the_version_of_the_program_that_agent_path_names_is_reported(
    fresh_project: Path, place: Path, capsys: Captured
) -> None:
    executable(place, "echo codex-cli 0.20.0")
    flags = [CONFIG, "--target.model", "openai:x", "--target.base_url", "http://127.0.0.1:9/v1"]
    found = checks(capsys, *flags, "--agent.name", "codex", "--agent.path", str(place))
    assert found["agent program"]["status"] == "note"
    assert found["agent program"]["text"].startswith(f"codex-cli 0.20.0, {place}: older than ")
    executable(place, "echo codex-cli 99.1")
    found = checks(capsys, *flags, "--agent.name", "codex", "--agent.path", str(place))
    assert found["agent program"]["status"] == "ok"
    assert found["agent program"]["text"].startswith(f"codex-cli 99.1, {place}: newer than ")


def test_an_agent_whose_program_does_not_start_is_wrong(fresh_project: Path, place: Path, capsys: Captured) -> None:
    executable(place, "echo no licence >&2; exit 3")
    flags = [CONFIG, "--target.model", "openai:x", "--target.base_url", "http://127.0.0.1:9/v1"]
    found = checks(capsys, *flags, "--agent.name", "codex", "--agent.path", str(place), code=1)
    assert found["agent"]["text"].startswith(f"agent program {str(place)!r} does not tell its version: ")
    assert "no licence" in found["agent"]["text"]


def test_programs_that_are_found_are_named_and_not_started(place: Path) -> None:
    codex = place.with_name("codex")
    executable(codex, f"touch {place.parent}/started")
    found = DoctorReport()
    check_programs(found)
    assert ("program codex", "ok", str(codex)) in [(one.name, one.status, one.text) for one in found]
    named = {one.name.removeprefix("program ") for one in found}
    assert all(each.name in named or each.command in found[-1].text for each in known_programs().values())
    assert not (place.parent / "started").exists()


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--agent.name", "tools", "--agent.max_step", "3"], "agent: unknown key 'max_step'"),
        (["--agent.name", "tools", "--agent.max_steps", "0"], "agent: max_steps = 0: "),
        (["--agent.name", "tools", "--agent.readable=[/no/such]"], "agent.readable: '/no/such' is not a folder"),
        (["--agent.answer_pattern", "("], "agent: answer_pattern = '(': is not a regular expression"),
    ],
)
def test_wrong_options_of_the_agent_are_found(
    fresh_project: Path, capsys: Captured, flags: list[str], text: str
) -> None:
    found = checks(capsys, CONFIG, *flags, code=1)
    assert found["agent"]["status"] == "wrong"
    assert found["agent"]["text"].startswith(text)


def test_a_task_that_the_agent_refuses_is_wrong_and_leaves_no_run_folder(
    fresh_project: Path, capsys: Captured
) -> None:
    data = Path("demo/data")
    (data / "photo.bin").write_bytes(b"\0")
    for split, files in (("train", ["photo.bin"]), ("val", []), ("test", [])):
        rows = [json.loads(line) for line in (data / f"{split}.jsonl").read_text().splitlines()]
        (data / f"{split}.jsonl").write_text("".join(json.dumps({**row, "files": files}) + "\n" for row in rows))

    flags = ["--env.fields.files", "files"]
    found = checks(capsys, CONFIG, *flags, code=1)
    assert "agent 'chat' has no workspace for it" in found["agent"]["text"]
    assert main(["train", CONFIG, *flags]) == 2
    assert "agent 'chat' has no workspace for it" in capsys.readouterr().err
    assert not Path("demo/runs/demo").exists()


def test_limits_that_would_hold_up_attempts_of_programs_or_end_them_are_noted(
    fresh_project: Path, capsys: Captured
) -> None:
    flags = [CONFIG, "--target.model", "simulated:target", "--agent.name", "command", "--agent.command", "[cat]"]
    found = checks(capsys, *flags, "--agent.concurrency_mb", "1")
    assert {"agent memory", "agent time"} & found.keys() == set()
    few = ["--agent.concurrency_mb", "1000000000", "--agent.limits.seconds", "600"]
    found = checks(capsys, *flags, *few, "--limits.concurrency", "7", "--limits.attempt_seconds", "605")
    assert (found["agent memory"]["text"], found["agent memory"]["fix"]) == (
        "there is memory for 1 of 7 attempts at the same time",
        "agent.concurrency_mb is the memory expected for each",
    )
    assert (found["agent time"]["text"], found["agent time"]["fix"]) == (
        "limits.attempt_seconds = 605 ends attempts before agent.limits.seconds does",
        "set limits.attempt_seconds to more than 605",
    )
