"""What goes over the wire beside the request itself: repeats of several at once, redirects, signs of life."""

import asyncio
from typing import Any

from models_doubles import Heard, Server, http

from etude.config import ModelSection
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
