"""The recipes of the documentation, and every way to ask, against the simulated endpoint over real HTTP."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from pydantic import BaseModel

from etude.config import ModelSection
from etude.models import Structured, build_model
from etude.models.keys import key_variable
from etude.protocols import ChatModel
from etude.records import ChatRequest, user
from etude.simulation import respond
from etude.simulation.endpoint import Endpoint, running_endpoint
from rows import few

PAGE = Path(__file__).parents[2] / "docs" / "models-and-agents.md"
QUESTION = user("Sort the following words alphabetically: List: pear apple fig")
PLAIN = ChatRequest(messages=(QUESTION,), seed=1)
NAME = "target-steady"
KEY = "the-right-key"
PRINTS_KEY = f"{sys.executable} -c 'print(\"{KEY}\")'"


def recipes() -> list[dict[str, Any]]:
    """Every role of every block of settings on the page that has a server, and every row of its table of servers."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    roles = [data.get(role) for data in map(yaml.safe_load, blocks) for role in ("target", "optimizer", "judge")]
    found = [role for role in roles if role is not None and not role["model"].startswith("handoff:")]
    return [*found, *rows()]


def rows() -> Iterator[dict[str, Any]]:
    for url, key, without in re.findall(
        r"^\| [^|]+ \| `(https?://[^`]+)` \| `(\w+)`[^|]*\| ([^|]*)\|$", PAGE.read_text(), re.M
    ):
        thinking = yaml.safe_load(without.split("`")[1]) if "`" in without else {}
        yield {"model": "openai:NAME", "base_url": url, "api_key_env": key, **thinking}


def place(recipe: dict[str, Any]) -> str:
    """Who is asked, and where."""
    provider = recipe["model"].partition(":")[0]
    address = recipe.get("base_url")
    return provider if address is None else f"{provider} {urlsplit(address).netloc}"


def test_every_server_that_the_page_names_has_a_recipe() -> None:
    assert {place(recipe) for recipe in recipes()} == {
        "anthropic",
        "anthropic bedrock-mantle.us-east-1.api.aws",
        "openai",
        "openai 127.0.0.1:8000",  # vLLM
        "openai 127.0.0.1:30000",  # SGLang
        "openai 127.0.0.1:11434",  # Ollama
        "openai 127.0.0.1:1234",  # LM Studio
        "openai openrouter.ai",
        "openai api.deepseek.com",
        "openai dashscope-intl.aliyuncs.com",
        "openai api.minimax.io",
        "openai NAME.openai.azure.com",
        "openai generativelanguage.googleapis.com",
        "openai bedrock-mantle.us-east-1.api.aws",
        "openai api.mistral.ai",
        "openai api.groq.com",
        "openai api.cohere.ai",
        "openai api.x.ai",
    }


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint(key=KEY) as endpoint:
        yield endpoint


def root(endpoint: Endpoint) -> str:
    return endpoint.url.removesuffix("/v1")


class Words(BaseModel):
    answer: str


async def check(model: ChatModel, rung: Any = "json_schema") -> None:
    """A plain and a structured question, answered as the simulated world answers them."""
    try:
        reply = await model.complete(PLAIN)
        assert (reply.text, reply.simulated) == (respond(NAME, PLAIN).text, True)
        structured = Structured(model, rung)
        assert (await structured.ask([QUESTION], Words)).answer
        assert structured.rung == rung
    finally:
        await model.aclose()


@pytest.mark.parametrize("recipe", few(recipes(), first=10), ids=lambda recipe: f"{recipe['model']} {place(recipe)}")
async def test_a_recipe_reaches_a_model(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, recipe: dict[str, Any]
) -> None:
    provider = recipe["model"].partition(":")[0]
    monkeypatch.setenv(key_variable(ModelSection(**recipe)), KEY)
    there = {"model": f"{provider}:{NAME}", "base_url": endpoint.url, "timeout": 30}
    if "azure" in recipe.get("base_url", ""):
        there["base_url"] = recipe["base_url"].replace("https://NAME.openai.azure.com", root(endpoint))
    if "api_key_command" in recipe:
        monkeypatch.delenv(key_variable(ModelSection(**recipe)))
        there["api_key_command"] = PRINTS_KEY
    await check(build_model(ModelSection(**{**recipe, **there})))


WIRES: dict[str, dict[str, Any]] = {
    "chat": {"model": f"openai:{NAME}"},
    "responses": {"model": f"openai:{NAME}", "api": "responses"},
    "messages": {"model": f"anthropic:{NAME}"},
    "azure": {"model": f"openai:{NAME}", "at": "/openai/v1"},
    "azure with version": {
        "model": f"openai:{NAME}",
        "at": f"/openai/deployments/{NAME}/chat/completions?api-version=2024-10-21",
    },
    "azure responses with version": {
        "model": f"openai:{NAME}",
        "api": "responses",
        "at": "/openai?api-version=2024-10-21",
    },
}


@pytest.mark.parametrize(
    ("rung", "stream"),
    few([("tool", True), ("json_schema", False), ("json_schema", True), ("prompt", False)], first=2),
)
@pytest.mark.parametrize("wire", list(WIRES))
async def test_every_rung_of_the_ladder_is_there_on_every_wire(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, wire: str, rung: str, stream: bool
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    settings = {**WIRES[wire]}
    address = root(endpoint) + settings.pop("at", "/v1")
    more: dict[str, Any] = {"base_url": address, "api_key_env": "MY_KEY", "stream": stream, "timeout": 30}
    await check(build_model(ModelSection(**settings, **more)), rung)
