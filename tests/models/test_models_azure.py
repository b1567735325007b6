import asyncio
import sys
from pathlib import PurePath
from typing import Any

import pytest
from models_doubles import Server, http

from etude.config import ModelSection
from etude.errors import ConfigError, RejectedRole, TransientError
from etude.models.azure import AzureModel
from etude.models.keys import Key
from etude.records import ChatRequest, user

VERSION = "api-version=2024-10-21"
OLDER = "https://name.openai.azure.com/openai/deployments/d"
OTHER = "https://name.openai.azure.com/openai/deployments/other"
HELLO = ChatRequest(messages=(user("Hello"),))


def section(**settings: Any) -> ModelSection:
    return ModelSection(**{"model": "azure:my-deployment", "timeout": 30, **settings})


async def ask(model: AzureModel) -> str:
    try:
        return (await model.complete(HELLO)).text
    finally:
        await model.aclose()


def command(code: str) -> str:
    """A command line that runs Python code without single quotes."""
    return f"{sys.executable} -c '{code}'"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (OLDER, f"base_url = {OLDER!r} has no api-version"),
        (f"{OTHER}?{VERSION}", f"base_url = {OTHER!r} is that of the deployment 'other', the model is 'azure:d'"),
    ],
)
def test_an_address_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch, given: str, message: str):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    with pytest.raises(ConfigError) as caught:
        AzureModel("d", section(base_url=given))
    assert str(caught.value) == (
        f"{message}\nhint: write it as in https://NAME.openai.azure.com, or with ?api-version=2024-10-21 at its end"
    )


def test_without_address_or_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AZURE_OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(ConfigError) as caught:
        AzureModel("d", section())
    assert str(caught.value) == (
        "azure:d has no address\nhint: set base_url to that of the resource, as in https://NAME.openai.azure.com"
    )
    with pytest.raises(ConfigError) as caught:
        AzureModel("d", section(base_url="https://name.openai.azure.com"))
    assert str(caught.value) == (
        "environment variable 'AZURE_OPENAI_API_KEY' is not set\n"
        "hint: put the key there, name another variable in api_key_env, or print it with api_key_command"
    )
    with pytest.raises(ConfigError, match="is not an address"):
        AzureModel("d", section(base_url="http://[::1"))


def test_the_switch_of_other_models_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    with pytest.raises(ConfigError) as caught:
        AzureModel("d", section(base_url="https://name.openai.azure.com", thinking="off"))
    assert str(caught.value) == (
        "thinking = 'off': OpenAI's own models have no such switch\nhint: set reasoning_effort instead, as in 'low'"
    )


async def test_the_printed_key_is_not_shown_and_its_source_is_named(server: Server):
    server.script = [http(401, {"error": {"message": "bad token-123456"}})]
    model = AzureModel("d", section(base_url=server.url, api_key_command=command('print("token-123456")')))
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
        await ask(AzureModel("d", section(base_url=server.url, api_key_command=command(code))))
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert server.heard == []


async def test_a_command_that_hangs_is_ended(server: Server):
    waits = command("import time; time.sleep(600)")
    with pytest.raises(TransientError) as caught:
        await ask(AzureModel("d", section(base_url=server.url, timeout=0.3, api_key_command=waits)))
    assert caught.value.message == f"{PROGRAM} has printed nothing in 0.3 seconds"


@pytest.mark.parametrize("given", ["", "no-such-program --token", "az 'account"])
def test_a_command_that_cannot_be_run_is_refused_at_once(given: str):
    with pytest.raises(ConfigError, match="api_key_command = "):
        AzureModel("d", section(base_url="https://name.openai.azure.com", api_key_command=given))


def test_requests_of_two_loops_take_turns_at_the_command():
    key = Key(section(api_key_command=command('print("k")')), needed=True)

    async def together() -> list[str]:
        return list(await asyncio.gather(key.renewed(), key.renewed()))

    assert asyncio.run(together()) == asyncio.run(together()) == ["k", "k"]
