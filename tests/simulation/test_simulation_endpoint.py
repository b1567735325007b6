"""The endpoint over real HTTP, with a real client."""

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from simulation_prompts import FULL_SKILL, PATCH, answer_of, ask, attempt_block, reported, root

from etude.simulation import names, respond
from etude.simulation.endpoint import Endpoint, make_app, running_endpoint
from etude.simulation.faults import Faults
from etude.simulation.service import Service

TASK = "Sort the following words alphabetically: List: pear apple fig"
MESSAGES: Any = [{"role": "system", "content": FULL_SKILL}, {"role": "user", "content": TASK}]
TOOL: Any = {
    "type": "function",
    "function": {"name": "submit", "parameters": {"type": "object", "properties": {"answer": {"type": "string"}}}},
}


def client_of(endpoint: Endpoint, key: str = "any", retries: int = 0) -> openai.OpenAI:
    return openai.OpenAI(base_url=endpoint.url, api_key=key, max_retries=retries, timeout=20)


@pytest.fixture(scope="module")
def shared_client(shared: Endpoint) -> Iterator[openai.OpenAI]:
    with client_of(shared) as client:
        yield client


@pytest.fixture
def client(endpoint: Endpoint, shared_client: openai.OpenAI) -> openai.OpenAI:
    return shared_client


def chat(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(**{"model": "target-steady", "messages": MESSAGES, **more})


def post(url: str, body: bytes) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=20) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_a_completion_says_what_the_world_says(client: openai.OpenAI) -> None:
    reply = chat(client)
    direct = respond("target-steady", ask(TASK, FULL_SKILL))
    assert reply.choices[0].message.content == direct.text
    assert reply.choices[0].finish_reason == "stop"
    assert reply.system_fingerprint == "simulated"
    assert reply.usage.prompt_tokens == direct.usage.input_tokens
    assert reply.usage.completion_tokens == direct.usage.output_tokens
    assert reply.usage.total_tokens == direct.usage.total


def test_the_same_request_always_gives_the_same_body(client: openai.OpenAI) -> None:
    first, second = (chat(client, model="target", seed=3).model_dump_json() for _ in range(2))
    assert first == second
    assert chat(client, model="target", seed=4).id != chat(client, model="target", seed=3).id


def test_the_seed_decides_what_goes_wrong(client: openai.OpenAI) -> None:
    messages = [{"role": "user", "content": TASK}]
    for seed in range(4):
        text = chat(client, model="target", messages=messages, seed=seed).choices[0].message.content
        direct = respond("target", ask(TASK, "", seed))
        assert text.rpartition("Answer: ")[2] == answer_of(direct)


@pytest.mark.parametrize("model", ["target-steady", "simulated:target-steady", "simulated-target-steady"])
def test_models_are_known_with_and_without_prefix(client: openai.OpenAI, model: str) -> None:
    reply = chat(client, model=model)
    assert reply.model == model
    assert reply.choices[0].message.content.endswith("apple fig pear")


def test_an_unknown_model_is_a_404_in_the_openai_form(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="The model 'targt' does not exist") as caught:
        chat(client, model="targt")
    assert caught.value.code == "model_not_found"


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == list(names())


def test_a_stream_brings_the_same_text_in_pieces_then_the_usage(client: openai.OpenAI) -> None:
    plain = chat(client)
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert 3 <= len(pieces) <= 6
    assert "".join(pieces) == plain.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage == plain.usage
    assert all(chunk.usage is None for chunk in chat(client, stream=True))


def test_tools_are_called_when_forced_and_may_be_ignored_else(client: openai.OpenAI) -> None:
    for choice in ("required", {"type": "function", "function": {"name": "submit"}}):
        reply = chat(client, tools=[TOOL], tool_choice=choice).choices[0]
        (call,) = reply.message.tool_calls
        assert (reply.finish_reason, reply.message.content) == ("tool_calls", None)
        assert (call.function.name, json.loads(call.function.arguments)) == ("submit", {"answer": "apple fig pear"})
    reply = chat(client, tools=[TOOL], tool_choice="auto").choices[0]
    assert reply.message.tool_calls is None
    chunks = list(chat(client, tools=[TOOL], tool_choice="required", stream=True))
    (call,) = [delta for chunk in chunks for delta in chunk.choices[0].delta.tool_calls or []]
    assert call.function.name == "submit"


