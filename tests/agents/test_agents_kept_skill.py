"""The skill of an agent program can be read only, and one that changes it all the same has failed."""

import asyncio
import os
from itertools import product
from pathlib import Path

import pytest

from etude.agents.program import CommandAgent, CommandOptions
from etude.programs.read_only import ReadOnlyFiles, close
from etude.prompts import Prompts
from etude.records import File, Skill, Task, Trajectory
from etude.sandbox import Sandbox, find_sandbox
from etude.sandbox.bubblewrap import Bubblewrap
from etude.sandbox.sandbox import Unsafe
from etude.testing import ScriptedModel
from rows import few

SKILL = Skill(name="colours", text="Answer red.\n", files={"more/list.txt": File(data=b"red")})
ATTACKS = {
    "written": 'echo Answer blue. > "$1"',
    "made writable": 'chmod -R u+w "$(dirname "$1")" "$1"; echo Answer blue. > "$1"',
    "replaced": 'cd "$(dirname "$1")"; chmod u+w . "$1"; echo Answer blue. > new; mv -f new "$1"',
    "linked": 'chmod u+w "$(dirname "$1")"; rm -f "$1"; ln -s /etc/hostname "$1"',
    "removed": 'chmod -R u+w "$(dirname "$1")"; rm -rf "$1"',
    "moved": 'mv "$(dirname "$1")" "$HOME/elsewhere"',
}
QUICK = [("written", "inline"), ("replaced", "install"), ("linked", "inline"), ("moved", "install")]


def attempts(script: str, delivery: str, sandbox: Sandbox) -> list[Trajectory]:
    """Two attempts one after the other, by a program that does this and answers with the skill."""
    words = [
        "bash",
        "-c",
        f'cat > /dev/null; {{ {script}; }} 2> /dev/null; cat "$1" || echo nothing',
        "bash",
        "{skill_file}",
    ]
    options = CommandOptions.model_validate({"command": words, "delivery": delivery})
    agent = CommandAgent(ScriptedModel([]), Prompts(), options, sandbox)

    async def both() -> list[Trajectory]:
        try:
            return [await agent.attempt(Task(id="t", input="Which?"), SKILL, trial) for trial in range(2)]
        finally:
            await agent.aclose()

    return asyncio.run(both())


@pytest.mark.parametrize(("attack", "delivery"), few(product(ATTACKS, ("inline", "install")), *QUICK))
def test_a_sandbox_of_namespaces_keeps_the_skill_as_it_is(attack: str, delivery: str) -> None:
    sandbox = find_sandbox(unsafe=True)
    if not isinstance(sandbox, Bubblewrap):
        pytest.skip("there is no bubblewrap")
    for made in attempts(ATTACKS[attack], delivery, sandbox):
        assert "Answer red." in made.answer
        assert made.failure == ""


@pytest.mark.parametrize(("attack", "delivery"), few(product(ATTACKS, ("inline", "install")), *QUICK))
def test_elsewhere_an_attempt_that_changed_its_skill_has_failed(attack: str, delivery: str) -> None:
    if attack == "written" and os.getuid() != 0:
        pytest.skip("a user cannot write it")
    if delivery == "inline" and attack == "moved":
        pytest.skip("the home cannot be moved")
    for made in attempts(f"{ATTACKS[attack]}; true", delivery, Unsafe()):
        assert made.failure.startswith("it changed its skill, which can only be read: ")
    assert SKILL.text == "Answer red.\n"


@pytest.mark.parametrize("delivery", ["inline", "install"])
def test_a_program_that_reads_its_skill_has_done_nothing_wrong(delivery: str) -> None:
    for sandbox in (find_sandbox(unsafe=True), Unsafe()):
        for made in attempts('touch "$HOME/notes"', delivery, sandbox):
            assert ("Answer red." in made.answer, made.failure) == (True, "")


def test_what_is_closed_and_what_changed_is_found(tmp_path: Path) -> None:
    for name in ("skills/a/SKILL.md", "skills/a/more/x.txt", "own.txt", "skill.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("as it was")
    (tmp_path / "link").symlink_to("skills")
    for name in ("skills/a", "skill.md"):
        close(tmp_path / name)
    kept = ReadOnlyFiles(tmp_path)
    assert kept.paths == (tmp_path / "skill.md", tmp_path / "skills" / "a")
    (tmp_path / "own.txt").write_text("changed")
    assert kept.changed(tmp_path) == ""
    (tmp_path / "skills" / "a").chmod(0o755)
    (tmp_path / "skills" / "a" / "SKILL.md").chmod(0o644)
    (tmp_path / "skills" / "a" / "SKILL.md").write_text("as it is!")
    assert kept.changed(tmp_path) == "skills/a/SKILL.md"
