from typing import Any

import pytest

from etude.config import ModelSection, Price
from etude.errors import ConfigError
from etude.models import Journaled, Limited, Metered, Retrying, Structured, build_model, price_of
from etude.records import ChatRequest, user
from etude.testing import ScriptedModel
from memory_doubles import FreeSpend, MemoryJournal
from rows import rows


@rows(
    ("model", "message"),
    [
        (
            "gpt",
            (
                "model 'gpt' names no known provider\n"
                "hint: name its provider, too, as in openai:gpt; providers: agent, anthropic, handoff, openai, "
                "simulated"
            ),
        ),
        (
            "opnai:gpt",
            "model 'opnai:gpt' names no known provider\nhint: write it as provider:name; did you mean 'openai'?",
        ),
        ("openai:", "model 'openai:' has no name behind the provider\nhint: write it as openai:name"),
        ("a.b:C", "model 'a.b:C' names no known provider"),
        ("a.b:C:", "model 'a.b:C:' has no name behind the provider\nhint: write it as a.b:C:name"),
        ("nosuch:C:m", "model 'nosuch:C' cannot be loaded from 'nosuch:C': No module named 'nosuch'"),
        ("no.such:C:m", "model 'no.such:C' cannot be loaded from 'no.such:C': No module named 'no'"),
    ],
)
def test_a_model_that_cannot_be_is_a_config_error(model: str, message: str):
    with pytest.raises(ConfigError) as caught:
        build_model(ModelSection(model=model))
    assert str(caught.value).startswith(message)


def test_the_simulated_world_is_free_and_unknown_prices_stay_unknown():
    price = Price(input=1, output=2)
    assert price_of(ModelSection(model="simulated:target")) == Price(input=0, output=0)
    assert price_of(ModelSection(model="simulated:target", price=price)) == price
    assert price_of(ModelSection(model="openai:m")) is None
    assert price_of(ModelSection(model="openai:m", price=price)) == price


WRAPPERS: list[Any] = [
    lambda model: Structured(model),
    lambda model: Journaled(model, MemoryJournal()),
    lambda model: Retrying(model, "target", 300),
    lambda model: Limited(model, 4),
    lambda model: Metered(model, "target", FreeSpend(), None, lambda event: None),
]


@pytest.mark.parametrize("wrap", WRAPPERS)
async def test_a_wrapper_is_in_every_respect_the_model_inside(wrap: Any):
    inner = ScriptedModel(["hi"], name="scripted:x", max_output_tokens=77)
    model = wrap(inner)
    assert (model.name, model.endpoint, model.max_output_tokens) == ("scripted:x", "the script", 77)
    assert (model.fingerprint(), model.takes_tools) == (inner.fingerprint(), inner.takes_tools)
    assert (await model.complete(ChatRequest(messages=(user("a"),)))).text == "hi"
    await model.aclose()
    assert inner.closed