def test_schemas_are_filled(client: openai.OpenAI) -> None:
    blocks = attempt_block("a-1", "Sort the following words alphabetically: List: b a b", "a b")
    form = {"type": "json_schema", "json_schema": {"name": "patch", "schema": PATCH, "strict": True}}
    messages = [{"role": "user", "content": blocks}]
    reply = chat(client, model="optimizer-perfect", messages=messages, response_format=form)
    (edit,) = json.loads(reply.choices[0].message.content)["edits"]
    assert edit["cites"] == ["a-1"]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_replies_are_cut_at_the_token_limit(client: openai.OpenAI, name: str) -> None:
    whole = chat(client).choices[0].message.content
    reply = chat(client, **{name: 3})
    assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == (whole[:12], "length")
    assert reply.usage.completion_tokens == 3
    forced = chat(client, tools=[TOOL], tool_choice="required", **{name: 2}).choices[0]
    assert len(forced.message.tool_calls[0].function.arguments) == 8
    assert forced.finish_reason == "length"


def test_bad_bodies_are_a_400_that_says_what_is_wrong(endpoint: Endpoint) -> None:
    status, answer = post(f"{endpoint.url}/chat/completions", b'{"model": "target", "messages": []}')
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert answer["error"]["message"].startswith("messages: ")
    status, answer = post(f"{endpoint.url}/messages", b"{")
    assert (status, answer["type"], answer["error"]["type"]) == (400, "error", "invalid_request_error")


def test_a_required_key_is_checked() -> None:
    with (
        running_endpoint(key="right") as endpoint,
        client_of(endpoint, "right") as good,
        client_of(endpoint, "no") as bad,
    ):
        assert chat(good).choices
        assert list(good.models.list())
        for call in (lambda: chat(bad), lambda: list(bad.models.list())):
            with pytest.raises(openai.AuthenticationError) as caught:
                call()
            assert caught.value.code == "invalid_api_key"


REFUSED = {
    "rate_limit": openai.RateLimitError,
    "rate_limit_bare": openai.RateLimitError,
    "server_error": openai.InternalServerError,
    "unavailable": openai.InternalServerError,
    "hang": openai.APIConnectionError,
    "drop": openai.APIConnectionError,
    "broken_json": json.JSONDecodeError,
    "truncated": openai.APIConnectionError,
}


@pytest.mark.parametrize("fault", list(REFUSED))
def test_a_fault_strikes_at_most_twice_in_a_row_then_the_request_passes(
    endpoint: Endpoint, client: openai.OpenAI, fault: str
) -> None:
    endpoint.set_faults(Faults.model_validate({fault: 1.0, "hang_seconds": 0.05}))
    for _ in range(2):
        for _ in range(2):
            with pytest.raises(REFUSED[fault]):
                chat(client)
        assert chat(client).choices[0].message.content.endswith("apple fig pear")
    stats = endpoint.stats()
    assert (stats["received"], stats["answered"], stats["repeated"]) == (6, 2, 1)
    assert stats["by_fault"] == {fault: 4}
    assert stats["by_model"] == {"target-steady": 2}


def test_a_rate_limit_says_when_to_come_back_or_not(endpoint: Endpoint, client: openai.OpenAI) -> None:
    endpoint.set_faults(Faults(rate_limit=1, retry_after=0.25))
    with pytest.raises(openai.RateLimitError) as caught:
        chat(client)
    assert caught.value.response.headers["retry-after"] == "0.25"
    endpoint.set_faults(Faults(rate_limit_bare=1))
    with pytest.raises(openai.RateLimitError) as caught:
        chat(client)
    assert "retry-after" not in caught.value.response.headers


def test_a_hang_ends_when_the_client_leaves(endpoint: Endpoint) -> None:
    endpoint.set_faults(Faults(hang=1, hang_seconds=600))
    with openai.OpenAI(base_url=endpoint.url, api_key="x", max_retries=0, timeout=0.2) as client:
        with pytest.raises(openai.APITimeoutError):
            chat(client)
        endpoint.set_faults(Faults())
        assert chat(client).choices


