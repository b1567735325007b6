"""The addresses that Azure has for its deployments, with OpenAI's own client for them."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from simulation_prompts import FULL_SKILL, ask, root

from etude.simulation import respond
from etude.simulation.endpoint import Endpoint, running_endpoint

TASK = "Sort the following words alphabetically: List: pear apple fig"
MESSAGES: Any = [{"role": "system", "content": FULL_SKILL}, {"role": "user", "content": TASK}]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint(key="right") as endpoint:
        yield endpoint


def azure(endpoint: Endpoint, **given: Any) -> openai.AzureOpenAI:
    return openai.AzureOpenAI(
        azure_endpoint=root(endpoint), api_version="2024-10-21", max_retries=0, timeout=20, **given
    )


@pytest.mark.parametrize("given", [{"api_key": "right"}, {"azure_ad_token": "right"}])
def test_a_deployment_is_the_model_whatever_the_body_names(endpoint: Endpoint, given: dict[str, str]) -> None:
    expected = respond("target-steady", ask(TASK, FULL_SKILL)).text
    with azure(endpoint, azure_deployment="target-steady", **given) as client:
        reply = client.chat.completions.create(model="any", messages=MESSAGES)
        assert reply.choices[0].message.content == expected
        stream = client.chat.completions.create(model="any", messages=MESSAGES, stream=True)
        assert "".join(part.choices[0].delta.content or "" for part in stream if part.choices) == expected
    with azure(endpoint, **given) as client:
        response = client.responses.create(model="target-steady", instructions=FULL_SKILL, input=TASK)
        assert response.output_text == expected


def test_the_interface_without_a_version_says_the_same(endpoint: Endpoint) -> None:
    expected = respond("target-steady", ask(TASK, FULL_SKILL)).text
    with openai.OpenAI(base_url=f"{root(endpoint)}/openai/v1", api_key="right", max_retries=0) as client:
        reply = client.chat.completions.create(model="target-steady", messages=MESSAGES)
        assert reply.choices[0].message.content == expected
        response = client.responses.create(model="target-steady", instructions=FULL_SKILL, input=TASK)
        assert response.output_text == expected


@pytest.mark.parametrize("given", [{"api_key": "wrong"}, {"azure_ad_token": "wrong"}])
def test_a_wrong_key_or_token_is_refused(endpoint: Endpoint, given: dict[str, str]) -> None:
    with azure(endpoint, **given) as client, pytest.raises(openai.AuthenticationError, match="Incorrect API key"):
        client.chat.completions.create(model="target-steady", messages=MESSAGES)


@pytest.mark.parametrize(
    ("path", "body", "status", "reported"),
    [
        ("/openai/deployments/target/chat/completions", b"{}", 404, "the address needs an api-version"),
        ("/openai/deployments/target/chat/completions?api-version=1", b"[]", 400, "Input should be an object"),
    ],
)
def test_what_cannot_be_answered_says_why(
    endpoint: Endpoint, path: str, body: bytes, status: int, reported: str
) -> None:
    request = urllib.request.Request(f"{root(endpoint)}{path}", body, {"api-key": "right"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=20)
    with caught.value as answer:
        assert answer.code == status
        assert reported in answer.read().decode()
