"""Scripted and simulated models keep the contract of chat models."""

from skillgrad.config import ModelSection
from skillgrad.models.simulated import SimulatedModel
from skillgrad.testing.chat_model import ChatModelContract
from skillgrad.testing.doubles import ScriptedModel


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
