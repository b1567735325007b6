"""Requests and replies in the words of pydantic-ai."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from etude.formats.endings import ending_of
from etude.formats.events import encodable
from etude.formats.opaque import data_of, opaque
from etude.formats.wire import finish_of, has_picture
from etude.records import ChatRequest, ImagePart, Message, Opaque, Reply, ToolCall, Usage

_FORM = "pydantic-ai"

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.usage import RequestUsage


def model_messages(request: ChatRequest) -> list["ModelMessage"]:
    """The conversation. What the system says becomes the instructions, which providers with a cache keep in it."""
    from pydantic_ai.messages import ModelRequest

    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    turns: list[ModelMessage] = []
    for message in request.messages:
        if message.role == "system":
            continue
        if message.role == "assistant":
            turns.append(_response(message))
        elif turns and isinstance(turns[-1], ModelRequest):
            turns[-1] = ModelRequest(parts=[*turns[-1].parts, _part(message, names)])
        else:
            turns.append(ModelRequest(parts=[_part(message, names)]))
    instructions = "\n\n".join(message.text for message in request.messages if message.role == "system")
    if instructions:
        last = next((turn for turn in reversed(turns) if isinstance(turn, ModelRequest)), None)
        if last is None:
            turns.append(ModelRequest(parts=[], instructions=instructions))
        else:
            last.instructions = instructions
    return turns


def _response(message: Message) -> "ModelResponse":
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

    said = [TextPart(message.text)] if message.text.strip() else []
    calls = [ToolCallPart(call.name, call.arguments, call.id) for call in message.tool_calls]
    kept = data_of(message, _FORM)
    return ModelResponse(parts=[*said, *calls]) if kept is None else _with_calls(kept, calls)


def _with_calls(kept: Any, calls: list["ToolCallPart"]) -> "ModelResponse":
    """The response as it came. Its calls have the ids and the names that they have in the conversation."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolCallPart

    (response,) = ModelMessagesTypeAdapter.validate_python([kept])
    given = iter(calls)
    parts = [
        replace(part, tool_name=call.tool_name, tool_call_id=call.tool_call_id)
        if isinstance(part, ToolCallPart) and (call := next(given, None)) is not None
        else part
        for part in response.parts
    ]
    return replace(cast("ModelResponse", response), parts=parts)


def _part(message: Message, names: Mapping[str, str]) -> Any:
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart

    if message.role == "tool":
        called = message.tool_call_id or ""
        return ToolReturnPart(names.get(called, "tool"), message.text, called)
    return UserPromptPart(_content(message) if has_picture(message) else message.text)


def _content(message: Message) -> list[Any]:
    from pydantic_ai.messages import BinaryContent, ImageUrl

    content: list[Any] = []
    for part in message.content:
        if not isinstance(part, ImagePart):
            content.append(part.text)
        elif part.url.startswith("data:"):
            content.append(BinaryContent.from_data_uri(part.url))
        else:
            content.append(ImageUrl(part.url))
    return content


def parameters(request: ChatRequest) -> "ModelRequestParameters":
    """Tools and the wanted form of the reply."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    tools = [
        ToolDefinition(name=tool.name, parameters_json_schema=dict(tool.parameters), description=tool.description)
        for tool in request.tools
    ]
    if request.response_schema is None:
        return ModelRequestParameters(function_tools=tools)
    form = OutputObjectDefinition(
        json_schema=dict(request.response_schema.body), name=request.response_schema.name, strict=True
    )
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=form)


def read_reply(response: "ModelResponse") -> Reply:
    """The texts and calls of a response; the whole of it is kept where it has more. Raises TransientError: it did not
    end well."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    calls = tuple(
        ToolCall(id=part.tool_call_id, name=encodable(part.tool_name), arguments=encodable(part.args_as_json_str()))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    usage = _usage(response.usage)
    reason = (response.provider_details or {}).get("finish_reason") if response.finish_reason == "error" else None
    return Reply(
        text=encodable("".join(part.content for part in response.parts if isinstance(part, TextPart))),
        tool_calls=calls,
        finish=finish_of(calls, ending_of(reason or response.finish_reason, usage)),
        usage=usage,
        simulated=re.match(r"[a-z]+[-_]simulated[-_]", response.provider_response_id or "") is not None,
        opaque=_kept(response),
    )


def _usage(bill: "RequestUsage") -> Usage:
    """Counts of the cache are part of the input, and thoughts of the output; some versions leave thoughts out."""
    thought = getattr(bill, "output_reasoning_tokens", 0) or bill.details.get("reasoning_tokens", 0)
    return Usage(
        input_tokens=max(bill.input_tokens, bill.cache_read_tokens + bill.cache_write_tokens),
        output_tokens=bill.output_tokens + (thought if thought > bill.output_tokens else 0),
        cached_tokens=bill.cache_read_tokens,
        written_tokens=bill.cache_write_tokens,
        hour_tokens=min(getattr(bill, "cache_write_1h_tokens", 0), bill.cache_write_tokens),
    )


def _kept(response: "ModelResponse") -> Opaque | None:
    """The parts of a response that has thoughts, signatures or anything else besides texts and calls."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, TextPart, ToolCallPart

    plain = all(isinstance(part, TextPart | ToolCallPart) and not part.provider_details for part in response.parts)
    if plain:
        return None
    (data,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    names = ("kind", "parts", "provider_name", "provider_details", "model_name")
    return opaque(_FORM, {name: data[name] for name in names if name in data})
