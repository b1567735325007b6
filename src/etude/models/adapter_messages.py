"""Requests and replies in the words of pydantic-ai."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from etude.formats.base import finish_of, has_picture, usage_of
from etude.formats.events import encodable
from etude.records import ChatRequest, ImagePart, Message, Reply, ToolCall

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import ModelRequestParameters


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
    return ModelResponse(parts=[*said, *calls])


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
    """The texts and calls of a response. What the model thought is left out."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    calls = tuple(
        ToolCall(id=part.tool_call_id, name=encodable(part.tool_name), arguments=encodable(part.args_as_json_str()))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    reason = response.finish_reason
    return Reply(
        text=encodable("".join(part.content for part in response.parts if isinstance(part, TextPart))),
        tool_calls=calls,
        finish=finish_of(calls, refused=reason == "content_filter", cut=reason == "length"),
        usage=usage_of(response.usage.input_tokens, response.usage.output_tokens, response.usage.cache_read_tokens),
        simulated=re.match(r"[a-z]+[-_]simulated[-_]", response.provider_response_id or "") is not None,
    )
