"""Paid answers are facts: a request that was answered once is not sent again."""

from etude.protocols import ChatModel, Journal, Wrapper
from etude.records import ChatRequest, Reply


class Journaled(Wrapper):
    """Remembers every answer, unusable ones included, under the model's fingerprint and the request.

    The role is not part of the key: the same model gives the same answer for every role. A second trial of a
    request is another fact because its `seed` differs.
    """

    def __init__(self, model: ChatModel, journal: Journal) -> None:
        super().__init__(model)
        self._journal = journal

    async def complete(self, request: ChatRequest) -> Reply:
        key = {"model": self.fingerprint(), "request": request.model_dump(mode="json")}
        return await self._journal.once("reply", key, Reply, lambda: self._model.complete(request))
