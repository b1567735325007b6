"""Pictures are put into requests where these are sent; journals and trajectories hold references."""

import asyncio
from collections.abc import Callable

from etude.protocols import ChatModel, Wrapper
from etude.records import ChatRequest, ImagePart, Message, Reply


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
