"""How programs are started: what is long or secret is never on their command line."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from etude.agents.program import CommandOptions
from etude.config import parse
from etude.programs.command import CommandProgram
from etude.programs.installed import Installed
from etude.programs.known import known_programs
from etude.programs.program import Delivery, Order
from etude.programs.read_only import ReadOnlyFiles
from etude.records import File, Skill
from rows import rows

PAGE = Path(__file__).parents[2] / "docs" / "models-and-agents.md"
RULES = "Name it in lower case letters.\n" * 9000
KEY = "sk-etude-7731"
LONGEST = 131_071
"""Bytes that Linux takes in one argument."""


@pytest.fixture
def order(tmp_path: Path) -> Order:
    """An attempt with a long task and a long skill."""
    home, workspace = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    workspace.mkdir()
    return Order(
        installed=Installed(Path("/bin/x"), ("/bin/x",), ()),
        prompt="Which colour?\n" * 20_000,
        skill=Skill(name="colours", text=f"---\nname: colours\ndescription: Colours.\n---\n{RULES}"),
        instructions="Use this skill.",
        delivery="inline",
        home=home,
        temporary=tmp_path,
        workspace=workspace,
        url="http://127.0.0.1:9",
        key=KEY,
        model="any",
        seconds=60.0,
    )


@rows("name", known_programs())
def test_a_long_skill_and_a_long_task_start_whole_and_the_key_is_not_an_argument(name: str, order: Order) -> None:
    # Rows share the folder.
    order = replace(order, home=order.home / name)
    order.home.mkdir()
    launch = known_programs()[name].launch(order)
    assert max(len(word.encode()) for word in launch.argv) < LONGEST
    assert not any(KEY in word for word in launch.argv)
    said = launch.stdin + b"".join(path.read_bytes() for path in order.home.rglob("*") if path.is_file())
    assert KEY.encode() in said or KEY in launch.env.values()
    text = said.decode().replace("\\n", "\n")
    assert order.prompt in text
    assert RULES.strip() in text
    assert list(order.workspace.iterdir()) == []


SETTINGS = {"codex": "config.toml"}
"""Files of settings with the skill in them, which are read once and which the program may write to."""


@rows("delivery", ("inline", "install"))
@rows("name", known_programs())
def test_a_skill_can_be_read_only(name: str, delivery: Delivery, order: Order) -> None:
    program, files = known_programs()[name], {"more/x.sh": File(data=b"echo 77", executable=True)}
    order = replace(order, home=order.home / f"{name}-{delivery}", workspace=order.workspace / f"{name}-{delivery}")
    for folder in (order.home, order.workspace):
        folder.mkdir(parents=True)
    order = replace(order, delivery=delivery, skill=Skill(name="colours", text=order.skill.text, files=files))
    program.launch(order)
    kept = ReadOnlyFiles(order.home)
    holding = [
        path
        for path in order.home.rglob("*")
        if path.is_file() and (RULES[:30].encode() in path.read_bytes() or path.name == "x.sh")
        if path.name != SETTINGS.get(name)
    ]
    assert [path for path in holding if not any(path.is_relative_to(place) for place in kept.paths)] == []
    assert any(path.name == "x.sh" and path.stat().st_mode & 0o111 for path in holding)
    assert kept.changed(order.home) == ""


def test_the_command_lines_of_the_documentation_are_filled_in(order: Order) -> None:
    blocks = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.S | re.M)]
    settings = [block["agent"] for block in blocks if block.get("agent", {}).pop("name", "") == "command"]
    assert {agent["command"][0] for agent in settings} == {"python", "mini", "aider"}
    for agent in settings:
        options = parse(CommandOptions, agent, where="agent")
        installed, skill = Installed(Path("/bin/x"), tuple(options.command), ()), Skill(name="s", text="Be brief.")
        asked = replace(order, prompt="Which colour?", skill=skill, installed=installed)
        argv = CommandProgram(options.command, options.answer_file).launch(asked).argv
        assert [word for word in argv if "{" in word] == []
        told = "\n".join(Path(word).read_text() if word.startswith(str(order.home)) else word for word in argv)
        assert "Which colour?" in told
