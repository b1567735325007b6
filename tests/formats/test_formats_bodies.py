"""Bodies as agent programs send them: of each kind of block, item and tool, what is kept and what is left out."""

import json
from typing import Any

import pytest

from etude.formats import CHAT, MESSAGES, RESPONSES, BadBody, Format, estimate, with_field
from etude.records import ImagePart, Message, Opaque, Reply, TextPart, Tool, ToolCall, assistant, system, user
from rows import rows

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}
PICTURE = "data:image/png;base64,AA"


def read(wire: Format, body: Any) -> Any:
    return wire.read_request(json.dumps(body).encode(), None)


def tool_result(call: str, *texts: str) -> Message:
    return Message(role="tool", tool_call_id=call, content=tuple(TextPart(text=text) for text in texts))


def calling(*calls: tuple[str, str, str], text: str = "", opaque: Opaque | None = None) -> Message:
    return Message(
        role="assistant",
        opaque=opaque,
        content=(TextPart(text=text),) if text else (),
        tool_calls=tuple(ToolCall(id=id, name=name, arguments=arguments) for id, name, arguments in calls),
    )


RESPONSES_BODY: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "instructions": "Base.",
    "input": [
        {"type": "message", "id": "m1", "role": "developer", "content": [{"type": "input_text", "text": "# Skill"}]},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look."},
                {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
                {"type": "input_file", "file_id": "f1"},
            ],
        },
        {"type": "reasoning", "id": "r", "summary": [], "content": None, "encrypted_content": "x"},
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc",
            "call_id": "c1",
            "name": "exec",
            "arguments": "{}",
            "status": "completed",
        },
        {"type": "function_call", "call_id": "c2", "name": "exec", "arguments": '{"cmd": "ls"}', "namespace": None},
        {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "b"}, {"type": "input_image", "image_url": PICTURE}],
        },
        {"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "c3", "output": {"ok": True}},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "message", "role": "assistant", "content": []},
        {"type": "message", "role": "user", "content": "Go on."},
    ],
    "tools": [
        {"type": "function", "name": "exec", "description": "Runs.", "strict": False, "parameters": SCHEMA},
        {"type": "function", "name": "goal", "description": None, "parameters": None},
        {"type": "namespace", "name": "agents", "tools": [{"type": "function", "name": "spawn", "parameters": {}}]},
        {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": ""}},
        {"type": "web_search", "external_web_access": True},
        {"type": "local_shell"},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"summary": "auto"},
    "text": {"verbosity": "low"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "k",
    "client_metadata": {"a": "b"},
}


def test_items_of_responses() -> None:
    call = read(RESPONSES, RESPONSES_BODY)
    assert (call.named, call.stream, call.most_tokens) == ("m", True, None)
    assert call.request.messages == (
        system("Base."),
        system("# Skill"),
        Message(role="user", content=(TextPart(text="Look."), ImagePart(url=PICTURE))),
        calling(
            ("c1", "exec", "{}"),
            ("c2", "exec", '{"cmd": "ls"}'),
            text="I look.",
            opaque=Opaque(
                format="responses",
                data=[{"item": RESPONSES_BODY["input"][2]}, {"chars": 7}, {"call": True}, {"call": True}],
            ),
        ),
        tool_result("c1", "a.txt"),
        Message(role="tool", tool_call_id="c2", content=(TextPart(text="b"), ImagePart(url=PICTURE))),
        calling(("c3", "apply_patch", '{"input": "*** Begin"}')),
        tool_result("c3", '{"ok": true}'),
        user("Go on."),
    )
    assert call.request.tools == (
        Tool(name="exec", description="Runs.", parameters=SCHEMA),
        Tool(name="goal", parameters={}),
    )
    assert call.request.forced_tool is None


def test_tools_of_mcp_servers_keep_their_namespace() -> None:
    function = {"type": "function", "name": "plan", "parameters": SCHEMA}
    body = {
        "model": "m",
        "input": [
            {"role": "user", "content": "Plan it."},
            {"type": "function_call", "call_id": "c1", "name": "plan", "namespace": "mcp__etude", "arguments": "{}"},
        ],
        "tools": [{"type": "namespace", "name": "mcp__etude", "tools": [function]}],
    }
    call = read(RESPONSES, body)
    assert call.request.tools == (Tool(name="mcp__etude__plan", parameters=SCHEMA),)
    assert call.request.messages[-1] == calling(("c1", "mcp__etude__plan", "{}"))
    asked = ToolCall(id="c2", name="mcp__etude__plan", arguments="{}")
    item = json.loads(RESPONSES.write_reply(call, Reply(tool_calls=(asked,), finish="tool_calls")))["output"][0]
    assert (item["name"], item["namespace"]) == ("plan", "mcp__etude")


MESSAGES_BODY: dict[str, Any] = {
    "model": "m",
    "max_tokens": 32000,
    "stream": True,
    "system": [
        {"type": "text", "text": "Billing."},
        {"type": "text", "text": "# Skill", "cache_control": {"type": "ephemeral"}},
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<system-reminder>"},
                {"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
                {"type": "image", "source": {"type": "file", "file_id": "f1"}},
                {
                    "type": "document",
                    "title": "t",
                    "source": {"type": "text", "data": "Text.", "media_type": "text/plain"},
                },
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "I look."},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]},
                {
                    "type": "tool_use",
                    "id": "c1",
                    "name": "Bash",
                    "input": {"cmd": "ls"},
                    "caller": {"type": "direct"},
                },
                {"type": "tool_use", "id": "c2", "name": "ToolSearch", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt", "is_error": False},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [
                        {"type": "tool_reference", "tool_name": "Fetch"},
                        {"type": "search_result", "source": "s", "title": "t", "content": []},
                        {"type": "image", "source": {"type": "url", "url": "https://host/a.png"}},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "c3", "content": {"odd": 1}},
                {"type": "tool_result", "tool_use_id": "c4"},
                {"type": "text", "text": "Go on."},
            ],
        },
        {"role": "system", "content": "A word between."},
    ],
    "tools": [
        {"name": "Bash", "description": "Runs.", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}},
        {"name": "Fetch", "input_schema": SCHEMA, "defer_loading": True},
        {"name": "Later", "input_schema": SCHEMA, "defer_loading": True},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
        {"type": "custom", "name": "Skill", "description": None, "input_schema": SCHEMA},
    ],
    "metadata": {"user_id": "u"},
    "thinking": {"type": "enabled", "budget_tokens": 31999, "display": "omitted"},
    "context_management": {"edits": [{"type": "clear_thinking", "keep": "all"}]},
}


