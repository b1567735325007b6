import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from models_doubles import Heard, Server, events, http

from etude.config import ModelSection
from etude.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError, install_command
from etude.models import Structured
from etude.models.anthropic import AnthropicModel
from etude.prompts import Prompts
from etude.records import (
    ChatRequest,
    Edit,
    ImagePart,
    LedgerEntry,
    Message,
    ResponseSchema,
    Skill,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    assistant,
    system,
    user,
)
from etude.simulation.endpoint import running_endpoint
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import PatchReply
from etude.stages.shared.render import ledger_block, skill_block
from etude.testing.chat_model import ChatModelContract

HELLO = ChatRequest(messages=(system("Be brief."), user("Hello")))
EPHEMERAL = {"type": "ephemeral"}


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def message(*content: dict[str, Any], stop: str | None = "end_turn", **fields: Any) -> bytes:
    usage = {"input_tokens": 5, "output_tokens": 2}
    body = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": stop}
    return http(200, {**body, "usage": usage, **fields})


def a_model(server: Server, **settings: Any) -> AnthropicModel:
    values: dict[str, Any] = {"model": "anthropic:m", "base_url": server.url, "api_key_env": "NO_SUCH_KEY"}
    return AnthropicModel("m", ModelSection(**{**values, "timeout": 30, **settings}))


async def answer(server: Server, *script: bytes | str, request: ChatRequest = HELLO, **settings: Any) -> Any:
    server.script = list(script)
    model = a_model(server, **settings)
    try:
        return await model.complete(request)
    finally:
        await model.aclose()


async def failure(server: Server, *script: bytes | str, **settings: Any) -> Any:
    with pytest.raises(ModelError) as caught:
        await answer(server, *script, **settings)
    return caught.value


def key_in(heard: Heard) -> str:
    """The SDK puts it into one of two headers, which one depends on its version."""
    return heard.headers.get("x-api-key", heard.headers.get("authorization", "").removeprefix("Bearer "))


async def test_a_text_answer_comes_with_its_usage_and_what_was_cached(server: Server):
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 3}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    reply = await answer(server, message(thought, text("Hi"), text(" there"), usage=usage))
    assert (reply.text, reply.finish, reply.simulated) == ("Hi there", "stop", False)
    assert reply.usage == Usage(input_tokens=114, output_tokens=3, cached_tokens=100, written_tokens=10)


async def test_the_body_has_what_was_set_and_nothing_else(server: Server):
    await answer(server, message(text("Hi")))
    heard = server.heard[0]
    assert heard.path == "/v1/messages"
    assert heard.body == {
        "model": "m",
        "max_tokens": 4096,
        "system": [{**text("Be brief."), "cache_control": EPHEMERAL}],
        "messages": [{"role": "user", "content": [text("Hello")]}],
    }
    assert key_in(heard) == "none"


async def test_every_setting_reaches_the_server(server: Server):
    await answer(
        server,
        message(text("Hi")),
        temperature=0,
        top_p=0.5,
        reasoning_effort="low",
        thinking="off",
        max_output_tokens=9,
        extra_body={"service_tier": "auto", "output_config": {"more": 1}},
        headers={"X-Team": "red"},
    )
    body = server.heard[0].body
    assert (body["temperature"], body["top_p"], body["max_tokens"], body["service_tier"]) == (0, 0.5, 9, "auto")
    assert (body["thinking"], body["output_config"]) == ({"type": "disabled"}, {"effort": "low", "more": 1})
    assert server.heard[0].headers["x-team"] == "red"


async def test_thinking_is_adaptive_unless_a_budget_is_given(server: Server):
    await answer(server, message(text("Hi")), thinking="on")
    assert server.heard[0].body["thinking"] == {"type": "adaptive"}
    budget = {"type": "enabled", "budget_tokens": 2000}
    await answer(server, message(text("Hi")), thinking="on", extra_body={"thinking": budget})
    assert server.heard[1].body["thinking"] == budget


async def test_the_seed_is_a_header_unless_the_settings_say_otherwise(server: Server):
    request = HELLO.model_copy(update={"seed": 7})
    await answer(server, message(text("Hi")), request=request)
    assert server.heard[0].headers["x-etude-seed"] == "7"
    await answer(server, message(text("Hi")), request=request, send_seed=False)
    await answer(server, message(text("Hi")))
    assert all("x-etude-seed" not in heard.headers for heard in server.heard[1:])