@pytest.mark.parametrize("fault", ["truncated", "broken_json", "drop"])
def test_a_stream_can_break(endpoint: Endpoint, client: openai.OpenAI, fault: str) -> None:
    endpoint.set_faults(Faults.model_validate({fault: 1.0}))
    with pytest.raises(REFUSED[fault]):
        list(chat(client, stream=True))
    assert endpoint.stats()["answered"] == 0


def test_an_empty_reply_is_an_answer_without_content(endpoint: Endpoint, client: openai.OpenAI) -> None:
    endpoint.set_faults(Faults(empty=1))
    reply = chat(client)
    assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == ("", "stop")
    assert endpoint.stats()["answered"] == 1


def test_structured_content_can_be_cut_and_plain_text_is_left_alone(
    endpoint: Endpoint, client: openai.OpenAI
) -> None:
    endpoint.set_faults(Faults(cut_structured=1))
    assert chat(client).choices[0].message.content.endswith("apple fig pear")
    form = {"type": "json_schema", "json_schema": {"name": "patch", "schema": PATCH, "strict": True}}
    cut = chat(client, response_format=form).choices[0]
    assert cut.finish_reason == "stop"
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut.message.content)
    call = chat(client, tools=[TOOL], tool_choice="required").choices[0].message.tool_calls[0]
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.function.arguments)


def test_an_outage_lasts_until_the_faults_change(endpoint: Endpoint, client: openai.OpenAI) -> None:
    endpoint.set_faults(Faults(outage_after=2))
    assert chat(client).choices
    assert chat(client).choices
    for _ in range(4):
        with pytest.raises(openai.APIConnectionError):
            chat(client)
    assert endpoint.stats()["by_fault"] == {"outage": 4}
    assert post(f"{root(endpoint)}/faults", b'{"outage_after": 1}')[0] == 200
    assert chat(client).choices


def test_faults_change_over_http_and_bad_ones_are_refused(endpoint: Endpoint, client: openai.OpenAI) -> None:
    status, faults = post(f"{root(endpoint)}/faults", b'{"server_error": 1.0}')
    assert (status, faults["server_error"], faults["drop"]) == (200, 1.0, 0.0)
    with pytest.raises(openai.InternalServerError):
        chat(client)
    for body, where in ((b'{"server_error": 2}', "server_error: "), (b'{"sever_error": 1}', "sever_error: ")):
        status, answer = post(f"{root(endpoint)}/faults", body)
        assert status == 400
        assert answer["error"]["message"].startswith(where)


def test_stats_count_and_start_again(endpoint: Endpoint, client: openai.OpenAI) -> None:
    chat(client)
    chat(client)
    chat(client, model="judge")
    with urllib.request.urlopen(f"{root(endpoint)}/stats", timeout=20) as response:
        shown = json.loads(response.read())
    assert shown == endpoint.stats()
    assert shown == {
        "received": 3,
        "answered": 3,
        "repeated": 1,
        "by_model": {"target-steady": 2, "judge": 1},
        "by_fault": {},
    }
    assert post(f"{root(endpoint)}/stats/reset", b"")[1]["received"] == 0


def test_answers_take_the_latency_that_was_asked_for() -> None:
    with running_endpoint(latency=0.1) as endpoint, client_of(endpoint) as client:
        start = time.monotonic()
        assert chat(client).choices
        assert time.monotonic() - start >= 0.1


def test_an_app_on_another_server_says_that_it_cannot_cut_connections() -> None:
    app = make_app(Service(Faults(drop=1)))
    body = json.dumps({"model": "target", "messages": MESSAGES}).encode()
    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": [], "query_string": b""}

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message["status"]) if "status" in message else None

    sent: list[int] = []
    with pytest.raises(RuntimeError, match="needs the server of `serve`"):
        asyncio.run(app(scope, receive, send))
    assert sent == [500]


def test_the_world_and_the_endpoint_agree_for_every_model(client: openai.OpenAI) -> None:
    for name in names():
        text = chat(client, model=name).choices[0].message.content
        assert text == respond(name, ask(TASK, FULL_SKILL)).text
    assert reported("judge", ask(f'{TASK}\nReply with JSON: {{"score": 0.5}}')) == {"score": 0.5}
