"""Scripted and simulated models keep the contract of chat models."""

from etude.config import ModelSection
from etude.models.simulated import SimulatedModel
from etude.testing.chat_model import ChatModelContract
from etude.testing.doubles import ScriptedModel


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
