"""What authors of plugins import: contract suites, and a model that follows a script."""

import pytest

import etude.testing
from etude.config import ModelSection
from etude.errors import TransientError
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, Reply, user
from etude.testing.chat_model import ChatModelContract
from etude.testing.doubles import ScriptedModel

HELLO = ChatRequest(messages=(user("Hello"),))


async def test_a_script_is_followed_line_by_line_and_has_an_end():
    model = ScriptedModel(["text", Reply(text="reply"), TransientError("HTTP 500", retry_after=3)])
    assert (await model.complete(HELLO)).text == "text"
    assert (await model.complete(HELLO)).text == "reply"
    with pytest.raises(TransientError) as caught:
        await model.complete(HELLO)
    assert caught.value.retry_after == 3
    with pytest.raises(AssertionError, match="the script ends after 3 lines"):
        await model.complete(HELLO)
    assert model.requests == [HELLO] * 4


class TestScriptedModel(ChatModelContract):
    def make_model(self) -> ScriptedModel:
        return ScriptedModel(lambda request: "Blue.")

    def make_other_model(self) -> ScriptedModel:
        return ScriptedModel(lambda request: "Grey.", name="scripted:other")


class TestSimulatedModel(ChatModelContract):
    def make_model(self) -> SimulatedModel:
        return SimulatedModel("target", ModelSection(model="simulated:target"))

    def make_other_model(self) -> SimulatedModel:
        return SimulatedModel("target", ModelSection(model="simulated:target", send_seed=False))


def test_all_suites_and_doubles_can_be_imported_from_one_place() -> None:
    names = etude.testing.__all__
    assert {getattr(etude.testing, name).__name__ for name in names} == set(names)
    families = {"Agent", "ChatModel", "Environment", "Executor", "Scorer", "Search", "Source", "Tracker"}
    assert {name.removesuffix("Contract") for name in names if name.endswith("Contract")} == families


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'ScorerContrat'"):
        etude.testing.ScorerContrat  # noqa: B018
