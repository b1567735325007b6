"""What Google's clients send is read as what it means."""

import json
from typing import Any

import pytest

from etude.formats import GEMINI, BadBody
from etude.records import ChatRequest, ImagePart, Message, ResponseSchema, TextPart, Tool, ToolCall, system, user

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def read(trial: int | None = 7, **body: Any) -> ChatRequest:
    given = {"model": "m", "contents": [{"role": "user", "parts": [{"text": "Go."}]}], **body}
    return GEMINI.read_request(json.dumps(given).encode(), trial).request


def called(name: str, id: str | None = None, **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": arguments, **({"id": id} if id else {})}}


def answered(name: str, response: Any, id: str | None = None) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **({"id": id} if id else {})}}


def test_turns_have_their_calls_and_results() -> None:
    request = read(
        systemInstruction={"role": "user", "parts": [{"text": "Be brief."}]},
        contents=[
            {"role": "user", "parts": [{"text": "Look."}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]},
            {
                "role": "model",
                "parts": [{"text": "hm", "thought": True}, {"text": "I look."}, called("ls", "a", n=1)],
            },
            {"role": "user", "parts": [answered("ls", {"output": "x.txt"}, "a"), {"text": "Go on."}]},
            {"role": "model", "parts": [{"text": "Done."}]},
            {"role": "user", "parts": [{"fileData": {"mimeType": "application/pdf", "fileUri": "https://h/a.pdf"}}]},
        ],
    )
    picture = ImagePart(url="data:image/png;base64,AA")
    call = ToolCall(id="a", name="ls", arguments='{"n": 1}')
    assert request.messages == (
        system("Be brief."),
        Message(role="user", content=(TextPart(text="Look."), picture)),
        Message(role="assistant", content=(TextPart(text="I look."),), tool_calls=(call,)),
        Message(role="tool", content=(TextPart(text="x.txt"),), tool_call_id="a"),
        user("Go on."),
        Message(role="assistant", content=(TextPart(text="Done."),)),
        user("[document: https://h/a.pdf]"),
    )
    assert request.seed == 7


def test_results_without_ids_belong_to_the_first_open_call_of_their_name() -> None:
    request = read(
        contents=[
            {"role": "model", "parts": [called("ls"), called("cat"), called("ls")]},
            {"parts": [answered("ls", {"error": "no"}), answered("cat", {"a": 1, "b": 2}), answered("ls", "x")]},
        ]
    )
    first, second, third = request.messages[0].tool_calls
    assert len({first.id, second.id, third.id}) == 3
    results = {message.tool_call_id: message.text for message in request.messages[1:]}
    assert results == {first.id: "no", second.id: '{"a": 1, "b": 2}', third.id: "x"}


def test_tools_and_what_is_said_about_them() -> None:
    functions = [
        {"name": "a", "description": "A.", "parametersJsonSchema": SCHEMA},
        {"name": "b", "parameters": {"type": "OBJECT", "properties": {"type": {"type": "STRING"}}}},
    ]
    tools = [{"functionDeclarations": functions}, {"googleSearch": {}}]
    request = read(tools=tools)
    assert request.tools == (
        Tool(name="a", description="A.", parameters=SCHEMA),
        Tool(name="b", parameters={"type": "object", "properties": {"type": {"type": "string"}}}),
    )

    def choosing(mode: str, *allowed: str) -> ChatRequest:
        calling = {"mode": mode, **({"allowedFunctionNames": list(allowed)} if allowed else {})}
        return read(tools=tools, toolConfig={"functionCallingConfig": calling})

    assert choosing("NONE").tools == ()
    assert [choosing("AUTO").forced_tool, choosing("ANY").forced_tool, choosing("ANY", "b").forced_tool] == [
        None,
        None,
        "b",
    ]


def test_settings_of_a_reply() -> None:
    request = read(generationConfig={"responseJsonSchema": SCHEMA, "seed": 3, "maxOutputTokens": 9})
    assert request.response_schema == ResponseSchema(name="reply", body=SCHEMA)
    assert request.seed == 3
    spelt = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}, "required": ["n"]}
    assert read(generationConfig={"responseSchema": spelt}).response_schema == request.response_schema


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"model": "m", "contents": []}', "contents: List should have at least 1"),
        (
            b'{"model": "m", "contents": [{"parts": [{"text": 1}]}]}',
            "contents.0.parts.0.text: Input should be a valid",
        ),
    ],
)
def test_what_is_no_request_names_the_place(body: bytes, said: str) -> None:
    with pytest.raises(BadBody) as caught:
        GEMINI.read_request(body, None)
    assert caught.value.message.startswith(said)
