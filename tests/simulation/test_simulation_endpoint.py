"""The endpoint over real HTTP, with the real clients of every interface.

How requests and replies are written is tested with the formats; here it is what the endpoint makes of them.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from simulation_prompts import FULL_SKILL, PATCH, ask, attempt_block, reported, root

from etude.simulation import names, respond
from etude.simulation.endpoint import Endpoint, running_endpoint
from etude.simulation.service import IN_A_ROW, SEED_HEADER, Faults
from later import anthropic, openai
from rows import few, rows

TASK = "Sort the following words alphabetically: List: pear apple fig"
MESSAGES: Any = [{"role": "system", "content": FULL_SKILL}, {"role": "user", "content": TASK}]
SUBMIT = {"type": "object", "properties": {"answer": {"type": "string"}}}
TOOL: Any = {"type": "function", "function": {"name": "submit", "parameters": SUBMIT}}


class Clients:
    """A client of each interface, for one endpoint."""

    def __init__(self, endpoint: Endpoint, key: str = "right") -> None:
        common: Any = {"max_retries": 0, "timeout": 20}
        self.gpt = openai.OpenAI(base_url=endpoint.url, api_key=key, **common)
        self.newer = openai.OpenAI(base_url=f"{root(endpoint)}/openai/v1", api_key=key, **common)
        self.claude = anthropic.Anthropic(base_url=root(endpoint), api_key=key, **common)
        azure: Any = {"azure_endpoint": root(endpoint), "api_version": "2024-10-21", **common}
        self.azure = openai.AzureOpenAI(api_key=key, **azure)
        self.token = openai.AzureOpenAI(azure_ad_token=key, **azure)

    def close(self) -> None:
        for client in vars(self).values():
            client.close()


def chat(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(**{"model": "target-steady", "messages": MESSAGES, **more})


def chunks(client: openai.OpenAI, **more: Any) -> str:
    return "".join(part.choices[0].delta.content or "" for part in chat(client, stream=True, **more) if part.choices)


def response(client: openai.OpenAI, **more: Any) -> Any:
    asked = {"model": "target-steady", "instructions": FULL_SKILL, "input": TASK, **more}
    return client.responses.create(**asked).output_text


def message(client: anthropic.Anthropic, **more: Any) -> Any:
    asked: Any = {"model": "target-steady", "max_tokens": 1000, "system": FULL_SKILL}
    return (
        client.messages.create(**{**asked, "messages": [{"role": "user", "content": TASK}], **more}).content[0].text
    )


def said(client: openai.OpenAI, **more: Any) -> Any:
    return chat(client, **more).choices[0].message.content


Way = Callable[..., str]
WAYS: Mapping[str, Callable[[Clients], tuple[Way, Any]]] = {
    "chat": lambda clients: (said, clients.gpt),
    "chat streamed": lambda clients: (chunks, clients.gpt),
    "responses": lambda clients: (response, clients.gpt),
    "messages": lambda clients: (message, clients.claude),
    "azure": lambda clients: (said, clients.azure),
    "azure streamed": lambda clients: (chunks, clients.azure),
    "azure responses": lambda clients: (response, clients.azure),
    "azure with a token": lambda clients: (said, clients.token),
    "azure without a version": lambda clients: (said, clients.newer),
    "responses without a version": lambda clients: (response, clients.newer),
}
SEEDED = tuple(name for name in WAYS if "azure" not in name and "version" not in name)


@pytest.fixture(scope="module")
def keyed() -> Iterator[Endpoint]:
    with running_endpoint(key="right") as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def clients(keyed: Endpoint) -> Iterator[Clients]:
    clients = Clients(keyed)
    yield clients
    clients.close()


@pytest.fixture
def endpoint(keyed: Endpoint) -> Iterator[Endpoint]:
    keyed.reset_stats()
    keyed.set_faults(Faults())
    yield keyed
    keyed.set_faults(Faults())


@pytest.fixture
def client(endpoint: Endpoint, clients: Clients) -> openai.OpenAI:
    return clients.gpt


def post(url: str, body: bytes, **headers: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body or None, headers), timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.mark.parametrize("way", WAYS)
def test_every_interface_says_what_the_world_says(endpoint: Endpoint, clients: Clients, way: str) -> None:
    how, client = WAYS[way](clients)
    assert how(client) == respond("target-steady", ask(TASK, FULL_SKILL)).text
    assert endpoint.stats()["by_model"] == {"target-steady": 1}


@pytest.mark.parametrize("way", SEEDED)
def test_the_seed_decides_what_goes_wrong_and_is_another_question(
    endpoint: Endpoint, clients: Clients, way: str
) -> None:
    how, client = WAYS[way](clients)
    for seed in (0, 3, 3):
        text = how(client, model="target", extra_headers={SEED_HEADER: str(seed)})
        assert text == respond("target", ask(TASK, FULL_SKILL, seed)).text
    assert (endpoint.stats()["answered"], endpoint.stats()["repeated"]) == (3, 1)
    with pytest.raises((openai.BadRequestError, anthropic.BadRequestError), match="'two' is not a whole number"):
        how(client, extra_headers={SEED_HEADER: "two"})


def test_schemas_and_forced_tools_are_filled_and_replies_cut_at_the_limit(client: openai.OpenAI) -> None:
    blocks = attempt_block("a-1", "Sort the following words alphabetically: List: b a b", "a b")
    form = {"type": "json_schema", "json_schema": {"name": "patch", "schema": PATCH, "strict": True}}
    messages = [{"role": "user", "content": blocks}]
    (edit,) = json.loads(said(client, model="optimizer-perfect", messages=messages, response_format=form))["edits"]
    assert edit["cites"] == ["a-1"]
    for choice, called in (("required", True), ("auto", False)):
        calls = chat(client, tools=[TOOL], tool_choice=choice).choices[0].message.tool_calls or []
        assert [json.loads(call.function.arguments) for call in calls] == [{"answer": "apple fig pear"}] * called
    for name in ("max_tokens", "max_completion_tokens"):
        reply = chat(client, **{name: 3})
        assert (reply.choices[0].finish_reason, reply.usage.completion_tokens) == ("length", 3)
        assert reply.choices[0].message.content == said(client)[:12]
    forced = chat(client, tools=[TOOL], tool_choice="required", max_tokens=2).choices[0]
    assert len(forced.message.tool_calls[0].function.arguments) == 8


@rows(
    ("path", "body", "status", "text"),
    [
        ("/v1/chat/completions", b'{"model": "target", "messages": []}', 400, "messages: "),
        ("/v1/messages", b"{", 400, ""),
        ("/openai/deployments/target/chat/completions", b"{}", 404, "the address needs an api-version"),
        ("/openai/deployments/target/chat/completions?api-version=1", b"[]", 400, "Input should be an object"),
    ],
)
def test_what_cannot_be_answered_says_why(endpoint: Endpoint, path: str, body: bytes, status: int, text: str) -> None:
    found, answer = post(f"{root(endpoint)}{path}", body, Authorization="Bearer right")
    assert (found, text in answer["error"]["message"]) == (status, True)


@pytest.mark.parametrize("way", few(WAYS, first=4))
def test_a_required_key_is_checked_in_every_header(keyed: Endpoint, way: str) -> None:
    wrong = Clients(keyed, "wrong")
    how, client = WAYS[way](wrong)
    with pytest.raises((openai.AuthenticationError, anthropic.AuthenticationError), match="Incorrect API key"):
        how(client)
    with pytest.raises(openai.AuthenticationError):
        list(wrong.gpt.models.list())
    wrong.close()


REFUSED = {
    "rate_limit": ("RateLimitError", "RateLimitError"),
    "rate_limit_bare": ("RateLimitError", "RateLimitError"),
    "server_error": ("InternalServerError", "InternalServerError"),
    "unavailable": ("InternalServerError", "APIStatusError"),
    "hang": ("APIConnectionError", "APIConnectionError"),
    "drop": ("APIConnectionError", "APIConnectionError"),
    "broken_json": (),
    "truncated": ("APIConnectionError", "APIConnectionError"),
}
"""What the clients raise, of OpenAI and Anthropic."""


@pytest.mark.parametrize("fault", REFUSED)
@pytest.mark.parametrize("way", ["chat", "chat streamed", "responses", "messages"])
def test_a_fault_strikes_at_most_twice_in_a_row_then_the_request_passes(
    endpoint: Endpoint, clients: Clients, way: str, fault: str
) -> None:
    how, client = WAYS[way](clients)
    endpoint.set_faults(Faults.model_validate({fault: 1.0, "hang_seconds": 0.05}))
    known = [getattr(package, name) for package, name in zip((openai, anthropic), REFUSED[fault], strict=False)]
    for _ in range(IN_A_ROW):
        with pytest.raises((*known, json.JSONDecodeError)):
            how(client)
    assert how(client).endswith("apple fig pear")
    stats = endpoint.stats()
    assert (stats["received"], stats["answered"], stats["by_fault"]) == (3, 1, {fault: 2})


def test_a_hang_ends_when_the_client_leaves(endpoint: Endpoint) -> None:
    endpoint.set_faults(Faults(hang=1, hang_seconds=600))
    with openai.OpenAI(base_url=endpoint.url, api_key="right", max_retries=0, timeout=0.2) as client:
        with pytest.raises(openai.APITimeoutError):
            chat(client)
        endpoint.set_faults(Faults())
        assert chat(client).choices


def test_spoiled_answers_are_answers(endpoint: Endpoint, client: openai.OpenAI) -> None:
    endpoint.set_faults(Faults(empty=1))
    assert said(client) == ""
    endpoint.set_faults(Faults(cut_structured=1))
    assert said(client).endswith("apple fig pear"), "plain text is left alone"
    form = {"type": "json_schema", "json_schema": {"name": "patch", "schema": PATCH, "strict": True}}
    cut = (
        said(client, response_format=form),
        chat(client, tools=[TOOL], tool_choice="required").choices[0].message.tool_calls[0].function.arguments,
    )
    for text in cut:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
    endpoint.set_faults(Faults(bad_seeds=1))
    assert said(client, seed=1) == "Answer: I cannot tell."
    assert endpoint.stats()["answered"] == 5


def test_an_outage_lasts_until_the_faults_are_changed(endpoint: Endpoint, client: openai.OpenAI) -> None:
    endpoint.set_faults(Faults(outage_after=1))
    assert chat(client).choices
    for _ in range(4):
        with pytest.raises(openai.APIConnectionError):
            chat(client)
    assert endpoint.stats()["by_fault"] == {"outage": 4}
    endpoint.set_faults(Faults(outage_after=1))
    assert chat(client).choices


def test_the_world_and_the_endpoint_agree_for_every_model(client: openai.OpenAI) -> None:
    for name in names():
        assert said(client, model=name) == respond(name, ask(TASK, FULL_SKILL)).text
    assert reported("judge", ask(f'{TASK}\nReply with JSON: {{"score": 0.5}}')) == {"score": 0.5}
