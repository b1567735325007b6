import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from models_doubles import Server, http

from etude.config import ModelSection
from etude.errors import ConfigError, RejectedRequest, RejectedRole, TransientError
from etude.models.openai import OpenAIModel
from etude.records import (
    ChatRequest,
    ImagePart,
    Message,
    Opaque,
    ResponseSchema,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    assistant,
    system,
    user,
)

HELLO = ChatRequest(messages=(system("Be brief."), user("Hello")))


def completion(message: dict[str, Any], **fields: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": fields.pop("finish", "stop")}
    return http(200, {"id": "1", "object": "chat.completion", "choices": [choice], **fields})


def a_model(server: Server, **settings: Any) -> OpenAIModel:
    values: dict[str, Any] = {
        "model": "openai:m",
        "base_url": server.url,
        "api_key_env": "NO_SUCH_KEY",
        "timeout": 30,
    }
    return OpenAIModel("m", ModelSection(**{**values, **settings}))


async def answer(server: Server, *script: bytes | str, request: ChatRequest = HELLO, **settings: Any) -> Any:
    server.script = list(script)
    model = a_model(server, **settings)
    try:
        return await model.complete(request)
    finally:
        await model.aclose()


async def failure(server: Server, *script: bytes | str, **settings: Any) -> Any:
    with pytest.raises((TransientError, RejectedRequest, RejectedRole)) as caught:
        await answer(server, *script, **settings)
    return caught.value


async def test_a_text_answer_comes_with_its_usage(server: Server):
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}
    reply = await answer(server, completion({"content": "Hi"}, usage=usage))
    assert (reply.text, reply.finish, reply.simulated) == ("Hi", "stop", False)
    assert reply.usage == Usage(input_tokens=12, output_tokens=3, cached_tokens=8)


async def test_the_body_has_what_was_set_and_nothing_else(server: Server):
    await answer(server, completion({"content": "Hi"}))
    assert server.heard[0].path == "/v1/chat/completions"
    assert server.heard[0].body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "max_tokens": 4096,
    }
    assert server.heard[0].headers["authorization"] == "Bearer none"


async def test_every_setting_reaches_the_server(server: Server):
    request = HELLO.model_copy(update={"seed": 7})
    await answer(
        server,
        completion({"content": "Hi"}),
        request=request,
        temperature=0,
        top_p=0.5,
        reasoning_effort="low",
        max_output_tokens=9,
        extra_body={"chat_template_kwargs": {"enable_thinking": False}},
        headers={"X-Team": "red"},
    )
    body = server.heard[0].body
    assert (body["temperature"], body["top_p"], body["reasoning_effort"], body["seed"]) == (0, 0.5, "low", 7)
    assert (body["max_tokens"], body["chat_template_kwargs"]) == (9, {"enable_thinking": False})
    assert server.heard[0].headers["x-team"] == "red"


async def test_a_limit_in_extra_body_takes_the_place_of_the_usual_field(server: Server):
    await answer(server, completion({"content": "Hi"}), extra_body={"max_completion_tokens": 50})
    assert "max_tokens" not in server.heard[0].body
    assert server.heard[0].body["max_completion_tokens"] == 50


async def test_the_seed_stays_here_when_the_settings_say_so(server: Server):
    await answer(server, completion({"content": "Hi"}), request=HELLO.model_copy(update={"seed": 7}), send_seed=False)
    assert "seed" not in server.heard[0].body


async def test_pictures_tool_calls_and_tool_results_are_sent(server: Server):
    picture = Message(role="user", content=(TextPart(text="What?"), ImagePart(url="data:image/png;base64,AA")))
    call = ToolCall(id="c1", name="look", arguments='{"at": 1}')
    request = ChatRequest(
        messages=(
            picture,
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content=(TextPart(text="a cat"),), tool_call_id="c1"),
            assistant("A cat."),
        ),
        tools=(Tool(name="look", description="Looks.", parameters={"type": "object", "properties": {}}),),
        forced_tool="look",
    )
    await answer(server, completion({"content": "Hi"}), request=request)
    body = server.heard[0].body
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}],
        },
        {"role": "tool", "content": "a cat", "tool_call_id": "c1"},
        {"role": "assistant", "content": "A cat."},
    ]
    function = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "look"}}


