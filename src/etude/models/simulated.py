"""The simulated world as a model, in this process."""

import asyncio

from etude.config import ModelSection
from etude.models.provider_model import ProviderModel
from etude.records import ChatRequest, Reply, canonical
from etude.simulation import EVERYDAY, SimulatedWorld


class SimulatedModel(ProviderModel):
    """Answers as `target`, `optimizer` or another one of the simulated world does: at once, for nothing, and the same
    request always the same. Raises ConfigError: the simulated world does not know the name."""

    def __init__(self, name: str, settings: ModelSection, world: SimulatedWorld = EVERYDAY) -> None:
        world.check_name(name)
        super().__init__(f"simulated:{name}", settings)
        self.endpoint = "this process"
        self._model = name
        self._world = world

    async def complete(self, request: ChatRequest) -> Reply:
        await asyncio.sleep(0)  # others get their turn, as with a real model
        if not self._settings.send_seed:
            request = request.model_copy(update={"seed": None})
        return self._world.respond(self._model, request)

    def fingerprint(self) -> str:
        return canonical({"model": self.name, "send_seed": self._settings.send_seed})