async def test_a_large_text_that_opens_a_longer_conversation_is_cached(server: Server):
    large = TextPart(text="x" * 4000)
    cases: list[tuple[Message, ...]] = [
        (Message(role="user", content=(large, TextPart(text="What?"))),),
        (Message(role="user", content=(large,)), assistant("No."), user("Again.")),
        (Message(role="user", content=(large,)),),
        (user("x" * 3999), assistant("No."), user("Again.")),
    ]
    for messages in cases:
        await answer(server, message(text("Hi")), request=ChatRequest(messages=messages))
    first = [heard.body["messages"][0]["content"][0] for heard in server.heard]
    assert ["cache_control" in block for block in first] == [True, True, False, False]
    assert all("system" not in heard.body for heard in server.heard)


def marks(body: dict[str, Any]) -> list[bool]:
    blocks = [block for turn in body["messages"] for block in turn["content"]]
    return ["cache_control" in block for block in [*body.get("system", []), *blocks]]


async def test_what_calls_of_the_optimizer_have_in_common_is_cached_as_far_as_it_is_large(server: Server):
    skill, ledger, attempts = TextPart(text="s" * 3000), TextPart(text="l" * 100), TextPart(text="a" * 9000)
    picture = ImagePart(url="data:image/png;base64,AA")
    cases: list[tuple[str, tuple[TextPart | ImagePart, ...], list[bool]]] = [
        ("p" * 1000, (skill, ledger, attempts), [True, True, True, False]),
        ("p" * 999, (skill, ledger, attempts), [True, False, True, False]),
        ("p" * 899, (skill, ledger, attempts), [True, False, False, False]),
        ("p" * 1000, (skill, attempts), [True, True, False]),
        ("p" * 1000, (skill, ledger, attempts, attempts), [True, True, True, False, False]),
        ("p" * 9000, (picture, attempts), [True, False, False]),
    ]
    for prompt, content, expected in cases:
        request = ChatRequest(messages=(system(prompt), Message(role="user", content=content)))
        await answer(server, message(text("Hi")), request=request)
        assert marks(server.heard[-1].body) == expected
    longest = ChatRequest(messages=(*request.messages, assistant("No."), user("Again."), assistant("No."), user("?")))
    await answer(server, message(text("Hi")), request=longest)
    assert sum(marks(server.heard[-1].body)) <= 4


async def test_minibatches_of_a_step_begin_with_the_same_marked_text(server: Server):
    server.script = [message(text('{"reasoning": "r", "edits": []}'))]
    model = a_model(server)
    optimizer = Optimizer(Structured(model), Prompts(), lambda event: None)
    entry = LedgerEntry(step=1, edit=Edit(op="append", content="Be brief."), fate="applied", accepted=False)
    shared = [skill_block(Skill(text="Sort the words. " * 300)), ledger_block([entry], 5)]
    for attempts in ("first", "second"):
        await optimizer.ask("reflect_failures", [*shared, attempts], PatchReply)
    await model.aclose()
    first, second = (heard.body for heard in server.heard)
    assert marks(first) == marks(second) == [True, True, True, False]
    assert first["system"] == second["system"]
    blocks = [body["messages"][0]["content"] for body in (first, second)]
    assert blocks[0][:2] == blocks[1][:2]
    assert [block[2]["text"] for block in blocks] == ["first", "second"]


async def test_pictures_tool_calls_and_tool_results_are_sent_by_turns(server: Server):
    data, link = ImagePart(url="data:image/png;base64,AA"), ImagePart(url="https://host/a.png")
    calls = (ToolCall(id="c1", name="look", arguments='{"at": 1}'), ToolCall(id="c2", name="look", arguments="[1"))
    request = ChatRequest(
        messages=(
            system("One."),
            Message(role="user", content=(TextPart(text="What?"), TextPart(text=" "), data, link)),
            Message(role="assistant", content=(TextPart(text=""),), tool_calls=calls),
            Message(role="tool", content=(TextPart(text="a cat"),), tool_call_id="c1"),
            Message(role="tool", tool_call_id="c2"),
            user("So?"),
            system("Two."),
        ),
        tools=(Tool(name="look", description="Looks.", parameters={"type": "object", "properties": {}}),),
        forced_tool="look",
    )
    await answer(server, message(text("Hi")), request=request)
    body = server.heard[0].body
    assert body["system"] == [text("One."), {**text("Two."), "cache_control": EPHEMERAL}]
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    linked = {"type": "image", "source": {"type": "url", "url": "https://host/a.png"}}
    assert body["messages"] == [
        {"role": "user", "content": [text("What?"), picture, linked]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [text("a cat")]},
                {"type": "tool_result", "tool_use_id": "c2", "content": []},
                text("So?"),
            ],
        },
    ]
    schema = {"type": "object", "properties": {}}
    assert body["tools"] == [{"name": "look", "description": "Looks.", "input_schema": schema}]
    assert body["tool_choice"] == {"type": "tool", "name": "look", "disable_parallel_tool_use": True}


