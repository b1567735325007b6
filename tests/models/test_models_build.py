import subprocess
import sys
import types
from typing import Any

import pytest

import etude.models
from etude.config import ModelSection, Price
from etude.errors import ConfigError
from etude.models import (
    Journaled,
    Limited,
    Metered,
    Retrying,
    Structured,
    build_model,
    own_class,
    price_of,
    used_key_variable,
)
from etude.models.openai import OpenAIModel
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, user
from etude.testing import ScriptedModel
from memory_doubles import FreeSpend, MemoryJournal


def test_a_provider_and_a_name_make_a_model():
    model = build_model(ModelSection(model="openai:llama3:8b", base_url="http://127.0.0.1:1/v1"))
    assert isinstance(model, OpenAIModel)
    assert model.name == "openai:llama3:8b"
    assert isinstance(build_model(ModelSection(model="simulated:target")), SimulatedModel)


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        ({"model": "openai:x"}, "OPENAI_API_KEY"),
        ({"model": "openai:x", "api_key_command": "print-key"}, None),
        ({"model": "simulated:target"}, None),
        ({"model": "handoff:asked"}, None),
        ({"model": "agent:codex"}, None),
        ({"model": "agent:codex/x", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "MINE"}, "MINE"),
    ],
)
def test_a_variable_with_a_key_is_named_only_where_one_is_read(settings: dict[str, str], variable: str | None):
    assert used_key_variable(ModelSection.model_validate(settings)) == variable


def test_an_import_path_is_a_provider():
    model = build_model(ModelSection(model="etude.models.simulated:SimulatedModel:target"))
    assert isinstance(model, SimulatedModel)


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("mine:Class:name", "mine:Class"),
        ("mine:Class:llama3:8b", "mine:Class"),
        ("a.b:make:name", "a.b:make"),
        ("ollama:llama3:8b", ""),
        ("openai:Llama3:8b", ""),
        ("mine:Class", ""),
        ("my-own:Class:name", ""),
        (":Class:name", ""),
        ("mine::name", ""),
    ],
)
def test_a_class_of_ones_own_is_told_from_the_name_of_a_model(model: str, path: str):
    assert own_class(model) == path


def test_a_module_of_ones_own_needs_no_package(monkeypatch: pytest.MonkeyPatch):
    module = types.ModuleType("mine_for_models")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.__dict__["Model"] = SimulatedModel
    model = build_model(ModelSection(model="mine_for_models:Model:target"))
    assert isinstance(model, SimulatedModel)
    assert model.name == "simulated:target"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "gpt",
            (
                "model 'gpt' names no known provider\n"
                "hint: name its provider, too, as in openai:gpt; providers: adapter, agent, anthropic, azure, "
                "handoff, openai, simulated"
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


async def test_all_wrappers_together_answer_a_question_once():
    inner, journal, spend = ScriptedModel(["hi"]), MemoryJournal(), FreeSpend()
    limited = Limited(Metered(inner, "target", spend, None, lambda event: None), 4)
    model = Journaled(Retrying(limited, "target", 300), journal)
    for _ in range(3):
        assert (await model.complete(ChatRequest(messages=(user("a"),)))).text == "hi"
    assert (len(inner.requests), len(spend.reserved), len(spend.settled)) == (1, 1, 1)


def test_no_sdk_is_loaded_before_a_model_needs_it():
    code = "import sys, etude.models, etude.models.openai; print('openai' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_all_that_is_exported_is_there():
    assert all(hasattr(etude.models, name) for name in etude.models.__all__)
