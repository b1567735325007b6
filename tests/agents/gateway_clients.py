"""Clients of all formats, each asking the gateway the same things: the real ones, and the requests of Google's."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2
import pytest

from etude.gateway import Gateway, GatewaySession
from later import anthropic, openai

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
QUESTION = "Which colour has the sky?"


class Heard(NamedTuple):
    """What came back, whatever the format."""

    text: str
    calls: list[tuple[str, str, Any]]
    finish: str
    tokens: tuple[int, int, int]
    """Input, cached input and output."""


Ask = Callable[..., Awaitable[Heard]]


async def chat(session: GatewaySession, *, stream: bool = False, tools: bool = False, retries: int = 0) -> Heard:
    given: dict[str, Any] = {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    }
    if tools:
        given["tools"] = [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}]
    async with openai.AsyncOpenAI(base_url=f"{session.url}/v1", api_key=session.key, max_retries=retries) as client:
        if stream:
            options = {"include_usage": True}
            async with client.chat.completions.stream(model="any", stream_options=options, **given) as events:
                reply: Any = await events.get_final_completion()
        else:
            reply = await client.chat.completions.create(model="any", **given)
    message = reply.choices[0].message
    calls = [(one.id, one.function.name, json.loads(one.function.arguments)) for one in message.tool_calls or ()]
    used = reply.usage
    tokens = (used.prompt_tokens, used.prompt_tokens_details.cached_tokens, used.completion_tokens)
    return Heard(message.content or "", calls, reply.choices[0].finish_reason, tokens)


async def responses(session: GatewaySession, *, stream: bool = False, tools: bool = False, retries: int = 0) -> Heard:
    given: dict[str, Any] = {"instructions": "Be brief.", "input": QUESTION}
    if tools:
        given["tools"] = [{"type": "function", "name": "bash", "parameters": SCHEMA, "strict": False}]
    async with openai.AsyncOpenAI(base_url=f"{session.url}/v1", api_key=session.key, max_retries=retries) as client:
        if stream:
            async with client.responses.stream(model="any", **given) as events:
                reply: Any = await events.get_final_response()
        else:
            reply = await client.responses.create(model="any", **given)
    calls = [
        (one.call_id, one.name, json.loads(one.arguments)) for one in reply.output if one.type == "function_call"
    ]
    why = reply.incomplete_details.reason if reply.incomplete_details else reply.status
    used = reply.usage
    tokens = (used.input_tokens, used.input_tokens_details.cached_tokens, used.output_tokens)
    return Heard(reply.output_text, calls, why, tokens)


async def messages(session: GatewaySession, *, stream: bool = False, tools: bool = False, retries: int = 0) -> Heard:
    given: dict[str, Any] = {
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": QUESTION}],
    }
    if tools:
        given["tools"] = [{"name": "bash", "input_schema": SCHEMA}]
    async with anthropic.AsyncAnthropic(base_url=session.url, api_key=session.key, max_retries=retries) as client:
        if stream:
            async with client.messages.stream(model="any", **given) as events:
                reply: Any = await events.get_final_message()
        else:
            reply = await client.messages.create(model="any", **given)
    text = "".join(block.text for block in reply.content if block.type == "text")
    calls = [(block.id, block.name, block.input) for block in reply.content if block.type == "tool_use"]
    used = reply.usage
    tokens = (used.input_tokens + used.cache_read_input_tokens, used.cache_read_input_tokens, used.output_tokens)
    return Heard(text, calls, reply.stop_reason, tokens)


class GeminiError(Exception):
    """A refusal."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status_code = status


async def gemini(session: GatewaySession, *, stream: bool = False, tools: bool = False, retries: int = 0) -> Heard:
    del retries
    given: dict[str, Any] = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
    }
    if tools:
        given["tools"] = [{"functionDeclarations": [{"name": "bash", "parametersJsonSchema": SCHEMA}]}]
    path = f"/v1beta/models/any:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"
    async with httpx2.AsyncClient(base_url=session.url, headers={"x-goog-api-key": session.key}) as client:
        answer = await client.post(path, json=given, timeout=60)
    if answer.status_code != 200:
        raise GeminiError(answer.status_code, answer.text)
    bodies = answer.text.strip().split("\n\n") if stream else [answer.text]
    chunks: list[Any] = []
    for body in bodies:
        if stream and not body.startswith("data: "):
            raise GeminiError(json.loads(body)["error"]["code"], body)
        chunks.append(json.loads(body.removeprefix("data: ")))
    parts = [part for chunk in chunks for each in chunk.get("candidates", ()) for part in each["content"]["parts"]]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    used = chunks[-1]["usageMetadata"]
    return Heard(
        "".join(part.get("text", "") for part in parts),
        [(call["id"], call["name"], call["args"]) for call in calls],
        chunks[-1]["candidates"][0]["finishReason"],
        (used["promptTokenCount"], used["cachedContentTokenCount"], used["candidatesTokenCount"]),
    )


def refusals() -> tuple[type[Exception], ...]:
    return openai.BadRequestError, anthropic.BadRequestError, GeminiError


WIRES: dict[str, Ask] = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini}
every_wire = pytest.mark.parametrize("wire", list(WIRES))
plain_or_streamed = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


@asynccontextmanager
async def one_session(gateway: Gateway, seed: int = 0, calls: int | None = None) -> AsyncIterator[GatewaySession]:
    """A session of a gateway that is closed afterwards."""
    try:
        async with gateway.session(seed=seed, calls=calls) as session:
            yield session
    finally:
        await gateway.aclose()
