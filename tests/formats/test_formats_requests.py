"""What is sent to servers: conversations with pictures, calls and results, and the settings."""

from typing import Any

from etude.config import ModelSection
from etude.formats import CHAT, MESSAGES, RESPONSES, Format
from etude.records import (
    ChatRequest,
    ImagePart,
    Message,
    ResponseSchema,
    TextPart,
    Tool,
    ToolCall,
    assistant,
    system,
    user,
)

DATA, LINK = ImagePart(url="data:image/png;base64,AA"), ImagePart(url="https://host/a.png")
CALL, CUT = ToolCall(id="c1", name="look", arguments='{"at": 1}'), ToolCall(id="c2", name="look", arguments="[1")
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
TOOL = Tool(name="look", description="Looks.", parameters=SCHEMA)
CONVERSATION = ChatRequest(
    messages=(
        system("One."),
        Message(role="user", content=(TextPart(text="What?"), DATA, LINK)),
        Message(role="assistant", tool_calls=(CALL, CUT)),
        Message(role="tool", content=(TextPart(text="a cat"),), tool_call_id="c1"),
        Message(role="tool", tool_call_id="c2"),
        user("So?"),
        assistant("A cat."),
        system("Two."),
    ),
    tools=(TOOL,),
    forced_tool="look",
)


def written(form: Format, request: ChatRequest, **settings: Any) -> dict[str, Any]:
    return form.write_request("m", request, ModelSection(model="openai:m", **settings))


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_a_conversation_in_chat_completions() -> None:
    pictures = [{"type": "image_url", "image_url": {"url": part.url}} for part in (DATA, LINK)]
    functions = [{"name": call.name, "arguments": call.arguments} for call in (CALL, CUT)]
    calls = [{"id": id, "type": "function", "function": one} for id, one in zip(("c1", "c2"), functions, strict=True)]
    body = written(CHAT, CONVERSATION)
    assert body["messages"] == [
        {"role": "system", "content": "One."},
        {"role": "user", "content": [text("What?"), *pictures]},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "a cat", "tool_call_id": "c1"},
        {"role": "tool", "content": "", "tool_call_id": "c2"},
        {"role": "user", "content": "So?"},
        {"role": "assistant", "content": "A cat."},
        {"role": "system", "content": "Two."},
    ]
    function = {"name": "look", "description": "Looks.", "parameters": SCHEMA}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "look"}}


def test_a_conversation_in_responses_has_items_side_by_side() -> None:
    pictures = [{"type": "input_image", "image_url": part.url} for part in (DATA, LINK)]
    body = written(RESPONSES, CONVERSATION)
    assert body["input"] == [
        {"role": "system", "content": "One."},
        {"role": "user", "content": [{"type": "input_text", "text": "What?"}, *pictures]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": 1}'},
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "[1"},
        {"type": "function_call_output", "call_id": "c1", "output": "a cat"},
        {"type": "function_call_output", "call_id": "c2", "output": ""},
        {"role": "user", "content": "So?"},
        {"role": "assistant", "content": "A cat."},
        {"role": "system", "content": "Two."},
    ]
    tool = {"type": "function", "name": "look", "description": "Looks.", "strict": False, "parameters": SCHEMA}
    assert (body["tools"], body["tool_choice"]) == ([tool], {"type": "function", "name": "look"})
    assert body["include"] == ["reasoning.encrypted_content"]


def test_a_conversation_in_messages_goes_by_turns_without_blank_texts() -> None:
    blank = Message(role="user", content=(TextPart(text=" "), TextPart(text="So?")))
    messages = (*CONVERSATION.messages[:5], blank, *CONVERSATION.messages[6:])
    body = written(MESSAGES, CONVERSATION.model_copy(update={"messages": messages}))
    assert body["system"] == [text("One."), {**text("Two."), "cache_control": {"type": "ephemeral"}}]
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    linked = {"type": "image", "source": {"type": "url", "url": "https://host/a.png"}}
    calls = [{"type": "tool_use", "id": id, "name": "look"} for id in ("c1", "c2")]
    results = [{"type": "tool_result", "tool_use_id": id} for id in ("c1", "c2")]
    assert body["messages"] == [
        {"role": "user", "content": [text("What?"), picture, linked]},
        {"role": "assistant", "content": [{**calls[0], "input": {"at": 1}}, {**calls[1], "input": {}}]},
        {
            "role": "user",
            "content": [{**results[0], "content": [text("a cat")]}, {**results[1], "content": []}, text("So?")],
        },
        {"role": "assistant", "content": [text("A cat.")]},
    ]
    assert body["tools"] == [{"name": "look", "description": "Looks.", "input_schema": SCHEMA}]
    assert body["tool_choice"] == {"type": "tool", "name": "look", "disable_parallel_tool_use": True}


