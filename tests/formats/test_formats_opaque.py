"""Parts of a turn that are carried unread: kept as they came, written back in place, by their own format only."""

import json
from typing import Any

import pytest

from etude.config import ModelSection
from etude.formats import CHAT, MESSAGES, RESPONSES, Format, WireRequest
from etude.formats.opaque import bare, grown, names_of
from etude.records import ChatRequest, Message, Opaque, Reply, ToolCall, user
from rows import rows

Data = dict[str, Any]
SETTINGS = ModelSection(model="openai:m")
RUN = '{"cmd": "ls"}'
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
HIDDEN = {"type": "redacted_thinking", "data": "zz"}
ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


def text(said: str) -> Data:
    return {"type": "text", "text": said}


def tool_use(id: str, **more: Any) -> Data:
    return {"type": "tool_use", "id": id, "name": "run", "input": {"cmd": "ls"}, **more}


def function(id: str, **more: Any) -> Data:
    return {"id": id, "type": "function", "function": {"name": "run", "arguments": RUN}, **more}


def item(id: str) -> Data:
    return {"type": "function_call", "call_id": id, "name": "run", "arguments": RUN}


def said(content: str, **more: Any) -> Data:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": content}], **more}


def chat(message: Data) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


def written(form: Format, turn: Message) -> Any:
    body = form.write_request("m", ChatRequest(messages=(user("x"), turn)), SETTINGS)
    return body["input" if form is RESPONSES else "messages"][1:]


def there_and_back(form: Format, body: bytes) -> Any:
    return written(form, form.read_reply(body).turn)


@rows(
    "content",
    [
        [THOUGHT, text("I look."), tool_use("a")],
        [THOUGHT, tool_use("a"), HIDDEN, tool_use("b")],
        [THOUGHT, text("One."), HIDDEN, text("Two."), tool_use("a")],
        [{"type": "thinking", "thinking": "", "signature": "s", "new": [1, None]}, tool_use("a")],
        [{"type": "compaction", "content": "zz"}, text("So.")],
        [tool_use("a", caller={"type": "direct"})],
    ],
)
def test_blocks_of_messages_come_back_in_their_order(content: list[Data]) -> None:
    body = json.dumps({"content": content, "stop_reason": "end_turn"}).encode()
    assert there_and_back(MESSAGES, body) == [{"role": "assistant", "content": content}]


@rows(
    ("output", "sent"),
    [
        ([ITEM, item("a")], [ITEM, item("a")]),
        ([ITEM, item("a"), ITEM, item("b")], [ITEM, item("a"), ITEM, item("b")]),
        (
            [ITEM, said("I look.", phase="commentary"), item("a")],
            [ITEM, {"role": "assistant", "content": "I look.", "phase": "commentary"}, item("a")],
        ),
        (
            [{"type": "web_search_call", "id": "w"}, said("So.")],
            [{"type": "web_search_call", "id": "w"}, {"role": "assistant", "content": "So."}],
        ),
    ],
)
def test_items_of_responses_come_back_in_their_order(output: list[Data], sent: list[Data]) -> None:
    assert there_and_back(RESPONSES, json.dumps({"output": output}).encode()) == sent


@rows(
    "more",
    [
        {"reasoning_content": "Hm."},
        {"reasoning_content": ""},
        {"reasoning": "Hm.", "reasoning_details": [{"type": "reasoning.encrypted", "data": "zz", "index": 0}]},
        {"thinking_blocks": [THOUGHT], "provider_specific_fields": {"a": None}},
        {"some_field_of_tomorrow": {"x": 1}},
        {"place_in_thought": 0},
    ],
)
def test_fields_of_chat_completions_come_back(more: Data) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [function("a")], **more}
    assert there_and_back(CHAT, chat({**message, "refusal": None, "annotations": [], "audio": None})) == [message]