async def test_a_schema_is_sent_without_what_the_server_refuses(server: Server):
    number = {"type": "integer", "minimum": 1}
    body = {"type": "object", "properties": {"n": number}, "required": ["n"], "additionalProperties": False}
    request = HELLO.model_copy(update={"response_schema": ResponseSchema(name="Answer", body=body)})
    await answer(server, message(text("{}")), request=request)
    sent = server.heard[0].body["output_config"]["format"]
    assert sent["type"] == "json_schema"
    assert sent["schema"]["required"] == ["n"]
    assert "minimum" not in sent["schema"]["properties"]["n"]


async def test_tool_calls_come_back_with_an_id_and_arguments_as_text(server: Server):
    calls = [{"type": "tool_use", "id": "a", "name": "f", "input": {"é": 1}}, {"type": "tool_use", "name": "g"}]
    reply = await answer(server, message(text("I call."), *calls, stop="tool_use"))
    assert (reply.finish, reply.text) == ("tool_calls", "I call.")
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("a", "f", '{"é": 1}'),
        ("call_2", "g", "{}"),
    ]


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        (None, "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
    ],
)
async def test_the_end_of_a_reply_is_reported(server: Server, stop: str | None, finish: str):
    assert (await answer(server, message(text("x \ud800"), stop=stop))).finish == finish


async def test_an_endpoint_of_the_simulated_world_is_recognised(server: Server):
    assert (await answer(server, message(text("Hi"), id="msg_simulated_1"))).simulated


START = {
    "type": "message_start",
    "message": {"id": "msg_1", "content": [], "usage": {"input_tokens": 4, "cache_read_input_tokens": 6}},
}
STOP = {"type": "message_stop"}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {"type": "content_block_start", "index": index, "content_block": start}
    changes = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [begun, {"type": "ping"}, *changes, {"type": "content_block_stop", "index": index}]


def end(stop: str, output: int = 9) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": output}}


async def test_a_stream_gives_what_a_plain_answer_gives(server: Server):
    stream = [
        START,
        *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm"}),
        *block(1, text(""), {"type": "text_delta", "text": "Hi"}, {"type": "text_delta", "text": "!"}),
        *block(
            2,
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            {"type": "input_json_delta", "partial_json": ""},
            {"type": "input_json_delta", "partial_json": '{"x":'},
            {"type": "input_json_delta", "partial_json": "1}"},
        ),
        *block(3, {"type": "tool_use", "id": "b", "name": "g", "input": {}}),
        end("tool_use"),
        STOP,
    ]
    usage = {"input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": 9}
    called = {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}
    other = {"type": "tool_use", "id": "b", "name": "g", "input": {}}
    plain = message({"type": "thinking", "thinking": "Hm"}, text("Hi!"), called, other, stop="tool_use", usage=usage)
    streamed = await answer(server, events(*stream), stream=True)
    assert streamed.usage == Usage(input_tokens=10, output_tokens=9, cached_tokens=6)
    assert streamed.model_dump() == (await answer(server, plain)).model_dump() | {
        "usage": streamed.usage.model_dump()
    }
    assert [heard.body.get("stream") for heard in server.heard] == [True, None]


async def test_arguments_that_stop_in_the_middle_of_a_stream_stay_as_they_are(server: Server):
    start = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    cut = block(0, start, {"type": "input_json_delta", "partial_json": '{"x": "ab'})
    reply = await answer(server, events(START, *cut, end("max_tokens"), STOP), stream=True)
    assert (reply.finish, reply.tool_calls[0].arguments) == ("length", '{"x": "ab')


async def test_a_server_that_knows_no_streams_is_understood(server: Server):
    assert (await answer(server, message(text("Hi")), stream=True)).text == "Hi"


@pytest.mark.parametrize(
    ("kind", "error", "limited"),
    [
        ("overloaded_error", TransientError, False),
        ("api_error", TransientError, False),
        ("rate_limit_error", TransientError, True),
        ("something_new", TransientError, False),
        ("invalid_request_error", RejectedRequest, False),
        ("authentication_error", RejectedRole, False),
        ("not_found_error", RejectedRole, False),
    ],
)
async def test_an_error_in_the_middle_of_a_stream_means_what_it_would_have_meant_before(
    server: Server, kind: str, error: type[Exception], limited: bool
):
    said = {"type": "error", "error": {"type": kind, "message": "no more"}}
    caught = await failure(server, events(START, said), stream=True)
    assert type(caught) is error
    assert caught.message.endswith(": no more")
    assert getattr(caught, "rate_limited", False) == limited


