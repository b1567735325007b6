"""The tools that an agent gets, asked for by a real client."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_night import Small

from etude.cli.main import main
from etude.cli.mcp import tools
from etude.cli.mcp.tools import Cap, VerbRunner
from etude.config import RunSection
from etude.store import RunFolder
from forked import as_copy
from later import mcp
from rows import few

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="mcp is not installed")
TOOLS = {"plan", "train", "status", "show", "blame", "diff", "compare", "night_status", "night_explain", "night_diff"}
SMALL = ("epochs: 2", "epochs: 1")


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verbs that the tools start are copies of this process."""
    start, popen = asyncio.create_subprocess_exec, subprocess.Popen

    def copy(words: Sequence[str]) -> dict[str, Any]:
        return as_copy(lambda: main(words[words.index("etude") + 1 :]))

    monkeypatch.setattr(
        asyncio, "create_subprocess_exec", lambda *words, **more: start(*words, **copy(words), **more)
    )
    monkeypatch.setattr(tools, "subprocess", SimpleNamespace(**vars(subprocess)))
    monkeypatch.setattr(tools.subprocess, "Popen", lambda words, **more: popen(words, **copy(words), **more))


async def ask(client: mcp.Client, tool: str, **given: Any) -> Any:
    """The result of a tool as data, or the text of its error."""
    result = await client.call_tool(tool, given)
    text = "\n".join(part.text for part in result.content if part.type == "text")
    return text if result.is_error else json.loads(text)


async def until_ended(client: mcp.Client) -> dict[str, Any]:
    for _ in range(120):
        await asyncio.sleep(0.5)
        found = await ask(client, "status")
        if found["training"]["state"] != "under way":
            return found
    raise AssertionError("the training does not end")


async def test_a_client_that_starts_the_command_finds_the_tools(here: Path) -> None:
    words = ["-m", "etude", "mcp", "--calls", "5000"]
    async with mcp.Client(mcp.StdioServerParameters(command=sys.executable, args=words)) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        assert (await ask(client, "status"))["left"] == {"calls": 5000}


async def test_an_agent_trains_and_explains_within_the_cap(fresh_project: Path, copies: None) -> None:
    settings = fresh_project / "etude.yaml"
    settings.write_text(settings.read_text().replace(*SMALL).replace("env:\n", "env:\n  limit: 12\n"))
    config = str(settings)
    async with desk(calls=5000, tokens=5000000) as client:
        assert (await ask(client, "plan", config=config))["forecast"]["attempts"]
        begun = await ask(client, "train", name="first", config=config)
        assert begun["limits"] == {"limits.calls": 5000, "limits.tokens": 5000000}
        assert "the training 'first' is under way" in await ask(client, "train", name="first", config=config)
        second = await ask(client, "compare", a="none", b="none", name="second", config=config)
        assert "the training 'first' is under way" in second
        found = await until_ended(client)
        assert found["training"]["state"] == "ended"
        run = found["training"]["run"]
        shown = await ask(client, "show", run=run)
        cost = shown["summary"]["cost"]
        used = sum(cost[f"{role}_calls"] for role in ("target", "optimizer", "judge"))
        assert found["left"]["calls"] == 5000 - used
        assert await ask(client, "blame", run=run)
        assert "begins with a dash" in await ask(client, "show", run="--cost")


async def test_a_run_that_another_server_trains_is_refused(fresh_project: Path, copies: None) -> None:
    with RunFolder.open(RunSection(folder=str(fresh_project / "runs"), name="first")):
        async with desk(calls=10) as client:
            said = await ask(client, "train", name="first", config=str(fresh_project / "etude.yaml"))
            assert "is in use by another process" in said


def desk(**cap: int) -> mcp.Client:
    from etude.cli.mcp.server import server_of

    return mcp.Client(server_of(VerbRunner(Cap(**cap))))


async def test_nothing_that_costs_money_starts_without_a_cap(fresh_project: Path) -> None:
    async with desk() as client:
        for tool, given in (("train", {}), ("compare", {"a": "none", "b": "none"})):
            said = await ask(client, tool, name="first", config=str(fresh_project / "etude.yaml"), **given)
            assert "no cap is set" in said
            assert "the person who uses you decides that" in said
    assert not (fresh_project / "runs").exists()


async def test_a_cap_holds_over_trainings_and_settings_cannot_raise_it(fresh_project: Path, copies: None) -> None:
    settings = fresh_project / "etude.yaml"
    settings.write_text(settings.read_text() + "\nlimits: {calls: 100000}\n")
    async with desk(calls=40) as client:
        begun = await ask(client, "train", name="first", config=str(settings))
        assert begun["limits"] == {"limits.calls": 40}
        found = await until_ended(client)
        assert found["training"]["state"] == "failed or stopped"
        assert "limits.calls" in found["training"]["message"]
        assert found["left"] == {"calls": 0}
        for name in ("first", "second"):
            assert "the cap of 40 calls is used up" in await ask(client, "train", name=name, config=str(settings))


async def test_a_night_is_explained_and_nothing_of_it_is_adopted(one: Small, copies: None) -> None:
    async with desk() as client:
        (rule,) = (await ask(client, "night_explain"))["rules"]
        assert rule["state"] == "waits"
        assert rule["text"] in json.dumps(await ask(client, "night_diff", night=1))
        assert rule["id"] in json.dumps(await ask(client, "night_status"))
    assert not one.skill.exists()


async def test_what_is_wrong_is_told_with_its_hint(here: Path, copies: None) -> None:
    async with desk(calls=10) as client:
        assert "'etude.yaml' does not exist" in await ask(client, "train", name="first")
        assert "hint: " in await ask(client, "plan")
        assert (await ask(client, "status"))["runs"] == []


@pytest.mark.parametrize("name", ["-x", "../x", "n" * 101, "a."])
async def test_a_name_that_no_run_may_have_is_refused(name: str, fresh_project: Path) -> None:
    async with desk(calls=10) as client:
        said = await ask(client, "train", name=name, config=str(fresh_project / "etude.yaml"))
    assert "is not a plain folder name" in said


@pytest.mark.parametrize("name", few(["etude/__init__.py", "json.py", "runpy.py", "argparse/__init__.py"], "json.py"))
async def test_code_in_the_current_folder_is_not_run(name: str, fresh_project: Path) -> None:
    attack = Path(name)
    attack.parent.mkdir(exist_ok=True)
    attack.write_text("open('attacked', 'w').close()\nraise SystemExit(0)\n")
    async with desk(calls=1) as client:
        await ask(client, "status")
        await ask(client, "train", name="first", config=str(fresh_project / "etude.yaml"))
        await until_ended(client)
    assert not Path("attacked").exists()


async def test_a_command_that_ends_without_a_result_says_why(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "sitecustomize.py").write_text("import os\nos.write(2, b'no room\\n')\nos._exit(7)\n")
    monkeypatch.setenv("PYTHONPATH", str(here))
    settings = here / "etude.yaml"
    settings.write_text("train: {epochs: 1}\n")
    async with desk(calls=10) as client:
        assert "the command failed: no room" in await ask(client, "plan")
        assert "the command failed: no room" in await ask(client, "train", name="first")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "etude.cli.mcp.server", None)
    assert main(["mcp"]) == 2
    assert "pip install 'etude[mcp]'" in capsys.readouterr().err
