"""Anthropic Messages and OpenAI Responses over real HTTP, with the real clients, plain and streamed."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from simulation_prompts import FULL_SKILL, PATCH, answer_of, ask, attempt_block, root

from etude.records import Reply
from etude.simulation import names, respond
from etude.simulation.endpoint import Endpoint, running_endpoint
from etude.simulation.faults import Faults
from etude.simulation.wire import SEED_HEADER

TASK = "Sort the following words alphabetically: List: pear apple fig"
SUBMIT = {"type": "object", "properties": {"answer": {"type": "string"}}}


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


def test_the_seed_travels_in_a_header(claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    seed = 3
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


@pytest.mark.parametrize("how", [message, streamed_message, response, streamed_response])
def test_tools_are_called_when_forced_and_may_be_ignored_else(
    claude: anthropic.Anthropic, gpt: openai.OpenAI, how: Any
) -> None:
    if how in (message, streamed_message):
        tools: Any = [{"name": "submit", "input_schema": SUBMIT}]
        (call,) = how(claude, tools=tools, tool_choice={"type": "any"}).content
        assert (call.type, call.name, call.input) == ("tool_use", "submit", {"answer": "apple fig pear"})
        assert how(claude, tools=tools, tool_choice={"type": "auto"}).content[0].type == "text"
        return
    tools = [{"type": "function", "name": "submit", "parameters": SUBMIT, "strict": False}]
    (call,) = how(gpt, tools=tools, tool_choice="required").output
    assert (call.name, json.loads(call.arguments)) == ("submit", {"answer": "apple fig pear"})
    assert how(gpt, tools=tools).output[0].type == "message"


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


@pytest.mark.parametrize("fault", ["rate_limit", "unavailable", "drop"])
def test_faults_strike_on_every_wire_and_then_the_request_passes(
    endpoint: Endpoint, claude: anthropic.Anthropic, gpt: openai.OpenAI, fault: str
) -> None:
    both: tuple[tuple[Any, Any], ...] = ((message, claude), (response, gpt))
    for ask_once, client in both:
        endpoint.reset_stats()
        endpoint.set_faults(Faults.model_validate({fault: 1.0, "hang_seconds": 0.05, "retry_after": 0.25}))
        for _ in range(2):
            with pytest.raises((anthropic.APIError, openai.APIError)):
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
