"""The gateway between real clients and a model."""

import asyncio
import os
import subprocess
import sys
import threading
from typing import Any

import httpx2
import pytest
from gateway_clients import QUESTION, WIRES, Heard, chat, every_wire, messages, one_session, plain_or_streamed

from etude.gateway import Gateway
from etude.records import ChatRequest, Reply, ToolCall, Usage
from etude.testing import ScriptedModel
from later import openai

BLUE = Reply(text="Blue, by day.", usage=Usage(input_tokens=10, output_tokens=4, cached_tokens=3))
LISTING = Reply(
    text="I look.",
    tool_calls=(
        ToolCall(id="c1", name="bash", arguments='{"command": "ls"}'),
        ToolCall(id="c2", name="bash", arguments='{"command": "pwd"}'),
    ),
    finish="tool_calls",
    usage=Usage(input_tokens=10, output_tokens=4),
)
ENDS = {"chat": "stop", "responses": "completed", "messages": "end_turn", "gemini": "STOP"}
CALLS = {"chat": "tool_calls", "responses": "completed", "messages": "tool_use", "gemini": "STOP"}


@every_wire
@plain_or_streamed
async def test_tools_are_offered_and_their_calls_come_back_beside_the_text(wire: str, stream: bool) -> None:
    model = ScriptedModel([LISTING])
    async with one_session(Gateway(model)) as session:
        heard = await WIRES[wire](session, stream=stream, tools=True)
        assert heard.calls == [("c1", "bash", {"command": "ls"}), ("c2", "bash", {"command": "pwd"})]
        assert (heard.text, heard.finish) == ("I look.", CALLS[wire])
        (tool,) = model.requests[0].tools
        assert (tool.name, tool.parameters["required"]) == ("bash", ["command"])
        assert session.conversation[-1].tool_calls == LISTING.tool_calls


async def test_the_conversation_is_the_longest_one_and_the_later_of_equals() -> None:
    async with one_session(Gateway(ScriptedModel(["one", "two", "three"]))) as session:
        await chat(session)
        await messages(session)
        async with openai.AsyncOpenAI(base_url=f"{session.url}/v1", api_key=session.key) as client:
            await client.chat.completions.create(model="any", messages=[{"role": "user", "content": "A title?"}])
        assert [message.text for message in session.conversation] == ["Be brief.", QUESTION, "two"]
        assert len(session.log) == 3


async def test_sessions_at_the_same_time_are_told_apart_by_their_keys() -> None:
    async def echo(request: ChatRequest) -> Reply:
        await asyncio.sleep(0)
        return Reply(text=f"seed {request.seed}", usage=Usage(input_tokens=request.seed or 0))

    gateway = Gateway(ScriptedModel(echo))

    async def attempt(seed: int) -> None:
        async with gateway.session(seed=seed) as session:
            for wire in WIRES.values():
                assert (await wire(session)).text == f"seed {seed}"
            assert [exchange.usage.input_tokens for exchange in session.log] == [seed] * len(WIRES)

    await asyncio.gather(*map(attempt, range(1, 6)))
    await gateway.aclose()


@every_wire
async def test_a_key_of_no_session_is_refused(wire: str) -> None:
    model = ScriptedModel([])
    gateway = Gateway(model)
    async with gateway.session(seed=0) as ended:
        pass
    async with one_session(gateway) as session:
        with pytest.raises(Exception, match="This API key belongs to no attempt under way") as caught:
            await WIRES[wire](ended)
        assert caught.value.status_code == 401  # type: ignore[attr-defined]
        assert session.log == []
    assert model.requests == []


async def get(session: Any, path: str, method: str = "GET", **more: Any) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=session.url, timeout=60) as client:
        return await client.request(method, path, **{"headers": {"x-api-key": session.key}, **more})


async def test_what_else_programs_ask_for_is_answered_without_the_model() -> None:
    async with one_session(Gateway(ScriptedModel([]), model_name="small")) as session:
        assert (await get(session, "/api/hello", "HEAD", headers={})).status_code == 200
        (listed,) = (await get(session, "/v1/models")).json()["data"]
        assert (listed["id"], listed["object"], listed["type"]) == ("small", "model", "model")
        assert (await get(session, "/v1/models/their-own/name")).json()["id"] == "their-own/name"
        body = {"model": "m", "messages": [{"role": "user", "content": "x" * 395 + "yyyyy"}]}
        counted = await get(session, "/v1/messages/count_tokens", "POST", json=body)
        assert counted.json() == {"input_tokens": 100}
        asked = {"contents": [{"parts": [{"text": "x" * 400}]}]}
        counted = await get(session, "/v1beta/models/m:countTokens", "POST", json=asked)
        assert counted.json() == {"totalTokens": 100}
        for path, method in (("/v1/models", "GET"), ("/v1/models/x", "GET"), ("/v1/messages/count_tokens", "POST")):
            assert (await get(session, path, method, headers={})).status_code == 401
        assert (await get(session, "/v1/messages/count_tokens", "POST", content=b"[]")).status_code == 400
        for path, method in (("/", "GET"), ("/v1/embeddings", "POST"), ("/v1beta/models/m:embed", "POST")):
            answer = await get(session, path, method)
            assert answer.status_code == 404
            assert answer.json()["error"]["message"] == f"There is nothing at {path!r}."
        assert session.log == []


