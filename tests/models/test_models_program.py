"""Agent programs as chat models."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from etude.config import ModelSection
from etude.errors import ConfigError, OutageStop, RejectedRequest, RejectedRole, TransientError
from etude.models import Metered, Retrying, build_model
from etude.protocols import ChatModel
from etude.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, Tool, assistant, system, user
from etude.simulation.endpoint import running_endpoint
from etude.testing import ChatModelContract
from memory_doubles import FreeSpend
from rows import rows

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"
PROGRAMS = ["claude-code", "codex"]
"""Others are in `tests/slow/test_slow_programs_more.py`."""
QUESTION = ChatRequest(messages=(system("You answer in one word."), user("Which colour has the sky?")))

TEMPERATURE = """temperature = 0.5 does not reach the model of an agent program
hint: leave temperature out, or use a model with a key"""
ALWAYS_TOOLS = """model 'agent:qwen-code/qwen4': agent program 'qwen-code' does nothing without its tools
hint: name the model behind it, as in 'openai:NAME' with base_url, or set agent.name to the program"""
real = [
    pytest.mark.programs,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]


def programs(test: Any) -> Any:
    for mark in real:
        test = mark(test)
    return test


every_program = pytest.mark.parametrize("program", [pytest.param(name, marks=real) for name in PROGRAMS])


def make(program: str, **settings: Any) -> ChatModel:
    return build_model(ModelSection(model=f"agent:{program}", **{"api_key_env": "NO_SUCH_KEY", **settings}))


def said(status: str, body: str) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nContent-Type: application/json\r\n"
    return f"{head}Connection: close\r\n\r\n{body}".encode()


@asynccontextmanager
async def server(answer: bytes | None, asked: list[str]) -> AsyncGenerator[str]:
    """Says the same to everybody, None for nothing ever; keeps what was asked. Yields its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        sizes = [line.split(":")[1] for line in head.splitlines() if line.lower().startswith("content-length:")]
        if sizes:
            asked.append((await reader.readexactly(int(sizes[0]))).decode())
        if answer is None:
            await reader.read()
        else:
            writer.write(answer)
            await writer.drain()
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    finally:
        listener.close()


def ask(
    program: str, answer: bytes | None, request: ChatRequest = QUESTION, **settings: Any
) -> tuple[Reply, list[str]]:
    asked: list[str] = []

    async def run() -> Reply:
        async with server(answer, asked) as url:
            return await make(program, base_url=url, **settings).complete(request)

    return asyncio.run(run()), asked


@programs
class TestCodex(ChatModelContract):
    @pytest.fixture(autouse=True)
    def endpoint(self):
        with running_endpoint() as endpoint:
            self.url = endpoint.url
            yield

    def make_model(self) -> ChatModel:
        return make("codex/target", base_url=self.url)

    def make_other_model(self) -> ChatModel:
        return make("codex/target-noisy", base_url=self.url)


