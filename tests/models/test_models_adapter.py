"""The adapter with the models that pydantic-ai offers for tests, and with a real one over loopback."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from typing import Any

import pytest

from etude.config import ModelSection
from etude.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError, install_command
from etude.models import build_model
from etude.records import (
    ChatRequest,
    ImagePart,
    Message,
    ResponseSchema,
    TextPart,
    Tool,
    ToolCall,
    assistant,
    system,
    user,
)
from etude.simulation.endpoint import running_endpoint
from etude.simulation.faults import Faults
from etude.testing.chat_model import ChatModelContract

pytest.importorskip("pydantic_ai", reason="the extra 'providers' is not installed")

from pydantic_ai import exceptions
from pydantic_ai import messages as pai
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from etude.models.adapter import AdapterModel

NO_SCHEMA = {"supports_json_schema_output": False}
HELLO = ChatRequest(messages=(system("Be brief."), user("Hello")))


class Heard:
    """What the model inside was told, and what it is to answer."""

    def __init__(self, *parts: Any, **fields: Any) -> None:
        self.answer = pai.ModelResponse(parts=list(parts) or [pai.TextPart("Hi")], **fields)
        self.messages: list[Any] = []
        self.info: Any = None

    def __call__(self, messages: list[Any], info: AgentInfo) -> pai.ModelResponse:
        self.messages, self.info = messages, info
        return self.answer


def a_model(function: Callable[..., Any], profile: dict[str, Any] | None = None, **settings: Any) -> AdapterModel:
    inner = FunctionModel(function, profile=profile)  # type: ignore[arg-type]
    return AdapterModel("own:m", ModelSection(**{"model": "adapter:own:m", "timeout": 30, **settings}), inner)


async def answer(heard: Heard, request: ChatRequest = HELLO, **settings: Any) -> Any:
    return await a_model(heard, **settings).complete(request)


async def test_the_conversation_is_reported_in_turns_and_the_system_gives_the_instructions():
    call = ToolCall(id="c1", name="look", arguments='{"at": 1}')
    pictures = (ImagePart(url="data:image/png;base64,AAAA"), ImagePart(url="https://host/a.png"))
    request = ChatRequest(
        messages=(
            system("One."),
            Message(role="user", content=(TextPart(text="What?"), *pictures)),
            Message(role="assistant", content=(TextPart(text="I look."),), tool_calls=(call,)),
            Message(role="tool", content=(TextPart(text="a cat"),), tool_call_id="c1"),
            user("So?"),
            system("Two."),
        ),
        tools=(Tool(name="look", description="Looks.", parameters={"type": "object", "properties": {}}),),
        forced_tool="look",
    )
    heard = Heard()
    await answer(heard, request)
    first, second, third = heard.messages
    assert heard.info.instructions == "One.\n\nTwo."
    (asked,) = first.parts
    assert asked.content[0] == "What?"
    assert (asked.content[1].data, asked.content[1].media_type) == (b"\0\0\0", "image/png")
    assert asked.content[2].url == "https://host/a.png"
    assert [type(part) for part in second.parts] == [pai.TextPart, pai.ToolCallPart]
    assert [(part.part_kind, part.content) for part in third.parts] == [
        ("tool-return", "a cat"),
        ("user-prompt", "So?"),
    ]
    assert (third.parts[0].tool_name, third.parts[0].tool_call_id) == ("look", "c1")
    (tool,) = heard.info.function_tools
    assert (tool.name, tool.description) == ("look", "Looks.")
    assert heard.info.model_settings["tool_choice"] == ["look"]


async def test_a_conversation_of_the_system_alone_is_reported_too():
    heard = Heard()
    await answer(heard, ChatRequest(messages=(system("Go."), assistant("I go."))))
    assert heard.info.instructions == "Go."
    await answer(heard, ChatRequest(messages=(user("a"), assistant("b"))))
    assert heard.info.instructions is None


async def test_a_schema_goes_to_models_that_take_one():
    schema = ResponseSchema(name="Answer", body={"type": "object", "properties": {}})
    request = HELLO.model_copy(update={"response_schema": schema})
    heard = Heard(pai.TextPart("{}"))
    await a_model(heard, {"supports_json_schema_output": True}).complete(request)
    form = heard.info.model_request_parameters.output_object
    assert (form.name, form.json_schema) == ("Answer", schema.body)
    with pytest.raises(RejectedRequest, match="own:m takes no JSON schema"):
        await a_model(heard, NO_SCHEMA).complete(request)


async def test_a_stream_gives_the_same_answer():
    async def stream(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        del messages, info
        yield "H"
        yield "i"

    async def calls(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        del messages, info
        yield {0: DeltaToolCall(name="f", json_args='{"x":', tool_call_id="a")}
        yield {0: DeltaToolCall(json_args="1}")}

    settings = ModelSection(model="adapter:own:m", stream=True)
    reply = await AdapterModel("own:m", settings, FunctionModel(stream_function=stream)).complete(HELLO)
    assert (reply.text, reply.finish) == ("Hi", "stop")
    assert reply.usage.total > 0
    reply = await AdapterModel("own:m", settings, FunctionModel(stream_function=calls)).complete(HELLO)
    assert reply.tool_calls == (ToolCall(id="a", name="f", arguments='{"x":1}'),)


def http_error(status: int, **fields: Any) -> exceptions.ModelHTTPError:
    return exceptions.ModelHTTPError(status, "m", {"message": "told"}, **fields)


@pytest.mark.parametrize(
    ("raised", "kind", "facts"),
    [
        (http_error(429, headers={"Retry-After": "3"}), TransientError, (3.0, True, False)),
        (http_error(500), TransientError, (None, False, False)),
        (http_error(529), TransientError, (None, False, False)),
        (http_error(400), RejectedRequest, None),
        (http_error(401), RejectedRole, None),
        (http_error(404), RejectedRole, None),
        (exceptions.ModelQuotaExceededError("m", "empty"), RejectedRole, None),
        (exceptions.ModelContextWindowExceededError("m", "long"), RejectedRequest, None),
        (exceptions.ModelRateLimitError("m", "slow", retry_after=2), TransientError, (2, True, False)),
        (exceptions.ModelConnectionError("m", "gone"), TransientError, (None, False, True)),
        (exceptions.ModelTimeoutError("m", "late"), TransientError, (None, False, True)),
        (exceptions.ModelUnavailableError("m", "down"), TransientError, (None, False, False)),
        (exceptions.UnexpectedModelBehavior("odd"), TransientError, (None, False, False)),
        (exceptions.UserError("not with thinking"), RejectedRequest, None),
    ],
)
async def test_errors_mean_what_they_mean_for_other_providers(
    raised: Exception, kind: type[ModelError], facts: tuple[Any, ...] | None
):
    def fail(messages: list[Any], info: AgentInfo) -> pai.ModelResponse:
        raise raised

    with pytest.raises(ModelError) as caught:
        await a_model(fail).complete(HELLO)
    error = caught.value
    assert type(error) is kind
    if isinstance(error, TransientError):
        assert (error.retry_after, error.rate_limited, error.unreachable) == facts


async def test_a_filtered_answer_is_a_refusal():
    def fail(messages: list[Any], info: AgentInfo) -> pai.ModelResponse:
        raise exceptions.ContentFilterError("filtered")

    reply = await a_model(fail).complete(HELLO)
    assert (reply.finish, reply.text) == ("refusal", "filtered")


async def test_a_silent_model_is_given_up_after_the_timeout():
    async def wait(messages: list[Any], info: AgentInfo) -> pai.ModelResponse:
        await asyncio.sleep(600)
        raise AssertionError

    with pytest.raises(TransientError, match=r"no answer within 0.1 seconds"):
        await a_model(wait, timeout=0.1).complete(HELLO)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "adapter:nonsense"}, "model 'adapter:nonsense' names no provider and model of its own"),
        ({"model": "adapter:nosuch:m"}, "adapter:nosuch:m: Unknown provider: nosuch"),
        ({"model": "adapter:test", "api": "responses"}, "api = 'responses' is not a setting of adapter: models"),
        ({"model": "adapter:test", "api_key_command": "x"}, "api_key_command is not a setting of adapter: models"),
        ({"model": "adapter:anthropic:m", "api_key_env": "NO_SUCH"}, "environment variable 'NO_SUCH' is not set"),
        ({"model": "adapter:anthropic:m"}, "adapter:anthropic:m: "),
        ({"model": "adapter:deepseek:m", "base_url": "http://a"}, "adapter:deepseek:m takes no base_url"),
        ({"model": "adapter:test", "headers": {"X Team": "red"}}, "headers: 'X Team' cannot be sent"),
    ],
)
def test_what_cannot_be_is_a_config_error(monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], message: str):
    for name in ("ANTHROPIC_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError) as caught:
        build_model(ModelSection(**settings))
    assert caught.value.message.startswith(message)


def test_an_empty_key_that_a_client_refuses_is_a_config_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    settings = ModelSection(model="adapter:openai:x", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ConfigError, match=r"^adapter:openai:x: Missing credentials"):
        AdapterModel("openai:x", settings)


@pytest.mark.parametrize(
    ("provider", "module", "extra"), [("google", "google.genai", "google"), ("mistral", "mistralai", "mistral")]
)
def test_without_the_package_of_a_provider_the_error_says_what_to_install(provider: str, module: str, extra: str):
    if find_spec(module.partition(".")[0]) is not None:
        pytest.skip(f"{module} may be installed here")
    with pytest.raises(ConfigError) as caught:
        build_model(ModelSection(model=f"adapter:{provider}:m"))
    assert str(caught.value) == (
        f"adapter:{provider}:m needs the package of its provider {provider!r}, which is not installed\n"
        f"hint: pip install 'pydantic-ai-slim[{extra}]'"
    )


THINKS = {"supports_thinking": True}
ALWAYS_THINKS = {"thinking_always_enabled": True}
LEVELS = "minimal, low, medium, high, xhigh, max"


@pytest.mark.parametrize(
    ("profile", "settings", "shown"),
    [
        (
            THINKS,
            {"reasoning_effort": "hihg"},
            (
                f"adapter:own:m: reasoning_effort = 'hihg' is not a level of thinking; allowed: {LEVELS}\n"
                "hint: set one of these, or thinking: off for none"
            ),
        ),
        (
            {},
            {"reasoning_effort": "low"},
            (
                "adapter:own:m: reasoning_effort = 'low' would not be sent: pydantic-ai knows of no thinking of this "
                "model\nhint: leave it out, or put the provider's own field into extra_body where it takes one"
            ),
        ),
        (
            ALWAYS_THINKS,
            {"thinking": "off"},
            (
                "adapter:own:m: thinking = 'off' would not be sent: this model always thinks; set reasoning_effort "
                "instead, as in 'minimal'\nhint: leave it out, or put the provider's own field into extra_body where "
                "it takes one"
            ),
        ),
    ],
)
def test_thinking_that_would_not_reach_the_model_is_refused_before_anything_is_sent(
    profile: dict[str, Any], settings: dict[str, Any], shown: str
):
    heard = Heard()
    with pytest.raises(ConfigError) as caught:
        a_model(heard, profile, **settings)
    assert str(caught.value) == shown
    assert heard.messages == []


async def test_a_model_that_always_thinks_takes_every_level():
    heard = Heard()
    for level in LEVELS.split(", "):
        await a_model(heard, ALWAYS_THINKS, reasoning_effort=level).complete(HELLO)
        assert heard.info.model_request_parameters.thinking == level


def test_a_real_model_that_cannot_think_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert build_model(ModelSection(model="adapter:openai-chat:gpt-5.5", reasoning_effort="low"))
    with pytest.raises(ConfigError, match="would not be sent"):
        build_model(ModelSection(model="adapter:openai-chat:gpt-4o", reasoning_effort="low"))


def test_without_the_package_the_error_says_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['pydantic_ai'] = None\n"
        "from etude.models.adapter import AdapterModel\n"
        "from etude.config import ModelSection\n"
        "from etude.errors import ConfigError\n"
        "try:\n"
        "    AdapterModel('test', ModelSection(model='adapter:test'))\n"
        "except ConfigError as error:\n"
        "    print(error.hint)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == install_command("providers") + "\n"


def anthropic_at(url: str, **settings: Any) -> AdapterModel:
    values = {
        "model": "adapter:anthropic:target-steady",
        "base_url": url.removesuffix("/v1"),
        "api_key_env": "MY_KEY",
    }
    return AdapterModel("anthropic:target-steady", ModelSection(**{**values, "timeout": 30, **settings}))


async def test_a_real_provider_is_sent_every_request_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_KEY", "right")
    with running_endpoint(faults=Faults(unavailable=1)) as endpoint:
        model = anthropic_at(endpoint.url)
        with pytest.raises(TransientError) as caught:
            await model.complete(HELLO)
        await model.aclose()
        assert endpoint.stats()["received"] == 1
    assert "529" in caught.value.message


class TestContract(ChatModelContract):
    """With the model that pydantic-ai has for tests."""

    def make_model(self) -> AdapterModel:
        return AdapterModel("test", ModelSection(model="adapter:test"))

    def make_other_model(self) -> AdapterModel:
        return AdapterModel("test", ModelSection(model="adapter:test", temperature=1))


SIGNED = [
    [pai.ThinkingPart("Hm.", id="r", signature="sig", provider_name="google")],
    [pai.ThinkingPart("", signature="zz", provider_name="anthropic"), pai.TextPart("I look.")],
    [],
]


@pytest.mark.parametrize("before", SIGNED)
async def test_what_a_provider_wants_back_with_a_turn_is_sent_back(before: list[Any]):
    call = pai.ToolCallPart("f", {"x": 1}, "a", provider_details={"thought_signature": "s"})
    heard = Heard(*before, call, provider_name="google")
    reply = await answer(heard)
    renamed = reply.tool_calls[0].model_copy(update={"id": "b"})
    turn = Message.model_validate_json(reply.turn.model_copy(update={"tool_calls": (renamed,)}).model_dump_json())
    result = Message(role="tool", tool_call_id="b", content=(TextPart(text="ok"),))
    await answer(heard, ChatRequest(messages=(user("Hello"), turn, result)))
    response = heard.messages[1]
    assert response.provider_name == "google"
    assert response.parts == [*before, pai.ToolCallPart("f", {"x": 1}, "b", provider_details=call.provider_details)]


@pytest.mark.parametrize("details", [None, {"finish_reason": "network_error"}])
async def test_a_reply_that_broke_off_is_transient(details: dict[str, Any] | None):
    with pytest.raises(TransientError, match="broke the reply off"):
        await answer(Heard(finish_reason="error", provider_details=details))