_SAID = MESSAGES_BODY["messages"][1]["content"]
THOUGHT = Opaque(
    format="messages",
    data=[
        {"item": _SAID[0]},
        {"item": _SAID[1]},
        {"chars": 7},
        {"item": _SAID[3]},
        {"item": _SAID[4]},
        {"call": True, "more": {"caller": {"type": "direct"}}},
        {"call": True},
    ],
)


def test_blocks_of_messages() -> None:
    call = read(MESSAGES, MESSAGES_BODY)
    assert (call.named, call.stream, call.most_tokens) == ("m", True, 32000)
    assert call.request.messages == (
        Message(role="system", content=(TextPart(text="Billing."), TextPart(text="# Skill"))),
        Message(
            role="user",
            content=(
                TextPart(text="<system-reminder>"),
                TextPart(text="Look."),
                ImagePart(url=PICTURE),
                TextPart(text="Text."),
                TextPart(text="[document: application/pdf]"),
            ),
        ),
        calling(("c1", "Bash", '{"cmd": "ls"}'), ("c2", "ToolSearch", "{}"), text="I look.", opaque=THOUGHT),
        tool_result("c1", "a.txt"),
        Message(
            role="tool",
            tool_call_id="c2",
            content=(TextPart(text="[tool: Fetch]"), ImagePart(url="https://host/a.png")),
        ),
        tool_result("c3", '{"odd": 1}'),
        tool_result("c4"),
        user("Go on."),
        system("A word between."),
    )
    assert [tool.name for tool in call.request.tools] == ["Bash", "Fetch", "Skill"]


CHAT_BODY = {
    "model": "m",
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_completion_tokens": 4000,
    "store": False,
    "reasoning_effort": "low",
    "messages": [
        {"role": "developer", "content": "# Skill"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "image_url", "image_url": {"url": PICTURE}},
                {"type": "image_url", "image_url": "https://host/a.png"},
                {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
            ],
        },
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "Hm.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"cmd": "ls"}'}},
                {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": {"cmd": "ls"}}},
                {"id": "c3", "type": "custom", "custom": {"name": "patch", "input": "x"}},
                {"id": "c4", "type": "unknown"},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "b"}]},
        {"role": "tool", "tool_call_id": "c3", "content": None},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "bash", "description": "Runs.", "parameters": SCHEMA, "strict": False},
        },
        {"type": "function", "function": {"name": "now", "parameters": None}},
        {"type": "custom", "custom": {"name": "patch"}},
    ],
    "tool_choice": "auto",
}


