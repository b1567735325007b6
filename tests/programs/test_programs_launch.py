"""How programs are started: what is long or secret is never on their command line."""

from dataclasses import replace
from pathlib import Path

import pytest

from etude.programs.base import Order
from etude.programs.installed import Installed
from etude.programs.known import known_programs
from etude.records import Skill
from rows import rows

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