async def test_a_body_that_cannot_be_read_is_noted_and_the_next_one_may_pass() -> None:
    async with one_session(Gateway(ScriptedModel(["Blue."]))) as session:
        answer = await get(session, "/v1/chat/completions", "POST", content=b'{"model": "m"}')
        assert (answer.status_code, answer.headers["x-should-retry"]) == (400, "false")
        assert answer.json()["error"]["message"] == "messages: Field required"
        assert str(session.error) == "messages: Field required"
        assert [(one.status, one.error) for one in session.log] == [(400, "messages: Field required")]
        assert not session.failed.is_set()
        await chat(session)
        assert session.error is None


async def test_a_body_without_end_is_refused() -> None:
    async with one_session(Gateway(ScriptedModel([]))) as session:
        answer = await get(session, "/v1/messages", "POST", content=b"x" * (64 * 2**20 + 1))
        assert (answer.status_code, answer.json()["error"]["message"]) == (
            400,
            "the body is longer than 67108864 bytes, or than what others have left of them",
        )


@every_wire
async def test_a_streamed_answer_that_takes_long_is_begun_before_it_is_known(wire: str) -> None:
    def slow(request: ChatRequest) -> Any:
        async def answer() -> Reply:
            await asyncio.sleep(0.1)
            return BLUE

        return answer()

    async with one_session(Gateway(ScriptedModel(slow), keepalive=0.01)) as session:
        assert await WIRES[wire](session, stream=True) == Heard("Blue, by day.", [], ENDS[wire], (10, 3, 4))
        assert session.log[0].status == 200


async def test_an_answer_that_was_begun_is_accounted_for_when_its_program_hangs_up() -> None:
    go = asyncio.Event()

    async def slow(request: ChatRequest) -> Reply:
        await go.wait()
        return BLUE

    async with one_session(Gateway(ScriptedModel(slow), keepalive=0.01)) as session:
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
        async with (
            httpx2.AsyncClient(base_url=session.url, headers={"api-key": session.key}) as client,
            client.stream("POST", "/v1/chat/completions", json=body) as answer,
        ):
            assert answer.status_code == 200
            assert await anext(answer.aiter_lines()) == ": waiting"
            assert session.pending == 1
        while session.pending:
            await asyncio.sleep(0.001)
        go.set()
        while not session.log:
            await asyncio.sleep(0.001)
        assert session.log[0].status == 499


async def test_nothing_is_left_after_many_sessions() -> None:
    async def many(sessions: int) -> tuple[int, int]:
        """Files and threads that are held afterwards."""
        gateway = Gateway(ScriptedModel(lambda request: "Blue."))
        async with httpx2.AsyncClient() as client:

            async def attempt(seed: int) -> None:
                async with gateway.session(seed=seed) as session:
                    body = {"model": "m", "stream": seed % 2 == 0, "messages": [{"role": "user", "content": "?"}]}
                    address = f"{session.url}/v1/chat/completions"
                    answer = await client.post(address, json=body, headers={"api-key": session.key})
                    assert answer.status_code == 200
                    assert "chatcmpl" in answer.text

            for start in range(0, sessions, 10):
                await asyncio.gather(*map(attempt, range(start, start + 10)))
        await gateway.aclose()
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0.01)
        return len(os.listdir("/dev/fd")), threading.active_count()

    assert await many(10) == await many(100)


def test_a_gateway_starts_afresh_in_another_event_loop() -> None:
    gateway = Gateway(ScriptedModel(lambda request: "Blue."))

    async def ask(close: bool) -> str:
        async with gateway.session(seed=0) as session:
            heard = await chat(session)
        if close:
            await gateway.aclose()
        return heard.text

    assert asyncio.run(ask(close=False)) == "Blue."
    assert asyncio.run(ask(close=False)) == "Blue."
    assert asyncio.run(ask(close=True)) == "Blue."
    assert asyncio.run(ask(close=True)) == "Blue."


def test_without_the_server_packages_the_error_says_what_to_install() -> None:
    code = (
        "import asyncio, sys\n"
        "from etude.gateway import Gateway\n"
        "from etude.errors import ConfigError, install_command\n"
        "from etude.testing import ScriptedModel\n"
        "assert not {'starlette', 'uvicorn'} & set(sys.modules)\n"
        "sys.modules['uvicorn'] = None\n"
        "async def ask():\n"
        "    async with Gateway(ScriptedModel([])).session(seed=0):\n"
        "        raise AssertionError\n"
        "try:\n"
        "    asyncio.run(ask())\n"
        "except ConfigError as error:\n"
        "    assert error.message.startswith('the gateway of agent programs needs starlette and uvicorn')\n"
        "    assert error.hint == install_command('agents')\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)