@every_program
def test_a_question_is_answered_without_tools_and_leaves_nothing_in_the_users_home(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transcript there would be taken for the user's words in a later night."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with running_endpoint() as endpoint:
        reply = asyncio.run(make(f"{program}/target", base_url=endpoint.url).complete(QUESTION))
    assert reply.text
    assert reply.tool_calls == ()
    assert reply.usage.input_tokens > 0
    assert list(tmp_path.rglob("*")) == []


WRONG_KEY = ("401 Unauthorized", "Incorrect API key provided: 7712", RejectedRole)
NO_MODEL = ("404 Not Found", "The model 7712 does not exist", RejectedRole)
TOO_LONG = ("400 Bad Request", "prompt is too long: 7712", RejectedRequest)


@programs
@pytest.mark.parametrize(
    ("program", "status", "message", "error"),
    [(name, *answer) for name in PROGRAMS for answer in (WRONG_KEY, TOO_LONG, NO_MODEL)],
)
def test_what_will_never_pass_is_reported_at_once_and_is_no_answer(
    program: str, status: str, message: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ask(program, said(status, f'{{"error": {{"type": "invalid_request_error", "message": "{message}"}}}}'))


@every_program
def test_what_may_pass_is_reported_as_such_and_is_no_answer(program: str) -> None:
    with pytest.raises(TransientError):
        ask(program, said("429 Too Many Requests", "{}"), timeout=5.0)


def test_a_plan_that_is_used_up_stops_at_once_and_is_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "You've hit your usage limit. Upgrade to Pro or try again in 3 hours 12 minutes."
    told = json.dumps({"type": "turn.failed", "error": {"message": words}})
    stub = tmp_path / "codex"
    stub.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && echo codex-cli 0.169.0 && exit\ncat << 'END'\n{told}\nEND\n"
    )
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CODEX_API_KEY", "sk-mine")
    spend = FreeSpend()
    model = Retrying(Metered(make("codex"), "optimizer", spend, None, lambda event: None), "optimizer", 300)
    with pytest.raises(OutageStop) as caught:
        asyncio.run(model.complete(QUESTION))
    assert words in caught.value.message
    assert caught.value.hint.startswith("it goes on from 20")
    assert (spend.withdrawn, spend.settled) == ([0], [])


@programs
def test_silence_is_no_answer_and_may_pass() -> None:
    with pytest.raises(TransientError, match="no answer within 3 seconds"):
        ask("codex", None, timeout=3.0)


@programs
def test_the_programs_own_login_is_used_when_no_server_is_given(monkeypatch) -> None:
    with running_endpoint(key="sk-mine") as endpoint:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-mine")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", endpoint.url.removesuffix("/v1"))
        assert asyncio.run(make("claude-code/target").complete(QUESTION)).text


def test_a_program_that_is_not_logged_in_is_not_started_and_the_error_says_what_to_do(monkeypatch, tmp_path) -> None:
    (tmp_path / "codex").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\necho 1.0\n")
    (tmp_path / "codex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_API_KEY", raising=False)
    with pytest.raises(ConfigError) as caught:
        make("codex")
    assert str(caught.value) == (
        "agent program 'codex' is not logged in: there is no ~/.codex/auth.json or CODEX_API_KEY\n"
        "hint: log in with `codex`, or give it an address and a key"
    )
    assert not (tmp_path / "started").exists()


@programs
@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ChatRequest(messages=(user("Hi."),), tools=(Tool(name="t", parameters={}),)), "do not reach the model"),
        (
            ChatRequest(messages=(Message(role="user", content=(ImagePart(url="data:image/png;base64,"),)),)),
            "pictures",
        ),
    ],
)
def test_what_a_program_cannot_be_told_is_rejected_before_it_starts(request_: ChatRequest, words: str) -> None:
    with pytest.raises(RejectedRequest, match=words):
        ask("codex", None, request_)


@programs
def test_conversations_and_schemas_are_reported_in_the_prompt() -> None:
    schema = ResponseSchema(name="verdict", body={"type": "object", "title": "schema-7713"})
    messages = (user("First 7714."), assistant("Second 7715."), user("Third 7716."))
    asked: list[str] = []

    async def run() -> None:
        async with server(said("500 Broken", "{}"), asked) as url:
            await make("codex", base_url=url).complete(ChatRequest(messages=messages, response_schema=schema))

    with pytest.raises(TransientError):
        asyncio.run(run())
    places = [asked[0].index(mark) for mark in ("7714", "7715", "7716", "schema-7713")]
    assert places == sorted(places)


@rows(
    ("model", "settings", "error"),
    [
        ("codecs", {}, "model 'agent:codecs' names no known agent program\nhint: did you mean 'codex'?"),
        ("codex", {"temperature": 0.5}, TEMPERATURE),
        ("qwen-code/qwen4", {}, ALWAYS_TOOLS),
    ],
)
def test_a_setting_that_would_do_nothing_is_an_error(model: str, settings: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make(model, **settings)
    assert str(caught.value) == error


def test_that_an_address_comes_from_base_url_is_reported_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho '2.1.0 (Claude Code)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    model = make("claude-code", base_url="http://me:s3cret@127.0.0.1:8000/v1")
    assert model.endpoint == "http://127.0.0.1:8000/v1 (base_url, not the login of claude)"
    with pytest.raises(ConfigError, match="base_url = 'nowhere' is not an address"):
        make("claude-code", base_url="nowhere")