async def test_a_schema_is_sent_as_a_strict_one(server: Server):
    schema = ResponseSchema(name="Answer", body={"type": "object"})
    request = HELLO.model_copy(update={"response_schema": schema})
    await answer(server, completion({"content": "{}"}), request=request)
    assert server.heard[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Answer", "schema": {"type": "object"}, "strict": True},
    }


async def test_tool_calls_come_back_with_an_id_and_arguments_as_text(server: Server):
    calls = [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
        {"function": {"name": "g", "arguments": {"y": 2}}},
        {"function": {"name": "h"}},
    ]
    reply = await answer(server, completion({"content": None, "tool_calls": calls}, finish="tool_calls"))
    assert reply.finish == "tool_calls"
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("a", "f", '{"x": 1}'),
        ("call_1", "g", '{"y": 2}'),
        ("call_2", "h", "{}"),
    ]


@pytest.mark.parametrize(
    ("message", "finish", "expected", "text"),
    [
        ({"content": "cut"}, "length", "length", "cut"),
        ({"content": None, "refusal": "I will not."}, "stop", "refusal", "I will not."),
        ({"content": ""}, "content_filter", "refusal", ""),
        ({"content": "x"}, None, "stop", "x"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "stop", "stop", "ab"),
        ({"content": "half \ud800"}, "stop", "stop", "half ?"),
    ],
)
async def test_the_end_of_a_reply_is_reported(
    server: Server, message: dict[str, Any], finish: str | None, expected: str, text: str
):
    reply = await answer(server, completion(message, finish=finish))
    assert (reply.finish, reply.text) == (expected, text)


async def test_an_endpoint_of_the_simulated_world_is_recognised(server: Server):
    reply = await answer(server, completion({"content": "Hi"}, system_fingerprint="simulated-1"))
    assert reply.simulated


async def test_missing_and_odd_token_counts_are_zero(server: Server):
    reply = await answer(
        server, completion({"content": "Hi"}, usage={"prompt_tokens": None, "completion_tokens": -1})
    )
    assert reply.usage == Usage()


async def test_retry_after_may_be_a_date(server: Server):
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    error = await failure(server, http(429, {}, Retry_After=later))
    assert 3000 < error.retry_after <= 3600
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    assert (await failure(server, http(429, {}, Retry_After=past))).retry_after == 0


async def test_retry_after_may_be_in_milliseconds(server: Server):
    assert (await failure(server, http(429, {}, Retry_After_Ms="1500"))).retry_after == 1.5
    assert (await failure(server, http(429, {}, Retry_After_Ms="1500", Retry_After="2"))).retry_after == 1.5
    assert (await failure(server, http(429, {}, Retry_After_Ms="soon", Retry_After="2"))).retry_after == 2


@pytest.mark.parametrize("header", ["soon", "inf", "nan"])
async def test_a_retry_after_that_says_nothing_is_left_out(server: Server, header: str):
    assert (await failure(server, http(503, {}, Retry_After=header))).retry_after is None


async def test_a_used_up_account_is_no_rate_limit(server: Server):
    error = await failure(server, http(429, {"error": {"message": "pay", "code": "insufficient_quota"}}))
    assert isinstance(error, RejectedRole)


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"choices": [', b'{"choices": []}', b'{"choices": [{}]}', b'{"choices": [], "error": null}']
)
async def test_a_body_that_is_no_completion_is_transient(server: Server, body: bytes):
    error = await failure(server, http(200, body))
    assert isinstance(error, TransientError)
    assert str(error) == f"the answer is not a chat completion: {body.decode()}"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ({"message": "no credentials", "code": 401}, RejectedRole, "HTTP 401: no credentials"),
        ({"message": "too long", "code": "context_length_exceeded"}, RejectedRequest, "HTTP 400: too long"),
        ({"message": "overloaded", "code": 502}, TransientError, "HTTP 502: overloaded"),
        ("the runner has stopped", TransientError, "HTTP 500: the runner has stopped"),
    ],
)
async def test_an_error_with_status_200_is_what_it_says(server: Server, error: Any, kind: type[Exception], said: str):
    found = await failure(server, http(200, {"error": error}))
    assert (type(found), str(found).splitlines()[0]) == (kind, said)


