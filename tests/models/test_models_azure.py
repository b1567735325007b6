import asyncio
import sys
import time
from pathlib import PurePath
from typing import Any

import pytest
from models_doubles import Server, http

from etude.config import ModelSection
from etude.errors import ConfigError, RejectedRole, TransientError
from etude.models.azure import AzureModel
from etude.models.keys import Key, key_variable
from etude.records import ChatRequest, user

VERSION = "api-version=2024-10-21"
OLDER = "https://name.openai.azure.com/openai/deployments/d"
OTHER = "https://name.openai.azure.com/openai/deployments/other"
HELLO = ChatRequest(messages=(user("Hello"),))
OK = http(200, {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})


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


async def test_a_deployment_is_asked_with_its_key_and_the_limit_of_openai(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "secret-12345")
    server.script = [OK]
    model = AzureModel("my-deployment", section(base_url=server.url))
    assert await ask(model) == "Hi"
    heard = server.heard[0]
    assert (heard.path, heard.headers["authorization"]) == ("/v1/chat/completions", "Bearer secret-12345")
    assert (heard.body["model"], heard.body["max_completion_tokens"]) == ("my-deployment", 4096)
    assert model.name == "azure:my-deployment"


async def test_responses_are_asked_for_where_the_settings_say_so(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    server.script = [http(200, {"output": []})]
    assert await ask(AzureModel("d", section(base_url=server.url, api="responses"))) == ""
    assert server.heard[0].path == "/v1/responses"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("https://name.openai.azure.com", "https://name.openai.azure.com/openai/v1"),
        ("https://name.openai.azure.com/openai/v1/", "https://name.openai.azure.com/openai/v1/"),
        ("https://name.openai.azure.com/openai/v1?api-version=preview", "https://name.openai.azure.com/openai/v1"),
        (f"https://name.openai.azure.com?{VERSION}", OLDER),
        (f"{OLDER}?{VERSION}", OLDER),
        (f"{OLDER}/chat/completions?{VERSION}", OLDER),
    ],
)
def test_the_address_of_the_resource_is_enough(monkeypatch: pytest.MonkeyPatch, given: str, used: str):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    assert AzureModel("d", section(base_url=given)).endpoint == used
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", given)
    assert AzureModel("d", section()).endpoint == used


async def test_a_deployment_behind_an_api_version_is_asked_with_its_key_in_its_own_header(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "secret-12345")
    server.script = [OK]
    root = server.url.removesuffix("/v1")
    assert await ask(AzureModel("my deployment", section(base_url=f"{root}?{VERSION}"))) == "Hi"
    heard = server.heard[0]
    assert heard.path == f"/openai/deployments/my%20deployment/chat/completions?{VERSION}"
    assert heard.headers["api-key"] == "secret-12345"
    assert "authorization" not in heard.headers


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_token_goes_where_openai_has_its_keys_whatever_the_address(server: Server, api: str):
    server.script = [OK if api == "chat" else http(200, {"output": []})]
    root = server.url.removesuffix("/v1")
    for address in (f"{root}?{VERSION}", root):
        await ask(
            AzureModel("d", section(base_url=address, api=api, api_key_command=command('print("token-123456")')))
        )
    older = "deployments/d/chat/completions" if api == "chat" else "responses"
    newer = "chat/completions" if api == "chat" else "responses"
    assert [heard.path for heard in server.heard] == [f"/openai/{older}?{VERSION}", f"/openai/v1/{newer}"]
    assert {heard.headers["authorization"] for heard in server.heard} == {"Bearer token-123456"}
    assert not any("api-key" in heard.headers for heard in server.heard)


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


async def test_a_command_prints_the_key_once_for_many_requests(server: Server, tmp_path):
    server.script = [OK]
    code = f'open("{tmp_path}/calls", "a").write("x"); print(" token-123456 ")'
    model = AzureModel("d", section(base_url=server.url, api_key_command=command(code)))
    assert not (tmp_path / "calls").exists()
    for _ in range(2):
        await model.complete(HELLO)
    await model.aclose()
    assert [heard.headers["authorization"] for heard in server.heard] == ["Bearer token-123456"] * 2
    assert (tmp_path / "calls").read_text() == "x"


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


def test_a_printed_key_is_asked_for_again_after_four_minutes(tmp_path, monkeypatch: pytest.MonkeyPatch):
    code = f'open("{tmp_path}/calls", "a").write("x"); print("k")'
    key = Key(section(api_key_command=command(code)), needed=True)
    clock = time.monotonic
    for minutes, calls in ((0, "x"), (2, "x"), (4, "xx"), (6, "xx")):
        with monkeypatch.context() as later:
            later.setattr(time, "monotonic", lambda ahead=60 * minutes: clock() + ahead)
            assert asyncio.run(key.renewed()) == "k"
        assert (tmp_path / "calls").read_text() == calls


def test_requests_of_two_loops_take_turns_at_the_command():
    key = Key(section(api_key_command=command('print("k")')), needed=True)

    async def together() -> list[str]:
        return list(await asyncio.gather(key.renewed(), key.renewed()))

    assert asyncio.run(together()) == asyncio.run(together()) == ["k", "k"]


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        ({"model": "openai:m"}, "OPENAI_API_KEY"),
        ({"model": "anthropic:m"}, "ANTHROPIC_API_KEY"),
        ({"model": "azure:m"}, "AZURE_OPENAI_API_KEY"),
        ({"model": "azure:m", "api_key_env": "MY_KEY"}, "MY_KEY"),
    ],
)
def test_every_provider_has_its_usual_variable(settings: dict[str, Any], variable: str):
    assert key_variable(ModelSection(**settings)) == variable
