"""What failures of a server mean: the same in every interface that is asked over HTTP."""

import asyncio
from typing import Any

import pytest
from models_doubles import DROP, HANG, Server, http

from etude.config import ModelSection
from etude.errors import ModelError, RejectedRequest, RejectedRole, TransientError
from etude.models.anthropic import AnthropicModel
from etude.models.http import HttpModel
from etude.models.openai import OpenAIModel
from etude.records import ChatRequest, user
from rows import few

HELLO = ChatRequest(messages=(user("Hello"),))
INTERFACES = ("chat", "responses", "messages")
pytestmark = pytest.mark.parametrize("interface", INTERFACES)


def a_model(interface: str, server: Server, **settings: Any) -> HttpModel:
    values: dict[str, Any] = {"base_url": server.url, "api_key_env": "NO_SUCH_KEY", "timeout": 30, **settings}
    if interface == "messages":
        return AnthropicModel("m", ModelSection(model="anthropic:m", **values))
    return OpenAIModel("m", ModelSection(model="openai:m", api=interface, **values))


def refusal(interface: str, text: str) -> dict[str, Any]:
    """The body of an error."""
    error = {"message": text, "type": "an_error"}
    return {"type": "error", "error": error} if interface == "messages" else {"error": {**error, "code": "x"}}


async def failure(interface: str, server: Server, line: bytes | str, **settings: Any) -> Any:
    server.script = [line]
    model = a_model(interface, server, **settings)
    with pytest.raises(ModelError) as caught:
        await model.complete(HELLO)
    await model.aclose()
    return caught.value


async def test_too_many_requests_are_transient_and_tell_how_long_to_wait(interface: str, server: Server):
    error = await failure(interface, server, http(429, refusal(interface, "slow down"), Retry_After="2.5"))
    assert isinstance(error, TransientError)
    assert (error.rate_limited, error.retry_after, error.unreachable) == (True, 2.5, False)
    assert str(error) == "HTTP 429: slow down"


@pytest.mark.parametrize("status", few([408, 409, 500, 502, 503, 529], 408, 409, 529))
async def test_server_errors_are_transient_and_sent_once(interface: str, server: Server, status: int):
    error = await failure(interface, server, http(status, refusal(interface, "upstream is down")))
    assert isinstance(error, TransientError)
    assert (str(error), error.rate_limited, error.unreachable) == (f"HTTP {status}: upstream is down", False, False)
    assert len(server.heard) == 1  # nothing is sent again behind the budget
    assert (await failure(interface, server, http(status, b"no JSON"))).message == f"HTTP {status}: no JSON"


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_bad_requests_are_rejected_with_the_words_of_the_server(interface: str, server: Server, status: int):
    error = await failure(interface, server, http(status, refusal(interface, "too long")))
    assert isinstance(error, RejectedRequest)
    assert str(error) == f"HTTP {status}: too long"


@pytest.mark.parametrize("status", [401, 402, 403])
async def test_a_refused_key_rejects_the_role_and_names_the_variable(interface: str, server: Server, status: int):
    error = await failure(interface, server, http(status, refusal(interface, "no")))
    assert isinstance(error, RejectedRole)
    assert str(error) == f"HTTP {status}: no\nhint: set NO_SUCH_KEY to a key: it is not set"


async def test_an_unknown_model_rejects_the_role(interface: str, server: Server):
    error = await failure(interface, server, http(404, refusal(interface, "no model m")))
    assert isinstance(error, RejectedRole)
    assert str(error) == f"HTTP 404: no model m\nhint: check the model name 'm' and the address {server.url}"


async def test_a_silent_server_is_given_up_after_the_timeout(interface: str, server: Server):
    error = await failure(interface, server, HANG, timeout=0.2)
    assert isinstance(error, TransientError)
    assert (str(error), error.unreachable) == ("no answer within 0.2 seconds", True)


@pytest.mark.parametrize("line", [DROP, http(200, {"content": []})[:-5]])
async def test_a_dropped_connection_is_transient(interface: str, server: Server, line: bytes | str):
    error = await failure(interface, server, line)
    assert isinstance(error, TransientError)
    assert error.unreachable
    assert str(error).startswith("no connection: ")


async def test_a_closed_port_is_unreachable(interface: str, server: Server):
    error = await failure(interface, server, DROP, base_url="http://127.0.0.1:9/v1")
    assert isinstance(error, TransientError)
    assert error.unreachable


async def test_long_answers_are_cut_in_messages(interface: str, server: Server):
    assert len(str(await failure(interface, server, http(400, refusal(interface, "x" * 5000))))) < 600


async def test_a_key_is_sent_and_never_shown(interface: str, server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TEST_KEY", " secret-12345 ")
    said = http(401, refusal(interface, "bad secret-12345"))
    error = await failure(interface, server, said, api_key_env="TEST_KEY")
    assert error.message == "HTTP 401: bad [redacted:TEST_KEY]"
    assert error.hint == "check the key in TEST_KEY and its account"
    name, key = ("x-api-key", "secret-12345") if interface == "messages" else ("authorization", "Bearer secret-12345")
    assert server.heard[0].headers[name] == key


async def test_cancelling_a_request_reaches_the_socket(interface: str, server: Server):
    server.script = [HANG]
    model = a_model(interface, server)
    task = asyncio.ensure_future(model.complete(HELLO))
    while not server.heard:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await model.aclose()