@pytest.mark.parametrize(
    "body",
    [
        events(START, end("end_turn")),
        events(START, b'{"type": "mess'),
        events({"type": "content_block_start", "index": "?"}),
        events(b"[1]"),
        http(200, b"<html>"),
        http(200, {"content": 1}),
    ],
)
async def test_a_body_that_is_no_whole_message_is_transient(server: Server, body: bytes):
    error = await failure(server, body, stream=True)
    assert isinstance(error, TransientError)
    assert error.message.startswith("the answer is not a message: ")


def refusal(kind: str, text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": text}}


async def test_an_empty_account_rejects_the_role_though_it_comes_as_a_bad_request(server: Server):
    said = "Your credit balance is too low to access the Anthropic API."
    assert isinstance(await failure(server, http(400, refusal("invalid_request_error", said))), RejectedRole)


async def test_the_key_is_sent_and_never_shown(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-12345")
    said = http(401, refusal("authentication_error", "bad secret-12345"))
    error = await failure(server, said, api_key_env="OPENAI_API_KEY")
    assert key_in(server.heard[0]) == "secret-12345"
    assert error.message == "HTTP 401: bad [redacted:ANTHROPIC_API_KEY]"
    assert error.hint == "check the key in ANTHROPIC_API_KEY and its account"


def test_at_anthropic_a_key_is_needed(monkeypatch: pytest.MonkeyPatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="environment variable 'ANTHROPIC_API_KEY' is not set"):
        AnthropicModel("m", ModelSection(model="anthropic:m"))
    monkeypatch.setenv("MY_KEY", "k")
    model = AnthropicModel("m", ModelSection(model="anthropic:m", api_key_env="MY_KEY"))
    assert model.endpoint == "https://api.anthropic.com"


async def test_the_address_may_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    assert (await answer(server, message(text("Hi")), base_url=None)).text == "Hi"


def test_an_interface_of_openai_is_refused():
    with pytest.raises(ConfigError, match="api = 'responses' is an interface of OpenAI"):
        a_model(Server([], "http://a"), api="responses")


def test_without_the_package_the_error_says_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['anthropic'] = None\n"
        "from etude.models.anthropic import AnthropicModel\n"
        "from etude.config import ModelSection\n"
        "from etude.errors import ConfigError\n"
        "try:\n"
        "    AnthropicModel('m', ModelSection(model='anthropic:m', base_url='http://a'))\n"
        "except ConfigError as error:\n"
        "    print(error.hint)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == install_command("anthropic") + "\n"


def test_the_fingerprint_has_what_changes_answers_and_nothing_else():
    def fingerprint(**settings: Any) -> str:
        return a_model(Server([], "http://a"), **settings).fingerprint()

    same: list[dict[str, Any]] = [{"stream": True}, {"base_url": "http://b"}, {"headers": {"X-Api-Key": "b"}}]
    other: list[dict[str, Any]] = [{"thinking": "on"}, {"thinking": "off"}, {"reasoning_effort": "low"}]
    other += [{"headers": {"anthropic-beta": value}} for value in ("one", "two")]
    assert {fingerprint(**settings) for settings in same} == {fingerprint()}
    assert len({fingerprint(), *(fingerprint(**settings) for settings in other)}) == 1 + len(other)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_endpoint() as endpoint:
        yield endpoint.url


@pytest.mark.parametrize("stream", [False, True])
class TestContract(ChatModelContract):
    """Over real HTTP, against the simulated world."""

    @pytest.fixture(autouse=True)
    def _endpoint(self, url: str, stream: bool) -> None:
        self.settings = {"model": "anthropic:target", "base_url": url, "api_key_env": "NO_SUCH_KEY", "stream": stream}

    def make_model(self) -> AnthropicModel:
        return AnthropicModel("target", ModelSection(**self.settings))

    def make_other_model(self) -> AnthropicModel:
        return AnthropicModel("target-steady", ModelSection(**self.settings))


def test_the_header_of_the_seed_is_the_same_at_both_ends():
    from etude.models import sdk
    from etude.simulation import wire

    assert sdk.SEED_HEADER == wire.SEED_HEADER == "x-etude-seed"
