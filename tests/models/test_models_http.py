"""Models over HTTP: what failures of a server mean, the same in every interface, and what is sent and kept back."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from models_doubles import DROP, HANG, Server, events, http

from etude.config import ModelSection, load_config
from etude.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError
from etude.models import Structured, build_model
from etude.models.http import HttpModel
from etude.prompts import Prompts
from etude.protocols import ChatModel
from etude.records import ChatRequest, Edit, LedgerEntry, Message, Opaque, Skill, TextPart, Tool, Usage, user
from etude.simulation.endpoint import running_endpoint
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import PatchReply
from etude.stages.shared.render import ledger_block, skill_block
from etude.testing.chat_model import ChatModelContract
from rows import few, rows

HELLO = ChatRequest(messages=(user("Hello"),))
SETTINGS: dict[str, dict[str, Any]] = {
    "chat": {"model": "openai:m"},
    "responses": {"model": "openai:m", "api": "responses"},
    "messages": {"model": "anthropic:m"},
}
EACH = pytest.mark.parametrize("interface", SETTINGS)


def a_model(interface: str, server: Server, **settings: Any) -> HttpModel:
    given = {"base_url": server.url, "api_key_env": "NO_SUCH_KEY", "timeout": 30, **SETTINGS[interface], **settings}
    model = build_model(ModelSection(**given))
    assert isinstance(model, HttpModel)
    return model


def completion(**message: Any) -> bytes:
    return http(200, {"choices": [{"message": message, "finish_reason": "stop"}], "output": []})


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


@EACH
async def test_too_many_requests_are_transient_and_tell_how_long_to_wait(interface: str, server: Server):
    error = await failure(interface, server, http(429, refusal(interface, "slow down"), Retry_After="2.5"))
    assert isinstance(error, TransientError)
    assert (error.rate_limited, error.retry_after, error.unreachable) == (True, 2.5, False)
    assert str(error) == "HTTP 429: slow down"


async def test_retry_after_may_be_a_date(server: Server):
    for hours, least, most in ((1, 3000, 3600), (-1, 0, 0)):
        at = format_datetime(datetime.now(UTC) + timedelta(hours=hours), usegmt=True)
        error = await failure("chat", server, http(429, {}, Retry_After=at))
        assert least <= error.retry_after <= most
    for header in ("soon", "inf", "nan"):
        assert (await failure("chat", server, http(503, {}, Retry_After=header))).retry_after is None


@EACH
@pytest.mark.parametrize("status", few([408, 409, 498, 500, 502, 503, 529], 408, 409, 498, 529))
async def test_server_errors_are_transient_and_sent_once(interface: str, server: Server, status: int):
    error = await failure(interface, server, http(status, refusal(interface, "upstream is down")))
    assert isinstance(error, TransientError)
    assert (str(error), error.rate_limited, error.unreachable) == (f"HTTP {status}: upstream is down", False, False)
    assert len(server.heard) == 1  # nothing is sent again behind the budget
    assert (await failure(interface, server, http(status, b"no JSON"))).message == f"HTTP {status}: no JSON"


@EACH
@pytest.mark.parametrize("status", [400, 413, 422])
async def test_bad_requests_are_rejected_with_the_words_of_the_server(interface: str, server: Server, status: int):
    error = await failure(interface, server, http(status, refusal(interface, "too long")))
    assert isinstance(error, RejectedRequest)
    assert str(error) == f"HTTP {status}: too long"


FLAGGED = {"reasons": ["violence"], "flagged_input": "How"}


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (400, {"code": "content_filter", "message": "The prompt triggered the content management policy."}),
        (400, {"type": "content_filter", "message": "The request was rejected because it was considered high risk"}),
        (400, {"code": "data_inspection_failed", "message": "Input data may contain inappropriate content."}),
        (400, {"code": "invalid_prompt", "message": "Invalid prompt: it may violate our usage policy."}),
        (400, {"type": "invalid_request_error", "message": "Content Exists Risk"}),
        (400, {"code": "400", "message": "litellm.ContentPolicyViolationError: refused"}),
        (
            403,
            {"code": 403, "message": 'm requires moderation. Your input was flagged for "v".', "metadata": FLAGGED},
        ),
        (200, {"code": "content_policy_violation", "message": "Your request was rejected."}),
    ],
)
async def test_what_a_filter_before_the_model_refuses_is_an_answer(server: Server, status: int, told: dict[str, Any]):
    server.script = [http(status, {"error": told})]
    model = a_model("chat", server)
    assert (await model.complete(HELLO)).finish == "refusal"
    await model.aclose()


@pytest.mark.parametrize("told", ["Your account has been flagged for abuse", "a filter of the content failed"])
async def test_what_is_said_of_an_account_or_a_parameter_is_no_refusal(server: Server, told: str):
    error = await failure("chat", server, http(403, {"error": {"message": told}}))
    assert isinstance(error, RejectedRole)


async def test_a_filter_that_broke_is_a_failed_call(server: Server):
    error = await failure("chat", server, http(500, {"error": {"message": "the content filter is down"}}))
    assert isinstance(error, TransientError)


@EACH
@pytest.mark.parametrize("status", [401, 402, 403])
async def test_a_refused_key_rejects_the_role_and_names_the_variable(interface: str, server: Server, status: int):
    error = await failure(interface, server, http(status, refusal(interface, "no")))
    assert isinstance(error, RejectedRole)
    assert str(error) == f"HTTP {status}: no\nhint: set NO_SUCH_KEY to a key: it is not set"


@EACH
async def test_an_unknown_model_rejects_the_role(interface: str, server: Server):
    error = await failure(interface, server, http(404, refusal(interface, "no model m")))
    assert isinstance(error, RejectedRole)
    assert str(error) == f"HTTP 404: no model m\nhint: check the model name 'm' and the address {server.url}"


@pytest.mark.parametrize(
    "said",
    [
        "m is not a valid model ID",
        "Model Not Exist",
        "Invalid model: m",
        "The provided model identifier is invalid.",
        "\u6a21\u578b\u4e0d\u5b58\u5728\uff0c\u8bf7\u68c0\u67e5\u6a21\u578b\u4ee3\u7801\u3002",
        "litellm: Invalid model name passed in model=m",
    ],
)
async def test_an_unknown_model_may_come_as_a_bad_request(said: str, server: Server):
    error = await failure("chat", server, http(400, {"error": {"message": said, "code": 400}}))
    assert isinstance(error, RejectedRole)
    assert error.hint == f"check the model name 'm' and the address {server.url}"


@pytest.mark.parametrize("said", ["Invalid model output", "the model does not support this", "invalid messages"])
async def test_another_bad_request_concerns_the_request_only(said: str, server: Server):
    error = await failure("chat", server, http(400, {"error": {"message": said}}))
    assert isinstance(error, RejectedRequest)


@EACH
async def test_a_silent_server_is_given_up_after_the_timeout(interface: str, server: Server):
    error = await failure(interface, server, HANG, timeout=0.2)
    assert isinstance(error, TransientError)
    assert (str(error), error.unreachable) == ("no answer within 0.2 seconds", True)


@pytest.mark.parametrize(
    ("line", "url"), [(DROP, ""), (http(200, {"content": []})[:-5], ""), (DROP, "http://127.0.0.1:9/v1")]
)
async def test_a_dropped_connection_or_a_closed_port_is_transient(server: Server, line: bytes | str, url: str):
    error = await failure("chat", server, line, base_url=url or server.url)
    assert isinstance(error, TransientError)
    assert error.unreachable
    assert str(error).startswith("no connection: ")


async def test_long_answers_are_cut_in_messages(server: Server):
    assert len(str(await failure("chat", server, http(400, refusal("chat", "x" * 5000))))) < 600


@EACH
async def test_a_key_is_sent_and_never_shown(interface: str, server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TEST_KEY", " secret-12345 ")
    said = http(401, refusal(interface, "bad secret-12345"))
    error = await failure(interface, server, said, api_key_env="TEST_KEY", headers={"X-Team": "red"})
    assert error.message == "HTTP 401: bad [redacted:TEST_KEY]"
    assert error.hint == "check the key in TEST_KEY and its account"
    name, key = ("x-api-key", "secret-12345") if interface == "messages" else ("authorization", "Bearer secret-12345")
    assert (server.heard[0].headers[name], server.heard[0].headers["x-team"]) == (key, "red")


async def test_a_header_of_the_settings_takes_the_place_of_that_of_the_key(server: Server):
    await failure("chat", server, http(400, {}), headers={"authorization": "Basic x"})
    assert server.heard[0].headers["authorization"] == "Basic x"


@EACH
async def test_the_seed_is_a_field_or_a_header(interface: str, server: Server):
    server.script = [http(400, {})]
    model = a_model(interface, server)
    with pytest.raises(ModelError):
        await model.complete(HELLO.model_copy(update={"seed": 7}))
    await model.aclose()
    (heard,) = server.heard
    assert (heard.body.get("seed"), heard.headers.get("x-etude-seed")) == (
        (7, None) if interface == "chat" else (None, "7")
    )


@EACH
async def test_cancelling_a_request_reaches_the_socket_and_leaves_nothing_in_the_way(interface: str, server: Server):
    server.script = [HANG, http(400, refusal(interface, "too long"))]
    model = a_model(interface, server)
    task = asyncio.ensure_future(model.complete(HELLO))
    while not server.heard:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(RejectedRequest):
        await model.complete(HELLO)
    await model.aclose()


# Errors within an answer, and answers that are none

ENDED = {"choices": [{"delta": {"content": "half"}}]}
START = {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": {}}}


def within(interface: str, error: Any, *, streamed: bool) -> bytes:
    """An answer with an error in it."""
    if interface == "chat":
        return events(ENDED, {"error": error}) if streamed else http(200, {"error": error})
    if interface == "messages":
        return events(START, {"type": "error", "error": error}) if streamed else http(200, {"error": error})
    body = {"status": "failed", "error": error, "output": []}
    return events({"type": "response.failed", "response": body}) if streamed else http(200, body)


@EACH
@rows(
    ("error", "kind", "message"),
    [
        ({"message": "busy", "code": "rate_limit_exceeded"}, TransientError, "HTTP 429: busy"),
        ({"message": "busy", "type": "rate_limit_error"}, TransientError, "HTTP 429: busy"),
        ({"message": "busy", "code": 429}, TransientError, "HTTP 429: busy"),
        ({"message": "full", "type": "overloaded_error"}, TransientError, "HTTP 529: full"),
        ({"message": "oops", "type": "server_error"}, TransientError, "HTTP 500: oops"),
        ({"message": "oops", "type": "something_new"}, TransientError, "HTTP 500: oops"),
        ({"message": "down", "code": 502}, TransientError, "HTTP 502: down"),
        ({"message": "full", "code": 498}, TransientError, "HTTP 498: full"),
        ({"message": "long", "type": "invalid_request_error"}, RejectedRequest, "HTTP 400: long"),
        ({"message": "long", "code": "context_length_exceeded"}, RejectedRequest, "HTTP 400: long"),
        ({"message": "who?", "code": 401}, RejectedRole, "HTTP 401: who?"),
        ({"message": "who?", "type": "authentication_error"}, RejectedRole, "HTTP 401: who?"),
        ({"message": "pay", "code": "insufficient_quota"}, RejectedRole, "HTTP 402: pay"),
        ({"message": "none", "type": "not_found_error"}, RejectedRole, "HTTP 404: none"),
        ("lost", TransientError, "HTTP 500: lost"),
    ],
)
def test_an_error_within_an_answer_means_what_it_would_have_meant_before(
    interface: str, error: Any, kind: type[ModelError], message: str
):
    async def ask() -> None:
        server = Server([])
        listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        for streamed in (False, True):
            caught = await failure(interface, server, within(interface, error, streamed=streamed), stream=streamed)
            assert (type(caught), caught.message) == (kind, message)
            assert getattr(caught, "rate_limited", False) == ("429" in message)
        listener.close()

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("interface", "called"), [("chat", "chat completion"), ("responses", "response"), ("messages", "message")]
)
async def test_a_body_that_is_no_answer_is_transient_and_shown(interface: str, called: str, server: Server):
    error = await failure(interface, server, http(200, b"<html>"))
    assert isinstance(error, TransientError)
    assert str(error) == f"the answer is not a {called}: <html>"


OF_PROXY = (
    "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<center><h1>{0}</h1></center>\r\n<hr><center>{1}</center>"
)
PAGES = [
    OF_PROXY.format("502 Bad Gateway", "nginx/1.27.3"),
    "<!DOCTYPE html>\n" + OF_PROXY.format("429 Too Many Requests", "openresty").upper(),
    OF_PROXY.format("503 Service Temporarily Unavailable", "cloudflare")
    + "\r\n</body>\r\n</html>\r\n<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n",
    "upstream connect error or disconnect/reset before headers. reset reason: connection timeout",
    "error code: 524",
]
ANSWERS = [
    "Bad Gateway",
    "It answers with error code: 524",
    "Nginx shows this page:\n" + PAGES[0],
    "<html><head><title>503 Back soon</title></head><body><center>We are working on it.</center></body></html>",
    OF_PROXY.format("Welcome", "nginx"),
    OF_PROXY.format("502 Bad Gateway", "nginx") + "</body></html>\nThis is the page of nginx for a dead upstream.",
]


@pytest.mark.parametrize("text", PAGES)
async def test_the_page_of_a_proxy_is_no_answer_though_it_comes_as_one(server: Server, text: str):
    error = await failure("chat", server, completion(content=text))
    assert isinstance(error, TransientError)
    assert error.message.startswith("the answer is the page of a proxy: ")


@pytest.mark.parametrize("text", ANSWERS)
async def test_what_a_model_writes_about_pages_of_errors_is_its_answer(server: Server, text: str):
    server.script = [completion(content=text)]
    model = a_model("chat", server)
    assert (await model.complete(HELLO)).text == text
    await model.aclose()


@pytest.mark.parametrize(("tokens", "finish"), [(64, "length"), (63, "stop"), (90, "stop")])
async def test_a_reply_of_just_as_many_tokens_as_there_may_be_was_cut_off_whatever_the_server_says(
    server: Server, tokens: int, finish: str
):
    """Ollama and proxies before it say `stop` there; what is longer than the limit was written without one."""
    usage = {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": 9 + tokens}
    choice = {"message": {"content": "Let me see"}, "finish_reason": "stop"}
    server.script = [http(200, {"choices": [choice], "usage": usage})]
    model = a_model("chat", server, max_output_tokens=64)
    assert (await model.complete(HELLO)).finish == finish
    await model.aclose()


async def test_a_reply_that_broke_off_is_transient_and_tells_what_it_cost(server: Server):
    choice = {"message": {"content": "half a"}, "finish_reason": "insufficient_system_resource"}
    answer = http(200, {"choices": [choice], "usage": {"prompt_tokens": 5, "total_tokens": 9}})
    error = await failure("chat", server, answer)
    assert isinstance(error, TransientError)
    assert str(error) == "the server broke the reply off: it ended with 'insufficient_system_resource'"
    assert error.usage == Usage(input_tokens=5, output_tokens=4)


# What the settings may say


@rows("url", ["127.0.0.1:8000", "http://", "ftp://x/v1", "http://[::1", "http://x:99999/v1"])
def test_an_address_that_is_none_is_refused(url: str):
    with pytest.raises(ConfigError, match="is not an address"):
        a_model("chat", Server([], url))


@rows(
    ("interface", "name", "value"),
    [
        ("chat", "X Tëam", "red"),
        ("chat", "", "red"),
        ("chat", "X-Team", "red\nX-More: 1"),
        ("messages", "X-Team", "r "),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_at_once(interface: str, name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        a_model(interface, Server([], "http://127.0.0.1:1"), headers={name: value})
    assert str(caught.value) == (
        f"headers: {name!r} cannot be sent: a name may have ASCII letters, digits and -, a value ASCII letters, "
        "digits, signs and spaces between\n"
        "hint: encode other characters as the server expects them, as in %C3%A9 for é"
    )


@pytest.mark.parametrize(
    ("interface", "setting", "message"),
    [
        ("messages", {"api": "responses"}, "api = 'responses' is an interface of OpenAI"),
        ("responses", {"thinking": "off"}, "thinking = 'off': api = 'responses' has no such switch"),
    ],
)
def test_a_setting_of_another_interface_is_refused(interface: str, setting: dict[str, Any], message: str):
    with pytest.raises(ConfigError) as caught:
        a_model(interface, Server([], "http://a/v1"), **setting)
    assert caught.value.message == message


def test_at_anthropic_a_key_of_one_line_is_needed(monkeypatch: pytest.MonkeyPatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="environment variable 'ANTHROPIC_API_KEY' is not set"):
        build_model(ModelSection(model="anthropic:m"))
    mine = ModelSection(model="anthropic:m", api_key_env="MY_KEY")
    monkeypatch.setenv("MY_KEY", "one\ntwo")
    with pytest.raises(ConfigError) as caught:
        build_model(mine)
    assert str(caught.value) == "environment variable 'MY_KEY' has characters that no key has\nhint: copy it again"
    monkeypatch.setenv("MY_KEY", "k")
    assert build_model(mine).endpoint == "https://api.anthropic.com/v1"


@rows(("written", "meant"), [("on", "on"), ("off", "off"), ("'off'", "off")])
def test_the_switch_may_be_written_as_yaml_reads_it(written: str, meant: str):
    model = ("target.model", "openai:m")
    config = load_config(flags=[model, ("target.thinking", written)], environ={})
    assert config.target.thinking == meant
    with pytest.raises(ConfigError, match=r"target\.thinking = 'maybe'"):
        load_config(flags=[model, ("target.thinking", "maybe")], environ={})


# What goes back to the server, and what it keeps

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


def sent_back(server: Server) -> list[bool]:
    """Of each request: a thought is in the conversation, or is asked for in a form that could be sent back."""
    bodies = [heard.body for heard in server.heard]
    return ["include" in body or "reasoning" in str(body.get("messages", body.get("input"))) for body in bodies]


@pytest.mark.parametrize("api", REFUSED)
async def test_what_a_server_refuses_to_be_sent_back_is_left_out_from_then_on(server: Server, api: str):
    server.script = [http(400, {"error": {"message": REFUSED[api][1]}}), completion(content="x")]
    model = a_model(api, server)
    for _ in range(2):
        await model.complete(thoughtful(api))
    await model.aclose()
    assert sent_back(server) == [True, False, False]


async def test_a_server_that_refuses_a_turn_either_way_is_told_in_its_first_words(server: Server):
    demand = http(400, {"error": {"message": "reasoning_content must be passed back"}})
    server.script = [demand, http(400, {"error": {"message": "other"}}), demand]
    model = a_model("chat", server)
    for _ in range(2):
        with pytest.raises(RejectedRequest, match="must be passed back"):
            await model.complete(thoughtful("chat"))
    await model.aclose()
    assert sent_back(server) == [True, False, True, False]


async def test_a_refusal_for_another_reason_is_not_sent_again(server: Server):
    server.script = [http(400, {"error": {"message": "too long"}})]
    model = a_model("chat", server)
    with pytest.raises(RejectedRequest, match="too long"):
        await model.complete(thoughtful("chat"))
    await model.aclose()
    assert len(server.heard) == 1


async def test_minibatches_of_a_step_begin_with_the_same_text_marked_for_the_cache(server: Server):
    said = '{"reasoning": "r", "edits": []}'
    server.script = [http(200, {"content": [{"type": "text", "text": said}], "stop_reason": "end_turn"})]
    model = a_model("messages", server)
    optimizer = Optimizer(Structured(model), Prompts(), lambda event: None)
    entry = LedgerEntry(step=1, edit=Edit(op="append", content="Be brief."), fate="applied", accepted=False)
    shared = [skill_block(Skill(text="Sort the words. " * 300)), ledger_block([entry], 5)]
    for attempts in ("first", "second"):
        await optimizer.ask("reflect_failures", [*shared, attempts], PatchReply)
    await model.aclose()
    first, second = ([*heard.body["system"], *heard.body["messages"][0]["content"]] for heard in server.heard)
    assert first[:3] == second[:3]
    assert (first[3]["text"], second[3]["text"]) == ("first", "second")
    assert ["cache_control" in block for block in first] == [True, True, True, False]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_endpoint() as endpoint:
        yield endpoint.url


@pytest.mark.parametrize("stream", [False, True])
@EACH
class TestContract(ChatModelContract):
    """Over real HTTP, against the simulated world."""

    @pytest.fixture(autouse=True)
    def _endpoint(self, url: str, interface: str, stream: bool) -> None:
        self.settings = {**SETTINGS[interface], "base_url": url, "api_key_env": "NO_SUCH_KEY", "stream": stream}

    def make_model(self, name: str = "target") -> ChatModel:
        provider = self.settings["model"].partition(":")[0]
        return build_model(ModelSection(**{**self.settings, "model": f"{provider}:{name}"}))

    def make_other_model(self) -> ChatModel:
        return self.make_model("target-steady")