async def test_an_error_beside_an_answer_is_none(server: Server):
    assert (await answer(server, completion({"content": "Hi"}, error={"message": "slow"}))).text == "Hi"


async def test_the_first_of_several_choices_counts_wherever_it_stands(server: Server):
    choices = [
        {"index": at, "message": {"content": text}, "finish_reason": "stop"} for at, text in ((1, "b"), (0, "a"))
    ]
    assert (await answer(server, http(200, {"choices": choices}))).text == "a"


async def test_a_mark_of_byte_order_is_left_out(server: Server):
    assert (await answer(server, http(200, b'\xef\xbb\xbf{"choices": [{"message": {"content": "a"}}]}'))).text == "a"


def test_one_model_works_in_one_loop_after_the_other():
    server = Server([completion({"content": "Hi"})])

    async def once(model: OpenAIModel | None, close: bool) -> OpenAIModel:
        listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        server.url = server.url or f"http://127.0.0.1:{port}/v1"
        async with listener:
            if model is None:
                model = a_model(server)
                assert (await model.complete(HELLO)).text == "Hi"
            else:
                with pytest.raises(TransientError, match="no connection"):  # the port of the first loop
                    await model.complete(HELLO)
            if close:
                await model.aclose()
        return model

    model = asyncio.run(once(None, close=False))
    asyncio.run(model.aclose())  # another loop: nothing of the first one is touched
    asyncio.run(once(model, close=True))
    asyncio.run(once(model, close=False))
    asyncio.run(once(model, close=True))


def test_without_an_address_the_key_is_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigError) as caught:
        OpenAIModel("m", ModelSection(model="openai:m", api_key_env="NO_SUCH_KEY"))
    assert str(caught.value) == (
        "environment variable 'NO_SUCH_KEY' is not set\n"
        "hint: put the key there, name another variable in api_key_env, or set base_url for a server without keys"
    )


def test_a_key_with_odd_characters_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TEST_KEY", "“abc”")
    with pytest.raises(ConfigError, match="has characters that no key has"):
        OpenAIModel("m", ModelSection(model="openai:m", api_key_env="TEST_KEY"))


def test_a_key_of_two_lines_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TEST_KEY", "one\ntwo")
    with pytest.raises(ConfigError) as caught:
        OpenAIModel("m", ModelSection(model="openai:m", api_key_env="TEST_KEY"))
    assert str(caught.value) == (
        "environment variable 'TEST_KEY' has characters that no key has\nhint: copy it again"
    )


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "http://", "ftp://x/v1", "http://[::1", "http://x:99999/v1"])
def test_an_address_that_is_none_is_refused(url: str):
    with pytest.raises(ConfigError, match="is not an address"):
        OpenAIModel("m", ModelSection(model="openai:m", base_url=url))


def test_the_address_is_shown_without_password_and_query():
    model = OpenAIModel("m", ModelSection(model="openai:m", base_url="https://me:pw@host:81/v1?key=1"))
    assert model.endpoint == "https://host:81/v1"


async def test_the_address_may_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    await answer(server, completion({"content": "Hi"}), base_url=None)
    assert "max_tokens" in server.heard[0].body


def test_at_openai_the_limit_has_its_new_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("TEST_KEY", "k")
    model = OpenAIModel("m", ModelSection(model="openai:m", api_key_env="TEST_KEY"))
    assert model.endpoint == "https://api.openai.com/v1"
    assert model._sending.settings.extra_body == {"max_completion_tokens": 4096}