def test_every_setting_is_sent_and_fields_of_the_users_own_are_merged() -> None:
    asked = {"seed": 7, "response_schema": ResponseSchema(name="A", body={"type": "object"})}
    request = ChatRequest(messages=(user("x"),)).model_copy(update=asked)
    given: dict[str, Any] = {"temperature": 0, "top_p": 0.5, "max_output_tokens": 9, "stream": True}
    given["reasoning_effort"] = "low"
    body = written(RESPONSES, request, **given, extra_body={"text": {"verbosity": "low"}, "store": True})
    form = {"type": "json_schema", "name": "A", "schema": {"type": "object"}, "strict": True}
    assert body == {
        "model": "m",
        "input": [{"role": "user", "content": "x"}],
        "temperature": 0,
        "top_p": 0.5,
        "max_output_tokens": 9,
        "reasoning": {"effort": "low"},
        "stream": True,
        "store": True,
        "text": {"format": form, "verbosity": "low"},
    }
    body = written(CHAT, request, **given, thinking="off", extra_body={"user": "u"})
    sent = {"model": "m", "messages": [{"role": "user", "content": "x"}], "seed": 7, "max_tokens": 9, "user": "u"}
    schema = {"type": "json_schema", "json_schema": {"name": "A", "schema": {"type": "object"}, "strict": True}}
    sent |= {"response_format": schema, "chat_template_kwargs": {"enable_thinking": False}}
    sent |= {"stream": True, "stream_options": {"include_usage": True}}
    assert body == {**sent, "temperature": 0, "top_p": 0.5, "reasoning_effort": "low"}


def test_thinking_of_messages_is_adaptive_unless_a_budget_is_given() -> None:
    request = ChatRequest(messages=(user("x"),))
    budget = {"type": "enabled", "budget_tokens": 2000}
    assert written(MESSAGES, request, thinking="on")["thinking"] == {"type": "adaptive"}
    assert written(MESSAGES, request, thinking="on", extra_body={"thinking": budget})["thinking"] == budget


def test_limits_of_a_schema_become_words_of_its_descriptions_in_messages() -> None:
    score = {"type": "number", "description": "How good.", "minimum": 0, "maximum": 1}
    names = {"type": "array", "items": {"oneOf": [{"type": "string", "pattern": "a+"}, {"type": "null"}]}}
    body: Any = {"type": "object", "properties": {"score": score, "minimum": names}, "additionalProperties": False}
    request = ChatRequest(messages=(user("x"),), response_schema=ResponseSchema(name="a", body=body))
    options = [{"type": "string", "description": "{pattern: a+}"}, {"type": "null"}]
    assert written(MESSAGES, request)["output_config"]["format"]["schema"] == {
        "type": "object",
        "properties": {
            "score": {"type": "number", "description": "How good. {minimum: 0, maximum: 1}"},
            "minimum": {"type": "array", "items": {"anyOf": options}},
        },
        "additionalProperties": False,
    }


def test_a_schema_goes_to_messages_as_the_server_takes_it() -> None:
    inner: Any = {"type": ["object", "null"], "properties": {"at": {"type": "string", "format": "date"}}}
    body: Any = {
        "type": "object",
        "additionalProperties": True,
        "properties": {
            "some": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/inner", "description": "One."}},
            "many": {"type": "array", "minItems": 2, "items": {"type": "object"}},
            "like": {"type": "string", "format": "regex"},
        },
        "required": ["some"],
        "$defs": {"inner": inner},
    }
    request = ChatRequest(messages=(user("x"),), response_schema=ResponseSchema(name="a", body=body))
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    assert written(MESSAGES, request)["output_config"]["format"]["schema"] == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "some": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/inner"}},
            "many": {"type": "array", "description": "{minItems: 2}", "items": closed},
            "like": {"type": "string", "description": "{format: regex}"},
        },
        "required": ["some"],
        "$defs": {"inner": {**inner, "additionalProperties": False}},
    }
