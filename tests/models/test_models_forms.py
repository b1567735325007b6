"""Servers that fail where they are asked for a form of answer that they do not know."""

from typing import Any

import pytest
from models_doubles import Server, http
from pydantic import BaseModel

from etude.config import ModelSection
from etude.errors import ModelError, RejectedRole, TransientError
from etude.models import Retrying, Structured, build_model
from etude.protocols import ChatModel
from etude.records import user
from memory_doubles import MemoryJournal

ASKED = [user("What is 2 + 3?")]
# As llama-cpp-python's server answers.
UNKNOWN_FORMAT = http(
    500,
    {
        "error": {
            "message": "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
            "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema', 'ctx': {'expected': "
            "\"'text' or 'json_object'\"}}\n\n  File \"app.py\", line 376, in create_chat_completion\n"
            "    POST /v1/chat/completions",
            "type": "internal_server_error",
            "param": None,
            "code": None,
        }
    },
)
OVERLOADED = http(500, b"Internal Server Error")


class Sum(BaseModel):
    answer: int


def completion(**message: Any) -> bytes:
    return http(200, {"choices": [{"message": message, "finish_reason": "stop"}]})


TOOL_CALL = completion(
    tool_calls=[{"id": "c", "type": "function", "function": {"name": "Sum", "arguments": '{"answer": 5}'}}]
)


def model_at(server: Server, **settings: Any) -> ChatModel:
    return build_model(ModelSection(model="openai:small", base_url=server.url, api_key_env="NO_KEY", **settings))


def forms(server: Server) -> list[str]:
    return [
        "json_schema" if "response_format" in heard.body else "tool" if "tools" in heard.body else "prompt"
        for heard in server.heard
    ]


async def test_a_server_that_fails_over_a_form_is_asked_in_the_next_one_and_it_is_said_and_remembered(server: Server):
    server.script = [UNKNOWN_FORMAT, TOOL_CALL]
    journal, said = MemoryJournal(), list[str]()
    model = model_at(server)
    for _ in range(2):  # the second time is another process
        structured = Structured(Retrying(model, "optimizer", 300), notice=said.append, journal=journal)
        assert await structured.ask(ASKED, Sum) == Sum(answer=5)
    assert forms(server) == ["json_schema", "tool", "tool"]
    (notice,) = said
    assert notice.startswith(
        "openai:small does not take structured = 'json_schema'; continuing with 'tool' (HTTP 500"
    )
    await model.aclose()


async def test_a_failure_that_says_nothing_is_tried_again_before_it_counts_as_an_unknown_form(server: Server):
    server.script = [OVERLOADED, OVERLOADED, TOOL_CALL]
    model = model_at(server)
    assert await Structured(Retrying(model, "optimizer", 300)).ask(ASKED, Sum) == Sum(answer=5)
    assert forms(server) == ["json_schema", "json_schema", "tool"]
    await model.aclose()


async def test_a_server_that_fails_over_every_form_is_an_outage_all_the_same(server: Server):
    server.script = [OVERLOADED]
    model = model_at(server)
    structured = Structured(model, "prompt")
    with pytest.raises(TransientError):
        await structured.ask(ASKED, Sum)
    await model.aclose()


async def refused(server: Server, **settings: Any) -> ModelError:
    model = model_at(server, **settings)
    try:
        await Structured(model, "prompt").ask(ASKED, Sum)
    except ModelError as error:
        return error
    finally:
        await model.aclose()
    raise AssertionError


async def test_an_address_without_v1_is_told_where_many_servers_have_their_interface(server: Server):
    server.url = server.url.removesuffix("/v1")
    server.script = [http(404, {"detail": "Not Found"})]
    error = await refused(server)
    assert isinstance(error, RejectedRole)
    assert not error.no_model  # another name may be as wrong: of the model, or of the place
    assert str(error) == (
        f"HTTP 404: Not Found\nhint: set base_url: {server.url}/v1, where many servers have their interface; or "
        f"check the model name 'small' and the address {server.url}"
    )


@pytest.mark.parametrize(
    "said",
    [
        {"message": "Not here.", "code": "model_not_found"},
        {"message": "The model does not exist."},
        {"message": "small not found"},
    ],
)
async def test_a_wrong_name_of_a_model_is_not_taken_for_a_wrong_address(server: Server, said: dict[str, str]):
    server.url = server.url.removesuffix("/v1")
    server.script = [http(404, {"error": said})]
    error = await refused(server)
    assert isinstance(error, RejectedRole)
    assert (error.no_model, error.hint) == (True, f"check the model name 'small' and the address {server.url}")