def test_the_fingerprint_has_what_changes_answers_and_nothing_else():
    def fingerprint(**settings: Any) -> str:
        values: dict[str, Any] = {"model": "openai:m", "base_url": "http://a/v1", **settings}
        return OpenAIModel("m", ModelSection(**values)).fingerprint()

    same: list[dict[str, Any]] = [
        {"base_url": "http://b/v1"},
        {"timeout": 1},
        {"headers": {"Authorization": "a", "X-Api-Key": "b", "cf-access-token": "c", "Cookie": "d"}},
        {"max_concurrency": 2},
        {"structured": "tool"},
        {"price": {"input": 1, "output": 1}},
    ]
    other: list[dict[str, Any]] = [
        {"temperature": 0.1},
        {"top_p": 0.1},
        {"max_output_tokens": 5},
        {"reasoning_effort": "low"},
        {"extra_body": {"a": 1}},
        {"send_seed": False},
        {"headers": {"X-Max-Tokens": "5"}},
        {"headers": {"X-Max-Tokens": "6"}},
    ]
    assert {fingerprint(**settings) for settings in same} == {fingerprint()}
    assert len({fingerprint(), *(fingerprint(**settings) for settings in other)}) == 1 + len(other)
    assert fingerprint(headers={"A": "b"}) == fingerprint(headers={"a": "b"})
    assert a_model(Server([], "http://a/v1"), max_output_tokens=5).max_output_tokens == 5


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ({"content": None, "reasoning_content": "It is 7."}, "reasoning_content"),
        ({"content": "", "reasoning": "It is 7."}, "reasoning"),
        ({"content": " \n", "reasoning_content": "It is 7.", "reasoning": "It is 7."}, "reasoning_content"),
        ({"content": "7", "reasoning_content": "It is 7."}, ""),
        ({"content": "", "reasoning_content": ""}, ""),
        ({"content": "", "reasoning_content": None}, ""),
    ],
)
async def test_a_text_that_stands_among_the_thoughts_only_is_named(
    server: Server, message: dict[str, Any], named: str
):
    assert (await answer(server, completion(message))).text_in == named


REFUSED = {
    "chat": ({"reasoning_content": "Hm."}, "Unsupported field: messages[1].reasoning_content"),
    "responses": ({"summary": []}, "Encrypted content is not supported with this model."),
}


def thoughtful(api: str) -> ChatRequest:
    more = REFUSED[api][0]
    data = {"fields": more} if api == "chat" else [{"item": {"type": "reasoning", **more}}, {"chars": 2}]
    kept = Opaque.model_validate({"format": api, "data": data})
    turn = Message(role="assistant", content=(TextPart(text="Hi"),), opaque=kept)
    tool = Tool(name="run", parameters={"type": "object"})
    return ChatRequest(messages=(user("Hello"), turn, user("Go on")), tools=(tool,))


def sent_back(body: dict[str, Any]) -> bool:
    """A thought is in the conversation, or is asked for in a form that could be sent back."""
    return "include" in body or "reasoning" in str(body.get("messages", body.get("input")))


@pytest.mark.parametrize("api", REFUSED)
async def test_what_a_server_refuses_to_be_sent_back_is_left_out_from_then_on(server: Server, api: str):
    done = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "output": []}
    server.script = [http(400, {"error": {"message": REFUSED[api][1]}}), http(200, done)]
    model = a_model(server, api=api)
    for _ in range(2):
        await model.complete(thoughtful(api))
    await model.aclose()
    assert [sent_back(heard.body) for heard in server.heard] == [True, False, False]


async def test_a_server_that_refuses_a_turn_either_way_is_told_in_its_first_words(server: Server):
    demand = http(400, {"error": {"message": "reasoning_content must be passed back"}})
    server.script = [demand, http(400, {"error": {"message": "other"}}), demand]
    model = a_model(server)
    for _ in range(2):
        with pytest.raises(RejectedRequest, match="must be passed back"):
            await model.complete(thoughtful("chat"))
    await model.aclose()
    assert [sent_back(heard.body) for heard in server.heard] == [True, False, True, False]


async def test_a_refusal_for_another_reason_is_not_sent_again(server: Server):
    server.script = [http(400, {"error": {"message": "too long"}})]
    model = a_model(server)
    with pytest.raises(RejectedRequest, match="too long"):
        await model.complete(thoughtful("chat"))
    await model.aclose()
    assert len(server.heard) == 1


async def test_a_reply_that_broke_off_is_transient_and_tells_what_it_cost(server: Server):
    choice = {"message": {"content": "half a"}, "finish_reason": "insufficient_system_resource"}
    error = await failure(server, http(200, {"choices": [choice], "usage": {"prompt_tokens": 5, "total_tokens": 9}}))
    assert isinstance(error, TransientError)
    assert str(error) == "the server broke the reply off: it ended with 'insufficient_system_resource'"
    assert error.usage == Usage(input_tokens=5, output_tokens=4)
