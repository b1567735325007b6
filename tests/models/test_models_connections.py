"""What goes over the wire beside the request itself: repeats of several at once, redirects, signs of life."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from models_doubles import Heard, Server, http

from etude.config import ModelSection
from etude.errors import RejectedRole
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