def test_messages_of_chat_completions() -> None:
    call = read(CHAT, CHAT_BODY)
    assert (call.named, call.stream, call.stream_usage, call.most_tokens) == ("m", True, True, 4000)
    assert call.request.messages == (
        system("# Skill"),
        Message(
            role="user", content=(TextPart(text="Look."), ImagePart(url=PICTURE), ImagePart(url="https://host/a.png"))
        ),
        calling(
            ("c1", "bash", '{"cmd": "ls"}'),
            ("c2", "bash", '{"cmd": "ls"}'),
            ("c3", "patch", '{"input": "x"}'),
            opaque=Opaque(format="chat", data={"fields": {"reasoning_content": "Hm."}}),
        ),
        tool_result("c1", "a.txt"),
        tool_result("c2", "b"),
        tool_result("c3"),
        assistant("No."),
    )
    assert call.request.tools == (
        Tool(name="bash", description="Runs.", parameters=SCHEMA),
        Tool(name="now", parameters={}),
    )


def chosen(wire: Format, choice: Any, tools: int) -> tuple[int, str | None]:
    """Tools offered and the forced one, with `bash` and further tools."""
    names = ["bash", *(f"other{at}" for at in range(tools - 1))]
    body: dict[str, Any] = {"model": "m", "max_tokens": 9, "tool_choice": choice}
    if wire is RESPONSES:
        body |= {"input": "x", "tools": [{"type": "function", "name": name, "parameters": SCHEMA} for name in names]}
    else:
        body["messages"] = [{"role": "user", "content": "x"}]
        body["tools"] = [{"name": name, "input_schema": SCHEMA} for name in names]
    if wire is CHAT:
        body["tools"] = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in names]
    request = read(wire, body).request
    return len(request.tools), request.forced_tool


@pytest.mark.parametrize(
    ("wire", "any_tool", "named", "none"),
    [
        (CHAT, "required", {"type": "function", "function": {"name": "bash"}}, "none"),
        (RESPONSES, "required", {"type": "function", "name": "bash"}, "none"),
        (MESSAGES, {"type": "any"}, {"type": "tool", "name": "bash"}, {"type": "none"}),
    ],
    ids=["chat", "responses", "messages"],
)
def test_a_choice_of_tools_forces_the_one_that_is_left(wire: Format, any_tool: Any, named: Any, none: Any) -> None:
    assert chosen(wire, any_tool, 1) == (1, "bash")
    assert chosen(wire, any_tool, 2) == (2, None)
    assert chosen(wire, named, 2) == (2, "bash")
    assert chosen(wire, none, 2) == (0, None)


def test_a_choice_among_tools_that_is_not_known_forces_none() -> None:
    assert chosen(CHAT, {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, 2) == (2, None)
    assert chosen(RESPONSES, {"type": "web_search"}, 2) == (2, None)


def test_half_a_character_in_a_body_becomes_a_question_mark() -> None:
    for wire, body in ((CHAT, CHAT_BODY), (MESSAGES, MESSAGES_BODY), (RESPONSES, RESPONSES_BODY)):
        broken = json.dumps(body).replace("Look.", r"Look \ud83d.").encode()
        assert wire.read_request(broken, None).request.messages[-1] == read(wire, body).request.messages[-1]
        assert any("Look ?." in message.text for message in wire.read_request(broken, None).request.messages)


@rows(
    ("wire", "body", "said"),
    [
        (CHAT, b"{", "Invalid JSON"),
        (CHAT, b'{"model": "m", "messages": []}', "messages: List should have at least 1"),
        (
            CHAT,
            b'{"model": "m", "messages": [{"role": "robot"}]}',
            "messages.0.role: Input should be 'system', 'devel",
        ),
        (RESPONSES, b'{"model": "m"}', "input: Field required"),
        (MESSAGES, b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}', "max_tokens: Field required"),
        (MESSAGES, b'{"model": "\\ud83d", "messages": [}', "Invalid JSON: "),
    ],
)
def test_what_is_no_request_names_the_place(wire: Format, body: bytes, said: str) -> None:
    with pytest.raises(BadBody) as caught:
        wire.read_request(body, None)
    assert caught.value.message.startswith(said)


def test_a_field_is_put_into_a_body() -> None:
    assert json.loads(with_field(b'{"model": "a", "n": 1}', "model", "b")) == {"model": "b", "n": 1}
    with pytest.raises(BadBody, match="Input should be an object"):
        with_field(b"[]", "model", "b")
    with pytest.raises(BadBody, match="Invalid JSON"):
        with_field(b"{", "model", "b")


def test_tokens_are_estimated_from_all_that_is_reported() -> None:
    request = read(CHAT, {"model": "m", "messages": [{"role": "user", "content": "x" * 9}]}).request
    assert estimate(request) == 3
    more = request.model_copy(
        update={"messages": (calling(("c", "bash", "{}")),), "tools": (Tool(name="bash", parameters={}),)}
    )
    assert estimate(more) == 14
