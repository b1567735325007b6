"""Keys that a command prints, and where keys go."""

import asyncio
import sys
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import pytest
from models_doubles import Server, http

from etude.config import ModelSection
from etude.errors import ConfigError, RejectedRole, TransientError
from etude.models.keys import Key
from etude.models.openai import OpenAIModel
from etude.records import ChatRequest, user
from rows import rows

HELLO = ChatRequest(messages=(user("Hello"),))


def section(**settings: Any) -> ModelSection:
    return ModelSection(**{"model": "openai:m", "timeout": 30, **settings})


async def ask(model: OpenAIModel) -> str:
    try:
        return (await model.complete(HELLO)).text
    finally:
        await model.aclose()


def command(code: str) -> str:
    """A command line that runs Python code without single quotes."""
    return f"{sys.executable} -c '{code}'"


async def test_with_an_api_version_the_key_has_a_header_of_its_own_and_a_printed_one_is_a_token(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", "key-123456")
    server.script = [http(200, {"choices": [{"message": {"role": "assistant", "content": "5"}}]})]
    at = f"{server.url}/openai/deployments/d/chat/completions?api-version=2024-10-21"
    for more in ({"api_key_env": "MY_KEY"}, {"api_key_command": command('print("token-123456")')}):
        await ask(OpenAIModel("d", section(base_url=at, **more)))
    assert [heard.path for heard in server.heard] == [urlsplit(at)[2] + "?api-version=2024-10-21"] * 2
    names = ("api-key", "authorization")
    assert [tuple(heard.headers.get(name) for name in names) for heard in server.heard] == [
        ("key-123456", None),
        (None, "Bearer token-123456"),
    ]


def test_at_azure_a_key_is_needed_and_thinking_has_no_switch(monkeypatch: pytest.MonkeyPatch):
    at = "https://name.openai.azure.com/openai/v1"
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(ConfigError, match="environment variable 'MY_KEY' is not set"):
        OpenAIModel("d", section(base_url=at, api_key_env="MY_KEY"))
    monkeypatch.setenv("MY_KEY", "k")
    with pytest.raises(ConfigError, match="have no such switch"):
        OpenAIModel("d", section(base_url=at, api_key_env="MY_KEY", thinking="off"))


async def test_the_printed_key_is_not_shown_and_its_source_is_named(server: Server):
    server.script = [http(401, {"error": {"message": "bad token-123456"}})]
    model = OpenAIModel("d", section(base_url=server.url, api_key_command=command('print("token-123456")')))
    with pytest.raises(RejectedRole) as caught:
        await ask(model)
    assert caught.value.message == "HTTP 401: bad [redacted:api_key_command]"
    assert caught.value.hint == "check the key in api_key_command and its account"


PROGRAM = f"api_key_command {PurePath(sys.executable).name!r}"
ONE_LINE = "allowed is one line of ASCII letters, digits and signs, without spaces"
RUN_IT = "run it in a shell: it must print the key and nothing else"


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        ('import sys; sys.exit("log in first")', f"{PROGRAM} failed with exit code 1: log in first", ""),
        ("pass", f"{PROGRAM} printed no key: {ONE_LINE}", RUN_IT),
        ('print("a"); print("b")', f"{PROGRAM} printed no key: {ONE_LINE}", RUN_IT),
    ],
)
async def test_a_command_that_fails_may_work_later(server: Server, code: str, message: str, hint: str):
    with pytest.raises(TransientError) as caught:
        await ask(OpenAIModel("d", section(base_url=server.url, api_key_command=command(code))))
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert server.heard == []


async def test_a_command_that_hangs_is_ended(server: Server):
    waits = command("import time; time.sleep(600)")
    with pytest.raises(TransientError) as caught:
        await ask(OpenAIModel("d", section(base_url=server.url, timeout=0.3, api_key_command=waits)))
    assert caught.value.message == f"{PROGRAM} has printed nothing in 0.3 seconds"


@rows("given", ["", "no-such-program --token", "az 'account"])
def test_a_command_that_cannot_be_run_is_refused_at_once(given: str):
    with pytest.raises(ConfigError, match="api_key_command = "):
        OpenAIModel("d", section(base_url="http://127.0.0.1:1", api_key_command=given))


def test_requests_of_two_loops_take_turns_at_the_command():
    key = Key(section(api_key_command=command('print("k")')), needed=True)

    async def together() -> list[str]:
        return list(await asyncio.gather(key.renewed(), key.renewed()))

    assert asyncio.run(together()) == asyncio.run(together()) == ["k", "k"]
