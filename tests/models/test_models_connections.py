"""What goes over the wire beside the request itself: repeats of several at once, redirects, signs of life."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from models_doubles import Heard, Server, http

from etude.config import ModelSection
from etude.errors import RejectedRequest, RejectedRole
from etude.models import build_model
from etude.records import ChatRequest, Message, Opaque, TextPart, user

HELLO = ChatRequest(messages=(user("Hello"),))
ANSWER = http(200, {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})


def a_model(server: Server, **settings: Any) -> Any:
    given = {"model": "openai:m", "base_url": server.url, "api_key_env": "NO_SUCH_KEY", "timeout": 30, **settings}
    return build_model(ModelSection(**given))


async def test_requests_that_are_refused_together_are_all_sent_again(server: Server):
    def refusing(heard: Heard) -> bytes:
        thought = "reasoning_content" in str(heard.body["messages"])
        return http(400, {"error": {"message": "Unsupported: reasoning_content"}}) if thought else ANSWER

    server.script = [refusing]
    model = a_model(server)
    kept = Opaque.model_validate({"format": "chat", "data": {"fields": {"reasoning_content": "Hm."}}})
    turn = Message(role="assistant", content=(TextPart(text="Hi"),), opaque=kept)
    request = ChatRequest(messages=(user("Hello"), turn, user("Go on")))
    replies = await asyncio.gather(*(model.complete(request) for _ in range(5)))
    await model.aclose()
    assert [reply.text for reply in replies] == ["x"] * 5


@pytest.fixture
async def other() -> AsyncIterator[Server]:
    """Another server."""
    server = Server([ANSWER])
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    yield server
    listener.close()
    await listener.wait_closed()


KINDS: list[dict[str, Any]] = [{"model": "openai:m"}, {"model": "openai:m", "query": "?api-version=1"}]
KINDS += [{"model": "anthropic:m"}, {"model": "openai:m", "headers": {"X-Gateway-Key": "secret"}}]


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("status", [302, 307, 308])
async def test_a_redirect_to_another_server_is_not_followed(
    server: Server, other: Server, settings: dict[str, Any], status: int
):
    path = "/messages" if settings["model"] == "anthropic:m" else "/chat/completions"
    server.script = [http(status, {}, Location=f"{other.url}/v2{path}?token=secret")]
    settings = {**settings}
    query = settings.pop("query", "")
    model = a_model(server, base_url=server.url + query, **settings)
    with pytest.raises(RejectedRole) as caught:
        await model.complete(HELLO)
    await model.aclose()
    assert other.heard == []
    assert str(caught.value) == (
        f"{server.url} sends requests on to another server, {other.url}/v2{path}\n"
        f"hint: set base_url: {other.url}/v2, where that is the server that is meant"
    )


async def test_a_redirect_within_the_server_is_followed(server: Server):
    server.script = [http(307, {}, Location="/v2/chat/completions"), ANSWER]
    model = a_model(server)
    assert (await model.complete(HELLO)).text == "x"
    await model.aclose()
    assert [heard.path for heard in server.heard] == ["/v1/chat/completions", "/v2/chat/completions"]
    assert len({heard.headers["authorization"] for heard in server.heard}) == 1


async def test_a_silent_connection_is_kept_alive(server: Server, monkeypatch: pytest.MonkeyPatch):
    asked: set[Any] = set()
    set_option = socket.socket.setsockopt

    def setsockopt(self: socket.socket, *option: Any) -> None:
        asked.add(option)
        set_option(self, *option)

    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(socket.socket, "setsockopt", setsockopt)
    server.script = [ANSWER]
    model = a_model(server)
    await model.complete(HELLO)
    await model.aclose()
    assert (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1) in asked
    assert any(level == socket.IPPROTO_TCP and value == 60 for level, _, value in asked)


@pytest.mark.parametrize("variable", ["http_proxy", "all_proxy"])
async def test_a_proxy_of_the_environment_is_used(server: Server, monkeypatch: pytest.MonkeyPatch, variable: str):
    monkeypatch.setenv(variable, server.url)
    server.script = [ANSWER]
    model = a_model(server, base_url="http://no-such-host.invalid/v1")
    assert (await model.complete(HELLO)).text == "x"
    await model.aclose()
    assert server.heard[0].path == "http://no-such-host.invalid/v1/chat/completions"


async def test_a_redirect_to_nowhere_is_no_answer(server: Server):
    for status in (300, 304, 307):
        server.script = [http(status, {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})]
        model = a_model(server)
        with pytest.raises(RejectedRequest, match=f"HTTP {status}"):
            await model.complete(HELLO)
        await model.aclose()


async def test_the_version_of_messages_is_sent(server: Server):
    server.script = [http(200, {"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"})]
    for headers in ({}, {"anthropic-version": "2023-06-01"}):
        model = a_model(server, model="anthropic:m", headers=headers)
        await model.complete(HELLO)
        await model.aclose()
    assert [heard.headers["anthropic-version"] for heard in server.heard] == ["2026-10-21", "2023-06-01"]
