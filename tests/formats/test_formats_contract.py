"""Every format, both ways: what a client writes a server reads, and what a server writes a client reads."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.config import ModelSection
from etude.formats import CHAT, MESSAGES, RESPONSES, Format, WireRequest
from etude.formats.errors import ServerError
from etude.records import (
    ChatRequest,
    ImagePart,
    Message,
    Reply,
    ResponseSchema,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    assistant,
    system,
    user,
)

FORMATS = pytest.mark.parametrize("form", [CHAT, RESPONSES, MESSAGES], ids=["chat", "responses", "messages"])
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"cmd": {"type": "string"}},
    "required": ["cmd"],
    "additionalProperties": False,
}
SETTINGS = ModelSection(model="openai:m", stream=True)

words = st.text(st.characters(blacklist_categories=["Cs"]), max_size=40)
names = st.text("abcdefghij_", min_size=1, max_size=8)
arguments = st.dictionaries(names, words | st.integers(0, 9), max_size=2).map(
    lambda given: json.dumps(given, ensure_ascii=False)
)
calls = st.lists(st.tuples(names, arguments), max_size=2).map(
    lambda made: tuple(ToolCall(id=f"c{at}", name=name, arguments=text) for at, (name, text) in enumerate(made))
)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    made = draw(calls)
    ends = ["tool_calls"] if made else ["stop", "length", "refusal"]
    total = draw(st.integers(0, 99))
    usage = Usage(
        input_tokens=total, output_tokens=draw(st.integers(0, 99)), cached_tokens=draw(st.integers(0, total))
    )
    finish: Any = draw(st.sampled_from(ends))
    return Reply(text=draw(words), tool_calls=made, finish=finish, usage=usage, simulated=draw(st.booleans()))


def conversation(form: Format) -> ChatRequest:
    picture = ImagePart(url="data:image/png;base64,AA")
    call = ToolCall(id="c1", name="run", arguments='{"cmd": "ls"}')
    return ChatRequest(
        messages=(
            system("# Skill"),
            Message(role="user", content=(TextPart(text="Look."), picture, ImagePart(url="https://host/a.png"))),
            Message(role="assistant", content=(TextPart(text="I look."),), tool_calls=(call,)),
            Message(role="tool", content=(TextPart(text="a.txt"),), tool_call_id="c1"),
            assistant("One file."),
            user("Go on."),
        ),
        response_schema=ResponseSchema(name="reply", body=SCHEMA),
        tools=(Tool(name="run", description="Runs.", parameters=SCHEMA), Tool(name="now", parameters={})),
        forced_tool="run",
        seed=3 if form is CHAT else None,
    )


@FORMATS
def test_a_server_reads_the_request_that_a_client_wrote(form: Format) -> None:
    request = conversation(form)
    call = form.read_request(json.dumps(form.write_request("m", request, SETTINGS)).encode(), None)
    assert call == WireRequest(named="m", request=request, most_tokens=SETTINGS.max_output_tokens, stream=True)


@FORMATS
@settings(max_examples=40)
@given(reply=replies())
def test_a_client_reads_the_reply_that_a_server_wrote(form: Format, reply: Reply) -> None:
    call = WireRequest(named="m", request=conversation(form), most_tokens=None, stream=True)
    assert form.read_reply(form.write_reply(call, reply)) == reply
    assert form.read_reply(form.waiting + b"".join(form.write_events(call, reply))) == reply


@FORMATS
@pytest.mark.parametrize("status", [400, 500])
def test_a_client_reads_the_error_within_a_stream(form: Format, status: int) -> None:
    call = WireRequest(named="m", request=conversation(form), most_tokens=None, stream=True)
    begun = next(form.write_events(call, Reply(text="half")))
    with pytest.raises(ServerError) as caught:
        form.read_reply(begun + form.write_broken(call, status, "No."))
    assert (caught.value.status, caught.value.message) == (status, "No.")
