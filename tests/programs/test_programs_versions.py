"""Which program is used, which version it is, and whether that is one that tests run."""

import asyncio
import re
from pathlib import Path

import pytest

from etude.agents.program import CodexAgent
from etude.agents.program_run import AgentTraits, ProgramFailed, ProgramRun, verdict
from etude.errors import OutageStop, StopRun
from etude.programs.codex import Codex
from etude.programs.known import known_programs
from etude.programs.program import Report, is_older
from etude.programs.trouble import outdated
from etude.prompts import Prompts
from etude.records import Skill, Task
from etude.sandbox import Finished, Limits
from etude.testing import ScriptedModel
from rows import rows

ROOT = Path(__file__).resolve().parents[2]
MEANT = "Error: this version of codex is too old. Please update to 0.169.0"


def fake(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@rows(
    ("version", "tested", "older"),
    [
        ("codex-cli 0.20.0", "0.169.0", True),
        ("codex-cli 0.169.0", "0.169.0", False),
        ("2.10.1 (Claude Code)", "2.9.9", False),
        ("v1.18", "1.18.33", True),
        ("a build of today", "1.0", False),
        ("1.0", "", False),
    ],
)
def test_versions_are_compared_number_by_number(version: str, tested: str, older: bool) -> None:
    assert is_older(version, tested) is older


def test_the_tested_versions_stand_in_one_place_and_the_guide_says_them() -> None:
    script = (ROOT / "scripts" / "programs").read_text()
    guide = (ROOT / "docs" / "models-and-agents.md").read_text()
    names = dict(re.findall(r"([A-Z][\w-]+(?: Code| CLI)?) (\d+\.\d+\.\d+)", guide))
    tested = {name: program.tested for name, program in known_programs().items()}
    assert {name.lower().replace(" ", "-"): version for name, version in names.items()} == tested
    assert not any(version in script for version in tested.values())


def judged(words: str, asked: int | None = 0) -> str:
    """The verdict on a program that broke off with these words."""
    ran = ProgramRun(Finished(3, None, b"", words.encode(), False, ""), asked, "", False)
    return verdict(ran, Report(ended=False), AgentTraits("x", False, Limits(seconds=9), 512), "")


def test_a_program_that_says_it_is_outdated_stops_the_run() -> None:
    with pytest.raises(OutageStop) as caught:
        judged(MEANT)
    assert caught.value.message == f"agent 'x' broke off, exit code 3: {MEANT}"
    assert caught.value.hint == "update the program, then run this again; `etude doctor` says its version"


def test_such_words_after_a_request_are_those_of_a_command() -> None:
    with pytest.raises(ProgramFailed) as caught:
        judged("npm notice: please update npm", asked=2)
    assert not isinstance(caught.value, StopRun)


@rows(
    ("words", "expected"),
    [
        (MEANT, True),
        ("Your client is out of date", True),
        ("This CLI version is no longer supported", True),
        ("it crashed", False),
    ],
)
def test_programs_say_that_they_are_outdated_in_many_words(words: str, expected: bool) -> None:
    assert outdated(words) is expected


def test_an_outdated_program_is_fatal_in_the_first_attempt(tmp_path: Path) -> None:
    path = fake(tmp_path / "codex", f'[ "$1" = --version ] && echo 0.20.0 && exit 0\necho "{MEANT}" >&2; exit 3')
    agent = CodexAgent.from_options({"path": str(path)}, ScriptedModel([]), Prompts(), where="agent")
    assert (agent.version, agent.installed.path) == ("0.20.0", path)

    async def attempt() -> None:
        try:
            await agent.attempt(Task(id="t", input="?"), Skill(text=""), 0)
        finally:
            await agent.aclose()

    with pytest.raises(OutageStop) as caught:
        asyncio.run(attempt())
    # As doctor has it.
    wrong, update = Codex().too_old("0.20.0") or ("", "")
    assert caught.value.message.endswith(f"{MEANT}; 0.20.0, {path}: {wrong}: {update}")