@rows(
    "calls",
    [
        [function("a", extra_content={"google": {"thought_signature": "s"}}), function("b")],
        [function("a"), function("b", thought_signature="s")],
        [{"id": "a", "type": "function", "function": {"name": "run", "arguments": RUN, "thoughtSignature": "s"}}],
    ],
)
def test_fields_of_calls_come_back(calls: list[Data]) -> None:
    (turn,) = there_and_back(CHAT, chat({"content": None, "tool_calls": calls}))
    assert turn["tool_calls"] == calls


def test_thoughts_among_the_content_come_back() -> None:
    signed = {**text("So."), "extra_content": {"google": {"thought_signature": "s"}}}
    content = [{"type": "thinking", "thinking": [text("Hm.")]}, signed]
    assert there_and_back(CHAT, chat({"content": content})) == [{"role": "assistant", "content": content}]
    assert CHAT.read_reply(chat({"content": content})).text == "So."


def test_streamed_calls_that_have_one_index_are_several_where_their_names_and_ids_differ() -> None:
    calls = [function("a", extra_content={"google": {"thought_signature": "s"}}), function("b")]
    deltas = [{"tool_calls": [{"index": 0, **call}]} for call in calls]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    reply = CHAT.read_reply(b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks))
    assert written(CHAT, reply.turn)[0]["tool_calls"] == calls


def test_pieces_of_a_streamed_thought_among_the_content_are_one() -> None:
    deltas = [
        {"content": [{"type": "thinking", "thinking": [text("H")]}]},
        {"content": [{"type": "thinking", "thinking": [text("m.")]}]},
        {"content": "S"},
        {"content": "o."},
    ]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    reply = CHAT.read_reply(b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks))
    assert reply.text == "So."
    thought = {"type": "thinking", "thinking": [text("H"), text("m.")]}
    assert written(CHAT, reply.turn) == [{"role": "assistant", "content": [thought, text("So.")]}]


MADE = [
    (CHAT, {"fields": {"reasoning_content": "Hm."}, "calls": [{"extra_content": {"s": 1}}]}),
    (MESSAGES, [{"item": THOUGHT}, {"item": HIDDEN}, {"chars": 3}, {"call": True}]),
    (RESPONSES, [{"item": ITEM}, {"chars": 3, "more": {"phase": "commentary"}}, {"call": True}]),
]
NAMES = {id(CHAT): "chat", id(MESSAGES): "messages", id(RESPONSES): "responses"}


def made(form: Format, data: Any) -> Reply:
    call = ToolCall(id="a", name="run", arguments=RUN)
    return Reply(
        text="So.", tool_calls=(call,), finish="tool_calls", opaque=Opaque(format=NAMES[id(form)], data=data)
    )


@rows(("form", "data"), MADE)
def test_a_client_reads_what_a_server_of_the_same_format_wrote(form: Format, data: Any) -> None:
    reply = made(form, data)
    call = WireRequest(named="m", request=ChatRequest(messages=(user("x"),)), most_tokens=None, stream=True)
    assert form.read_reply(form.write_reply(call, reply)) == reply
    assert form.read_reply(b"".join(form.write_events(call, reply))) == reply


@rows(("form", "data"), MADE)
def test_a_server_reads_what_a_client_of_the_same_format_wrote(form: Format, data: Any) -> None:
    request = ChatRequest(messages=(user("x"), made(form, data).turn))
    body = json.dumps(form.write_request("m", request, SETTINGS)).encode()
    assert form.read_request(body, None).request.messages == request.messages


@pytest.mark.parametrize(("form", "data"), MADE)
@pytest.mark.parametrize("other", [CHAT, MESSAGES, RESPONSES], ids=["chat", "messages", "responses"])
def test_no_format_writes_what_another_has_kept(form: Format, data: Any, other: Format) -> None:
    turn = made(form, data).turn
    if other is not form:
        assert written(other, turn) == written(other, turn.shown)


