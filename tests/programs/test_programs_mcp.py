"""The plugin and the server in the real Claude Code: it loads both, and what it asks for reaches etude."""

import json
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from etude.gateway import Gateway
from etude.records import ChatRequest, Reply, ToolCall, Usage
from etude.testing import ScriptedModel
from whole_group import run_to_its_end

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / ".tools" / "programs" / "bin"
pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
    pytest.mark.skipif(find_spec("mcp") is None, reason="needs mcp"),  # importing it takes each worker a second
]

PLUGIN = ROOT / "integrations" / "agents"
SETTINGS = """\
env: {name: dataset, path: tasks.jsonl, ratio: "1:1:0", scorer: exact}
target: {model: 'simulated:target'}
optimizer: {model: 'simulated:optimizer'}
test: {enabled: false}
"""


async def told(*words: str, cwd: Path, env: dict[str, str]) -> str:
    """What a program prints. It has to end well."""
    program = shutil.which(words[0], path=env["PATH"])
    assert program is not None
    code, out, err = await run_to_its_end([program, *words[1:]], 120, cwd=cwd, env=env)
    assert code == 0, (out + err).decode()[-2_000:]
    return out.decode()


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A home of its own; `etude` is the one that is tested."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(INSTALLED), os.environ["PATH"]]),
        "HOME": str(tmp_path / "home"),
        "DISABLE_AUTOUPDATER": "1",
        "ETUDE_MCP_CALLS": "10",
        "ENABLE_TOOL_SEARCH": "false",
        "MCP_CONNECTION_NONBLOCKING": "false",
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with settings and tasks, and an empty home beside it."""
    (tmp_path / "home").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "etude.yaml").write_text(SETTINGS)
    rows = [{"id": f"t{at}", "input": f"What is {at} + 1?", "gold": str(at + 1)} for at in range(4)]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


class Asks:
    """A model that asks for one tool after the other, and keeps what they say."""

    def __init__(self, *tools: str) -> None:
        self.tools = tools
        self.results: list[str] = []

    def __call__(self, request: ChatRequest) -> Reply:
        found = [message.text for message in request.messages if message.role == "tool"]
        used = Usage(input_tokens=1, output_tokens=1)
        if len(found) == len(self.tools) or not request.tools:
            self.results = self.results or found
            return Reply(text="done", usage=used)
        call = ToolCall(id=f"call_{len(found)}", name=self.tools[len(found)], arguments="{}")
        return Reply(tool_calls=(call,), finish="tool_calls", usage=used)


async def test_claude_code_takes_the_plugin_and_plans_through_it(project: Path, env: dict[str, str]) -> None:
    assert "Validation passed" in await told("claude", "plugin", "validate", str(PLUGIN), cwd=project, env=env)
    gateway = Gateway(ScriptedModel(asks := Asks("mcp__plugin_etude_etude__plan")))
    try:
        async with gateway.session(seed=0) as session:
            more = {"ANTHROPIC_BASE_URL": session.url, "ANTHROPIC_API_KEY": session.key}
            words = [
                "claude",
                "-p",
                "Plan it.",
                "--plugin-dir",
                str(PLUGIN),
                "--allowedTools",
                "mcp__plugin_etude_etude",
            ]
            await told(*words, cwd=project, env=env | more)
    finally:
        await gateway.aclose()
    assert any('"attempts"' in text for text in asks.results), asks.results


async def test_codex_plans_and_asks_for_the_status_through_the_server(project: Path, env: dict[str, str]) -> None:
    gateway = Gateway(ScriptedModel(asks := Asks("mcp__etude__plan", "mcp__etude__status")))
    try:
        async with gateway.session(seed=0) as session:
            await told("codex", "mcp", "add", "etude", "--", "etude", "mcp", "--calls", "10", cwd=project, env=env)
            server = {"name": "own", "base_url": f"{session.url}/v1", "env_key": "OWN_KEY", "wire_api": "responses"}
            given = {"model": "target", "model_provider": "own", "mcp_servers.etude.required": True}
            given |= {f"model_providers.own.{key}": value for key, value in server.items()}
            words = [word for key, value in given.items() for word in ("-c", f"{key}={json.dumps(value)}")]
            way = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
            await told("codex", "exec", *way, *words, "Plan it.", cwd=project, env=env | {"OWN_KEY": session.key})
    finally:
        await gateway.aclose()
    planned, status = asks.results
    assert '"attempts"' in planned
    assert '"calls": 10' in status or '"calls":10' in status
