"""Paid answers are facts: a request that was answered once is not sent again. Journals hold references to pictures,
which are put into requests where these are sent."""

import asyncio
from collections.abc import Callable

from etude.protocols import ChatModel, Journal, Wrapper
from etude.records import ChatRequest, ImagePart, Message, Reply


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


class Pictured(Wrapper):
    """Sends pictures in place of the references to them. `url_of` makes a data URL of a reference, in a thread, and
    raises when there is no such picture."""

    def __init__(self, model: ChatModel, url_of: Callable[[str], str]) -> None:
        super().__init__(model)
        self._url_of = url_of

    async def complete(self, request: ChatRequest) -> Reply:
        parts = [part for message in request.messages for part in message.content]
        references = {part.url for part in parts if isinstance(part, ImagePart)}
        if references:
            urls = {reference: await asyncio.to_thread(self._url_of, reference) for reference in references}
            messages = tuple(_with_urls(message, urls) for message in request.messages)
            request = request.model_copy(update={"messages": messages})
        return await super().complete(request)


def _with_urls(message: Message, urls: dict[str, str]) -> Message:
    content = tuple(
        ImagePart(url=urls[part.url]) if isinstance(part, ImagePart) else part for part in message.content
    )
    return message.model_copy(update={"content": content})
