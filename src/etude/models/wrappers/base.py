"""A model around a model."""

from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply


class Wrapper(ChatModel):
    """Answers as the model inside does, and is it in every respect a subclass does not change."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name
        self.endpoint = model.endpoint
        self.answered_by_hand = model.answered_by_hand

    async def complete(self, request: ChatRequest) -> Reply:
        return await self._model.complete(request)

    def fingerprint(self) -> str:
        return self._model.fingerprint()

    @property
    def takes_seed(self) -> bool:
        return self._model.takes_seed

    @property
    def takes_tools(self) -> bool:
        return self._model.takes_tools

    @property
    def trouble(self) -> str:
        return self._model.trouble

    @property
    def max_output_tokens(self) -> int:
        return self._model.max_output_tokens

    async def aclose(self) -> None:
        await self._model.aclose()
