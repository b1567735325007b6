"""Anthropic Messages and OpenAI Responses over real HTTP, with the real clients, plain and streamed."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from simulation_prompts import FULL_SKILL, PATCH, answer_of, ask, attempt_block

from etude.formats import MESSAGES as MESSAGES_WIRE
from etude.formats import RESPONSES as RESPONSES_WIRE
from etude.records import ChatRequest, ImagePart, Message, Reply, TextPart, Tool, ToolCall
from etude.simulation import names, respond
from etude.simulation.endpoint import Endpoint, running_endpoint
from etude.simulation.faults import Faults
from etude.simulation.wire import SEED_HEADER

TASK = "Sort the following words alphabetically: List: pear apple fig"
SUBMIT = {"type": "object", "properties": {"answer": {"type": "string"}}}


@pytest.fixture(scope="module")
def shared() -> Iterator[Endpoint]:
    with running_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(shared: Endpoint) -> Iterator[Endpoint]:
    shared.reset_stats()
    shared.set_faults(Faults())
    yield shared
    shared.set_faults(Faults())


def root(endpoint: Endpoint) -> str:
    return endpoint.url.removesuffix("/v1")


@pytest.fixture
def claude(endpoint: Endpoint) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=root(endpoint), api_key="any", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture
def gpt(endpoint: Endpoint) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=endpoint.url, api_key="any", max_retries=0, timeout=20) as client:
        yield client


def message(client: anthropic.Anthropic, **more: Any) -> Any:
    asked = {"model": "target-steady", "max_tokens": 1000, "system": FULL_SKILL}
    return client.messages.create(**{**asked, "messages": [{"role": "user", "content": TASK}], **more})


def streamed_message(client: anthropic.Anthropic, **more: Any) -> Any:
    asked = {"model": "target-steady", "max_tokens": 1000, "system": FULL_SKILL}
    with client.messages.stream(**{**asked, "messages": [{"role": "user", "content": TASK}], **more}) as stream:
        return stream.get_final_message()


def response(client: openai.OpenAI, **more: Any) -> Any:
    return client.responses.create(**{"model": "target-steady", "instructions": FULL_SKILL, "input": TASK, **more})


def streamed_response(client: openai.OpenAI, **more: Any) -> Any:
    asked = {"model": "target-steady", "instructions": FULL_SKILL, "input": TASK, **more}
    with client.responses.stream(**asked) as stream:
        return stream.get_final_response()


def direct(seed: int | None = None, model: str = "target-steady", skill: str = FULL_SKILL) -> Reply:
    return respond(model, ask(TASK, skill, seed))


@pytest.mark.parametrize("how", [message, streamed_message])
def test_a_message_says_what_the_world_says(claude: anthropic.Anthropic, how: Any) -> None:
    reply = how(claude)
    assert [(block.type, block.text) for block in reply.content] == [("text", direct().text)]
    assert (reply.stop_reason, reply.role, reply.model) == ("end_turn", "assistant", "target-steady")
    assert reply.id.startswith("msg_simulated_")
    assert reply.usage.input_tokens == direct().usage.input_tokens
    assert reply.usage.output_tokens == direct().usage.output_tokens


@pytest.mark.parametrize("how", [response, streamed_response])
def test_a_response_says_what_the_world_says(gpt: openai.OpenAI, how: Any) -> None:
    reply = how(gpt)
    assert (reply.output_text, reply.status, reply.error) == (direct().text, "completed", None)
    assert reply.id.startswith("resp_simulated_")
    assert reply.usage.input_tokens == direct().usage.input_tokens
    assert reply.usage.output_tokens == direct().usage.output_tokens


def test_the_events_of_a_message_come_in_the_order_that_clients_expect(claude: anthropic.Anthropic) -> None:
    kinds = [event.type for event in message(claude, stream=True)]
    deltas = kinds.count("content_block_delta")
    assert 3 <= deltas <= 6
    start = ["message_start", "content_block_start"]
    end = ["content_block_stop", "message_delta", "message_stop"]
    assert kinds == [*start, *["content_block_delta"] * deltas, *end]


def test_the_events_of_a_response_are_numbered_and_end_with_the_whole(gpt: openai.OpenAI) -> None:
    events = list(response(gpt, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert 3 <= len(pieces) <= 6
    assert "".join(pieces) == direct().text
    assert [event.type for event in events][:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert [event.type for event in events][-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert events[-1].response.output_text == direct().text


@pytest.mark.parametrize("seed", range(4))
def test_the_seed_travels_in_a_header(claude: anthropic.Anthropic, gpt: openai.OpenAI, seed: int) -> None:
    reported: dict[str, Any] = {"model": "target", "extra_headers": {SEED_HEADER: str(seed)}}
    expected = answer_of(direct(seed, "target", ""))
    assert message(claude, system="", **reported).content[0].text.rpartition("Answer: ")[2] == expected
    assert response(gpt, instructions="", **reported).output_text.rpartition("Answer: ")[2] == expected
    plain = gpt.chat.completions.create(messages=[{"role": "user", "content": TASK}], **reported)
    assert str(plain.choices[0].message.content).rpartition("Answer: ")[2] == expected


def test_another_seed_is_another_question_to_the_counts(endpoint: Endpoint, claude: anthropic.Anthropic) -> None:
    for seed in ("0", "1", "1"):
        message(claude, extra_headers={SEED_HEADER: seed})
    message(claude)
    assert (endpoint.stats()["answered"], endpoint.stats()["repeated"]) == (4, 1)


def test_a_seed_that_is_no_number_is_refused(claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    reported: Any = {SEED_HEADER: "two"}
    with pytest.raises(anthropic.BadRequestError, match="x-etude-seed: 'two' is not a whole number"):
        message(claude, extra_headers=reported)
    with pytest.raises(openai.BadRequestError, match="x-etude-seed: 'two' is not a whole number"):
        response(gpt, extra_headers=reported)


@pytest.mark.parametrize("how", [message, streamed_message])
def test_tools_are_called_in_messages_when_forced_and_may_be_ignored_else(
    claude: anthropic.Anthropic, how: Any
) -> None:
    tools = [{"name": "submit", "input_schema": SUBMIT}]
    for choice in ({"type": "any"}, {"type": "tool", "name": "submit"}):
        reply = how(claude, tools=tools, tool_choice=choice)
        (call,) = reply.content
        assert (reply.stop_reason, call.type, call.name) == ("tool_use", "tool_use", "submit")
        assert call.input == {"answer": "apple fig pear"}
    for choice in ({"type": "auto"}, {"type": "none"}):
        assert how(claude, tools=tools, tool_choice=choice).content[0].type == "text"


@pytest.mark.parametrize("how", [response, streamed_response])
def test_tools_are_called_in_responses_when_forced_and_may_be_ignored_else(gpt: openai.OpenAI, how: Any) -> None:
    tools = [{"type": "function", "name": "submit", "parameters": SUBMIT, "strict": False}]
    for choice in ("required", {"type": "function", "name": "submit"}):
        (call,) = how(gpt, tools=tools, tool_choice=choice).output
        assert (call.type, call.name, json.loads(call.arguments)) == (
            "function_call",
            "submit",
            {"answer": "apple fig pear"},
        )
        assert call.call_id
    assert how(gpt, tools=tools).output[0].type == "message"


def test_the_arguments_of_a_call_come_in_pieces(gpt: openai.OpenAI) -> None:
    tools = [{"type": "function", "name": "submit", "parameters": SUBMIT, "strict": False}]
    events = list(response(gpt, tools=tools, tool_choice="required", stream=True))
    pieces = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    (done,) = [event for event in events if event.type == "response.function_call_arguments.done"]
    assert len(pieces) > 1
    assert "".join(pieces) == done.arguments


def test_schemas_are_filled(claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    blocks = attempt_block("a-1", "Sort the following words alphabetically: List: b a b", "a b")
    reported: Any = [{"role": "user", "content": blocks}]
    form = {"type": "json_schema", "schema": PATCH}
    reply = message(
        claude, model="optimizer-perfect", system="", messages=reported, output_config={"format": form}
    ).content[0]
    assert json.loads(reply.text)["edits"][0]["cites"] == ["a-1"]
    text = {"format": {**form, "name": "patch", "strict": True}}
    other = response(gpt, model="optimizer-perfect", instructions="", input=reported, text=text)
    assert json.loads(other.output_text)["edits"][0]["cites"] == ["a-1"]


@pytest.mark.parametrize("how", [message, streamed_message])
def test_messages_are_cut_at_the_token_limit(claude: anthropic.Anthropic, how: Any) -> None:
    reply = how(claude, max_tokens=3)
    assert (reply.content[0].text, reply.stop_reason) == (direct().text[:12], "max_tokens")
    assert reply.usage.output_tokens == 3


def test_responses_are_cut_at_the_token_limit(gpt: openai.OpenAI) -> None:
    reply = response(gpt, max_output_tokens=3)
    assert (reply.output_text, reply.status) == (direct().text[:12], "incomplete")
    assert reply.incomplete_details.reason == "max_output_tokens"
    assert list(response(gpt, max_output_tokens=3, stream=True))[-1].type == "response.incomplete"


def test_a_call_that_is_cut_has_no_arguments_plain_and_half_of_them_streamed(claude: anthropic.Anthropic) -> None:
    reported: Any = {
        "tools": [{"name": "submit", "input_schema": SUBMIT}],
        "tool_choice": {"type": "any"},
        "max_tokens": 2,
    }
    assert message(claude, **reported).content[0].input == {}
    pieces = [
        event.delta.partial_json
        for event in message(claude, stream=True, **reported)
        if event.type == "content_block_delta"
    ]
    assert "".join(pieces) == '{"answer'


WHOLE = ChatRequest(
    messages=(
        Message(role="system", content=(TextPart(text="You are kind."),)),
        Message(role="user", content=(TextPart(text=TASK), ImagePart(url="data:image/png;base64,AA"))),
        Message(role="assistant", tool_calls=(ToolCall(id="c1", name="read", arguments='{"a": 1}'),)),
        Message(role="tool", content=(TextPart(text=FULL_SKILL),), tool_call_id="c1"),
    ),
    tools=(Tool(name="read", description="Reads.", parameters=SUBMIT),),
)


def without_opaque(request: ChatRequest) -> ChatRequest:
    """What was said: not what a server wants back unread."""
    return request.model_copy(update={"messages": tuple(message.shown for message in request.messages)})


def test_blocks_of_all_kinds_are_read_from_messages() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    body = {
        "model": "target",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "You are kind.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": TASK}, image]},
            {
                "role": "assistant",
                "content": [thought, {"type": "tool_use", "id": "c1", "name": "read", "input": {"a": 1}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": FULL_SKILL}]},
        ],
        "tools": [{"name": "read", "description": "Reads.", "input_schema": SUBMIT}],
    }
    assert without_opaque(MESSAGES_WIRE.read_request(json.dumps(body).encode(), None).request) == WHOLE
    link = {"type": "image", "source": {"type": "url", "url": "https://host/a.png"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a"}, link]}
    body["messages"] = [{"role": "user", "content": [{"type": "text", "text": "So?"}, result]}]
    _, reported, said = MESSAGES_WIRE.read_request(json.dumps(body).encode(), 3).request.messages
    assert (reported.role, reported.content[1]) == ("tool", ImagePart(url="https://host/a.png"))
    assert (said.role, said.text) == ("user", "So?")


def test_items_of_all_kinds_are_read_from_responses() -> None:
    body = {
        "model": "target",
        "input": [
            {"role": "developer", "content": "You are kind."},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": TASK},
                    {"type": "input_image", "image_url": "data:image/png;base64,AA"},
                ],
            },
            {"type": "reasoning", "id": "r", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"a": 1}'},
            {"type": "function_call_output", "call_id": "c1", "output": FULL_SKILL},
        ],
        "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": SUBMIT}],
    }
    assert without_opaque(RESPONSES_WIRE.read_request(json.dumps(body).encode(), None).request) == WHOLE


def post(url: str, body: bytes) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.mark.parametrize(
    ("path", "body", "reported"),
    [
        ("messages", b"{", "Invalid JSON"),
        ("messages", b'{"model": "target", "messages": [{"role": "user", "content": "x"}]}', "max_tokens: Field req"),
        (
            "messages",
            b'{"model": "target", "max_tokens": 1, "messages": []}',
            "messages: List should have at least 1",
        ),
        (
            "messages",
            b'{"model": "target", "max_tokens": 1, "messages": [{"role": "tool", "content": "x"}]}',
            "messages.0.role: Input should be",
        ),
        ("responses", b'{"model": "target"}', "input: Field required"),
        ("responses", b'{"model": "target", "input": "x", "stream": "often"}', "stream: Input should be a valid"),
    ],
)
def test_bad_bodies_are_a_400_that_says_what_is_wrong(
    endpoint: Endpoint, path: str, body: bytes, reported: str
) -> None:
    status, answer = post(f"{endpoint.url}/{path}", body)
    assert status == 400
    assert answer["error"]["type"] == "invalid_request_error"
    assert answer["error"]["message"].startswith(reported)
    assert answer.get("type") == ("error" if path == "messages" else None)


def test_an_unknown_model_is_a_404_in_the_words_of_each(claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    with pytest.raises(anthropic.NotFoundError, match="The model 'targt' does not exist"):
        message(claude, model="targt")
    with pytest.raises(openai.NotFoundError) as caught:
        response(gpt, model="targt")
    assert caught.value.code == "model_not_found"


def test_a_required_key_is_checked_in_either_header() -> None:
    with running_endpoint(key="right") as endpoint:
        for key in ("right", "wrong"):
            with (
                anthropic.Anthropic(base_url=root(endpoint), api_key=key, max_retries=0) as claude,
                openai.OpenAI(base_url=endpoint.url, api_key=key, max_retries=0) as gpt,
            ):
                if key == "right":
                    assert message(claude).content
                    assert response(gpt).output
                    continue
                with pytest.raises(anthropic.AuthenticationError, match="Incorrect API key"):
                    message(claude)
                with pytest.raises(openai.AuthenticationError, match="Incorrect API key"):
                    response(gpt)
        for header, value in (("x-api-key", "right"), ("Authorization", "Bearer right")):
            request = urllib.request.Request(f"{endpoint.url}/models", headers={header: value})
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert len(json.loads(answer.read())["data"]) == len(names())


REFUSED: dict[str, tuple[type[Exception], type[Exception]]] = {
    "rate_limit": (anthropic.RateLimitError, openai.RateLimitError),
    "rate_limit_bare": (anthropic.RateLimitError, openai.RateLimitError),
    "server_error": (anthropic.InternalServerError, openai.InternalServerError),
    "unavailable": (anthropic.APIStatusError, openai.InternalServerError),
    "hang": (anthropic.APIConnectionError, openai.APIConnectionError),
    "drop": (anthropic.APIConnectionError, openai.APIConnectionError),
    "truncated": (anthropic.APIConnectionError, openai.APIConnectionError),
}


@pytest.mark.parametrize("fault", list(REFUSED))
def test_faults_strike_on_every_wire_and_then_the_request_passes(
    endpoint: Endpoint, claude: anthropic.Anthropic, gpt: openai.OpenAI, fault: str
) -> None:
    for at, (ask_once, client) in enumerate(((message, claude), (response, gpt))):
        endpoint.reset_stats()
        endpoint.set_faults(Faults.model_validate({fault: 1.0, "hang_seconds": 0.05, "retry_after": 0.25}))
        for _ in range(2):
            with pytest.raises(REFUSED[fault][at]):
                ask_once(client)
        assert ask_once(client)
        stats = endpoint.stats()
        assert (stats["received"], stats["answered"], stats["by_fault"]) == (3, 1, {fault: 2})


def test_an_overloaded_server_says_529_as_anthropic_does(endpoint: Endpoint, claude: anthropic.Anthropic) -> None:
    endpoint.set_faults(Faults(unavailable=1))
    with pytest.raises(anthropic.APIStatusError) as caught:
        message(claude)
    assert caught.value.status_code == 529
    assert caught.value.body == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "The server is overloaded."},
        "request_id": None,
    }


def test_a_rate_limit_says_when_to_come_back(endpoint: Endpoint, claude: anthropic.Anthropic) -> None:
    endpoint.set_faults(Faults(rate_limit=1, retry_after=0.25))
    with pytest.raises(anthropic.RateLimitError) as caught:
        message(claude)
    assert caught.value.response.headers["retry-after"] == "0.25"


def test_an_empty_reply_is_an_answer_without_content(
    endpoint: Endpoint, claude: anthropic.Anthropic, gpt: openai.OpenAI
) -> None:
    for empty in (
        lambda: message(claude).content,
        lambda: streamed_message(claude).content,
        lambda: response(gpt).output_text,
        lambda: streamed_response(gpt).output_text,
    ):
        endpoint.set_faults(Faults(empty=1))
        assert not empty()


def test_structured_content_can_be_cut(endpoint: Endpoint, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    endpoint.set_faults(Faults(cut_structured=1))
    form = {"type": "json_schema", "schema": SUBMIT}
    cut = message(claude, output_config={"format": form})
    assert cut.stop_reason == "end_turn"
    other = response(gpt, text={"format": {**form, "name": "submit"}})
    for text in (cut.content[0].text, other.output_text):
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)


def test_a_refusal_is_reported_in_messages() -> None:
    call = MESSAGES_WIRE.read_request(
        b'{"model": "target", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}', None
    )
    refused = Reply(text="No.", finish="refusal")
    assert json.loads(MESSAGES_WIRE.write_reply(call, refused))["stop_reason"] == "refusal"
