"""Anthropic's Messages on the wire: a request as its body, a body as a reply."""

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from pydantic import BaseModel, Field

from etude.config import ModelSection, merge
from etude.models.server_errors import error_within
from etude.models.server_events import encodable, is_streamed, read_events
from etude.records import ChatRequest, ImagePart, Message, Reply, TextPart, Tool, ToolCall, Usage

LARGE = 4000
"""Characters, or about 1,000 tokens, below which nothing is kept in the cache: they count from the beginning."""
MOST_TEXTS = 2
"""Texts that are marked beside the system's; four marks are allowed in all."""
_CACHED = {"cache_control": {"type": "ephemeral"}}


def request_body(
    request: ChatRequest, settings: ModelSection, native: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """All fields of the body but `model`, `max_tokens` and `messages`.

    Args:
        native: a JSON schema in the form that the server takes.
    """
    body: dict[str, Any] = {"temperature": settings.temperature, "top_p": settings.top_p}
    body = {key: value for key, value in body.items() if value is not None}
    if blocks := _system(request.messages):
        body["system"] = blocks
    output: dict[str, Any] = {}
    if settings.reasoning_effort is not None:
        output["effort"] = settings.reasoning_effort
    if request.response_schema is not None:
        output["format"] = {"type": "json_schema", "schema": native(dict(request.response_schema.body))}
    if output:
        body["output_config"] = output
    if settings.thinking is not None:
        body["thinking"] = {"type": "adaptive" if settings.thinking == "on" else "disabled"}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.forced_tool is not None:
        body["tool_choice"] = {"type": "tool", "name": request.forced_tool, "disable_parallel_tool_use": True}
    if settings.stream:
        body["stream"] = True
    extra = dict(settings.extra_body)
    if "thinking" in extra:  # another kind of thinking has other fields
        body.pop("thinking", None)
    return merge(body, extra)


def _system(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """What the system says. Every attempt of a step begins with it, so that it is worth a place in the cache."""
    texts = [message.text for message in messages if message.role == "system" and message.text.strip()]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    if blocks:
        blocks[-1] |= _CACHED
    return blocks


def wire_messages(request: ChatRequest) -> list[dict[str, Any]]:
    """The `messages` of the body: user and assistant by turns, results of tools among what the user says."""
    turns: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
        turns[-1]["content"] += _blocks(message)
    told = sum(len(message.text) for message in request.messages if message.role == "system")
    _mark_first(turns, told)
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": message.tool_call_id}
        return [{**result, "content": _content(message)}]
    return [*_content(message), *(_use(call) for call in message.tool_calls)]


def _content(message: Message) -> list[dict[str, Any]]:
    """Blank texts are refused, and say nothing."""
    return [
        _picture(part) if isinstance(part, ImagePart) else {"type": "text", "text": part.text}
        for part in message.content
        if not isinstance(part, TextPart) or part.text.strip()
    ]


def _picture(part: ImagePart) -> dict[str, Any]:
    head, _, data = part.url.partition(";base64,")
    if not head.startswith("data:") or not data:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": head.removeprefix("data:"), "data": data}}


def _use(call: ToolCall) -> dict[str, Any]:
    try:
        arguments: Any = json.loads(call.arguments)
    except ValueError:
        arguments = None
    given = cast(dict[str, Any], arguments) if isinstance(arguments, dict) else {}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given}


def _mark_first(turns: list[dict[str, Any]], told: int) -> None:
    """The large texts that open the conversation are kept in the cache, as far as more follows them. Pictures are
    not: writing to the cache costs more than reading saves where each task has pictures of its own.

    Args:
        told: characters that the system says.
    """
    blocks = cast(list[dict[str, Any]], turns[0]["content"]) if turns else []
    for at, block in enumerate(blocks[:MOST_TEXTS]):
        if block["type"] != "text" or (at == len(blocks) - 1 and len(turns) == 1):
            return
        told += len(block["text"])
        if told >= LARGE:
            block |= _CACHED


def _tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


class _Block(BaseModel):
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: Any = None


class _Bill(BaseModel):
    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cache_creation_input_tokens: int | None = Field(default=None, ge=0)
    cache_read_input_tokens: int | None = Field(default=None, ge=0)


class _Message(BaseModel):
    id: str = ""
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Bill = _Bill()


def read_reply(body: bytes) -> Reply:
    """The texts and calls of a message, streamed or not. What the model thought is left out. `input_tokens` counts
    everything: tokens read from the cache, which are `cached_tokens` too, and those written to it.

    Raises:
        ValueError: the body is no JSON, no message, or a stream without an end.
        ServerError: the stream ends with an error.
    """
    streamed = is_streamed(body)
    message = _gathered(read_events(body)) if streamed else _Message.model_validate(json.loads(body))
    calls = tuple(_call(at, block) for at, block in enumerate(message.content) if block.type == "tool_use")
    cut = message.stop_reason in ("max_tokens", "model_context_window_exceeded")
    refused = message.stop_reason == "refusal"
    bill = message.usage
    read = _count(bill.cache_read_input_tokens)
    return Reply(
        text=encodable("".join(block.text for block in message.content if block.type == "text")),
        tool_calls=calls,
        finish="refusal" if refused else "length" if cut else "tool_calls" if calls else "stop",
        usage=Usage(
            input_tokens=_count(bill.input_tokens) + _count(bill.cache_creation_input_tokens) + read,
            output_tokens=_count(bill.output_tokens),
            cached_tokens=read,
        ),
        simulated=message.id.startswith("msg_simulated"),
    )


def _call(at: int, block: _Block) -> ToolCall:
    """Arguments come as an object; as text only where a stream stopped within them."""
    given = block.input
    text = given if isinstance(given, str) else json.dumps({} if given is None else given, ensure_ascii=False)
    return ToolCall(id=block.id or f"call_{at}", name=encodable(block.name), arguments=encodable(text))


def _count(tokens: int | None) -> int:
    return 0 if tokens is None else tokens


class _Delta(BaseModel):
    text: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Event(BaseModel):
    """Each type of event has some of the fields."""

    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block = _Block(type="text")
    delta: _Delta = _Delta()
    usage: _Bill = _Bill()
    error: Any = None


def _gathered(events: Sequence[dict[str, Any]]) -> _Message:
    """The message that a stream builds up. Counts of tokens are totals: the last one holds."""
    message = _Message(content=[])
    blocks: dict[int, _Block] = {}
    written: dict[int, str] = {}
    for event in map(_Event.model_validate, events):
        if event.type == "error":
            raise error_within(event.error)
        if event.type == "message_start" and event.message is not None:
            message = event.message
        elif event.type == "content_block_start":
            blocks[event.index] = event.content_block
        elif event.type == "content_block_delta":
            blocks.setdefault(event.index, event.content_block).text += event.delta.text
            written[event.index] = written.get(event.index, "") + event.delta.partial_json
        elif event.type == "message_delta":
            message.stop_reason = event.delta.stop_reason or message.stop_reason
            message.usage = message.usage.model_copy(update=event.usage.model_dump(exclude_none=True))
        elif event.type == "message_stop":
            for index, text in written.items():
                if text:
                    blocks[index].input = _parsed(text)
            message.content = [blocks[index] for index in sorted(blocks)]
            return message
    raise ValueError("a stream without an end")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
