"""What happens to an attempt when the endpoint behind the gateway fails: the program sees nothing of what passes, and
is ended at once by what does not."""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from etude.agents.program import ProgramAgent
from etude.config import ModelSection
from etude.errors import OutageStop
from etude.models import Limited, Retrying, build_model
from etude.models.wrappers import retrying
from etude.prompts import Prompts
from etude.records import Skill, Trajectory
from etude.registry import find
from etude.simulation import make_tasks
from etude.simulation.endpoint import running_endpoint
from etude.simulation.service import Faults
from rows import few

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".tools" / "programs" / "bin"
FAKE = ROOT / "tests" / "agents" / "fake_program.py"
GUARD_SECONDS = 200.0

real = [
    pytest.mark.programs,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]
REAL = ("claude-code", "codex")
"""Others are in `tests/slow/test_slow_programs_more.py`."""
(TASK,) = make_tasks("counting", 1, seed=1)


async def attempt(program: str, url: str, outage: float = 1.0, **settings: Any) -> Trajectory:
    section = ModelSection(model="openai:target", base_url=url, **{"api_key_env": "NO_SUCH_KEY", **settings})
    provider = build_model(section)
    target = Retrying(Limited(provider, 4), "target", outage)
    options = {"command": [sys.executable, str(FAKE)]} if program == "command" else {}
    agent: ProgramAgent = find("agents", program).from_options(options, target, Prompts(), where="agent")
    try:
        return await asyncio.wait_for(agent.attempt(TASK, Skill(text=""), 0), GUARD_SECONDS)
    finally:
        await agent.aclose()
        await provider.aclose()


@asynccontextmanager
async def always(answer: bytes | None) -> AsyncGenerator[str]:
    """A server that says the same to everybody; None for nothing, ever. Yields its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if answer is not None:
            writer.write(answer)
            await writer.drain()
        else:
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


def said(status: str, body: str, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", body]
    return "\r\n".join(lines).encode()


PASSING = ("rate_limit", "rate_limit_bare", "server_error", "drop", "broken_json", "hang")
"""Behind the gateway all are alike to a program: real ones show that they wait for an answer."""


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        *few([("command", fault) for fault in PASSING], first=2),
        *(pytest.param(name, "hang", marks=real) for name in REAL),
    ],
)
def test_what_passes_is_not_seen_by_the_program(program: str, fault: str) -> None:
    faults = Faults(retry_after=0.05, **{fault: 1.0})
    # A busy machine may take longer for the first answers than an endpoint that never answered is given.
    with patch.object(retrying, "STARTUP_SECONDS", 60.0), running_endpoint(faults=faults) as endpoint:
        timeout = 2.0 if fault == "hang" else 60.0
        trajectory = asyncio.run(attempt(program, endpoint.url, outage=60.0, timeout=timeout))
        assert endpoint.stats()["by_fault"][fault] > 0
    assert trajectory.failure == ""
    assert trajectory.simulated
    assert trajectory.answer


def test_a_wrong_key_stops_the_run_with_the_message_of_the_provider(monkeypatch) -> None:
    monkeypatch.setenv("A_WRONG_KEY", "sk-wrong")
    with running_endpoint(key="sk-right") as endpoint:
        with pytest.raises(OutageStop, match=r"refuses every request: .*401"):
            asyncio.run(attempt("command", endpoint.url, api_key_env="A_WRONG_KEY"))
        assert endpoint.stats()["received"] == 1


def test_a_refused_connection_stops_the_run() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(OutageStop, match="target"):
        asyncio.run(attempt("command", f"http://127.0.0.1:{port}/v1"))


LASTING = {
    "500": (said("500 Internal Server Error", '{"error": {"message": "broken 7712"}}'), "broken 7712"),
    "429": (said("429 Too Many Requests", '{"error": {"message": "slow 7712"}}'), "slow 7712"),
    "429 with Retry-After": (
        said("429 Too Many Requests", '{"error": {"message": "slow 7712"}}', "Retry-After: 1"),
        "slow 7712",
    ),
    "garbage": (said("200 OK", "<html>hello</html>", "Content-Type: text/html"), "target"),
    "silence": (None, "target"),
}


@pytest.mark.parametrize("fault", few(LASTING, first=2))
def test_what_does_not_pass_stops_the_run_in_bounded_time(fault: str) -> None:
    """The gateway answers every program alike; that real ones end is in their contract."""
    answer, words = LASTING[fault]

    async def run() -> None:
        async with always(answer) as url:
            await attempt("command", url, timeout=0.5)

    with pytest.raises(OutageStop, match=words):
        asyncio.run(run())