@pytest.mark.parametrize(("form", "data"), MADE[1:])
def test_where_a_turn_has_changed_what_was_kept_comes_first(form: Format, data: Any) -> None:
    turn = made(form, data).turn.model_copy(update={"tool_calls": ()})
    parts = written(form, turn)
    parts = parts[0]["content"] if form is MESSAGES else parts
    items = [entry["item"] for entry in data if "item" in entry]
    assert parts == [*items, text("So.") if form is MESSAGES else {"role": "assistant", "content": "So."}]


def test_a_thought_without_a_turn_is_left_out() -> None:
    body = {"model": "m", "input": [{"role": "user", "content": "x"}, ITEM, {"role": "user", "content": "y"}]}
    call = RESPONSES.read_request(json.dumps(body).encode(), None)
    assert call.request.messages == (user("x"), user("y"))


def test_plain_turns_keep_nothing() -> None:
    for form, body in (
        (CHAT, chat({"role": "assistant", "content": "x", "refusal": None, "reasoning_content": None})),
        (MESSAGES, json.dumps({"content": [{**text("x"), "citations": None}, tool_use("a")]}).encode()),
        (RESPONSES, json.dumps({"output": [said("x", id="m1", status="completed"), item("a")]}).encode()),
    ):
        assert form.read_reply(body).opaque is None


def test_numbers_that_are_none_become_null() -> None:
    body = (
        b'{"choices": [{"message": {"content": "x", "score": {"a": NaN, "b": Infinity}}, "finish_reason": "stop"}]}'
    )
    kept = CHAT.read_reply(body).opaque
    assert kept == Opaque(format="chat", data={"fields": {"score": {"a": None, "b": None}}})


@rows(
    ("before", "more", "whole"),
    [
        ({}, {"a": "x"}, {"a": "x"}),
        ({"a": "x"}, {"a": "y", "b": None}, {"a": "xy"}),
        ({"type": "t", "id": "1"}, {"type": "t", "id": "1"}, {"type": "t", "id": "1"}),
        ({"a": {"b": "x"}}, {"a": {"b": "y"}}, {"a": {"b": "xy"}}),
        ({"a": [{"index": 0, "t": "x"}]}, {"a": [{"index": 0, "t": "y"}]}, {"a": [{"index": 0, "t": "xy"}]}),
        (
            {"a": [{"index": 0, "t": "x"}]},
            {"a": [{"index": 1, "t": "y"}, {"t": "z"}]},
            {"a": [{"index": 0, "t": "x"}, {"index": 1, "t": "y"}, {"t": "z"}]},
        ),
        # blocks of LiteLLM, which have no index and end with their signature
        (
            {"a": [{"type": "thinking", "thinking": "x", "signature": None}]},
            {"a": [{"type": "thinking", "thinking": "y"}, {"type": "thinking", "thinking": "", "signature": "s"}]},
            {"a": [{"type": "thinking", "thinking": "xy", "signature": "s"}]},
        ),
        (
            {"a": [{"type": "thinking", "thinking": "x", "signature": "s"}]},
            {
                "a": [
                    {"type": "thinking", "thinking": "y", "signature": "t"},
                    {"type": "redacted_thinking", "data": "z"},
                ]
            },
            {
                "a": [
                    {"type": "thinking", "thinking": "x", "signature": "s"},
                    {"type": "thinking", "thinking": "y", "signature": "t"},
                    {"type": "redacted_thinking", "data": "z"},
                ]
            },
        ),
    ],
)
def test_streamed_fields_grow(before: Data, more: Data, whole: Data) -> None:
    assert grown(before, more) == whole


def test_what_is_sent_back_can_be_named_and_taken_off() -> None:
    request = ChatRequest(messages=(user("x"), made(*MADE[0]).turn, made(*MADE[1]).turn))
    assert {"reasoning_content", "extra_content", "thinking", "signature"} <= names_of(request)
    assert not names_of(request) & {"type", "text", "item", "chars"}
    assert names_of(bare(request)) == frozenset()
