"""OpenAI, and every server that speaks its Chat Completions or its Responses."""

import os
import re
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from etude.config import ModelSection
from etude.errors import ConfigError
from etude.formats import CHAT, RESPONSES
from etude.models.keys import Key
from etude.models.refused import LIMITS, PARAMETERS, Sending
from etude.models.sdk import CONNECT_SECONDS, SdkModel, shown_address
from etude.records import ChatRequest

OPENAI = "https://api.openai.com/v1"
_NOT_IN_RESPONSES = frozenset({"seed", "thinking", "max_output_tokens"})
"""What that interface does not have, and the limit, which has no other name there."""


class OpenAIModel(SdkModel):
    """OpenAI's own models, or those of a compatible server, by their name there: behind Chat Completions or, with
    `api: responses`, behind Responses. The address is `base_url`, else OPENAI_BASE_URL, else OpenAI's own; what it
    has behind a `?` goes with every request. Where that is an api-version, as at Azure, the key goes into the header
    `api-key`, unless a command prints it: then it is an access token.

    Raises ConfigError: the address is not a URL, OpenAI's own server is meant and no key is set, a header cannot be
    sent, or thinking is switched where there is no switch."""

    def __init__(self, name: str, settings: ModelSection) -> None:
        given = settings.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        at_openai = _is_openai(given)
        key = Key(settings, needed=at_openai)
        key.secrets.add_address("base_url", given)
        parts = urlsplit(given)
        address = urlunsplit(parts._replace(path=parts.path.removesuffix(CHAT.path), query=""))
        super().__init__("openai", name, settings, address, key, RESPONSES if settings.api == "responses" else CHAT)
        self._query = dict(parse_qsl(parts.query))
        self._key_header = "api-version" in self._query and key.command is None
        self.can_leave_out = frozenset(PARAMETERS) - (_NOT_IN_RESPONSES if settings.api == "responses" else set())
        # OpenAI's reasoning models refuse `max_tokens`, most compatible servers know nothing else.
        if at_openai and settings.api == "chat" and not LIMITS & settings.extra_body.keys():
            body = {**settings.extra_body, "max_completion_tokens": settings.max_output_tokens}
            self._sending = Sending(settings, settings.model_copy(update={"extra_body": body}))
        if settings.thinking is not None and (at_openai or settings.api == "responses"):
            where = "OpenAI's own models have" if at_openai else "api = 'responses' has"
            raise ConfigError(
                f"thinking = {settings.thinking!r}: {where} no such switch",
                hint="set reasoning_effort instead, as in 'low'",
            )

    def _sdk(self) -> ModuleType:
        import openai

        return openai

    def _connect(self, **settings: Any) -> Any:
        import openai

        return openai.AsyncOpenAI(default_query=self._query, **settings)

    async def _post(self, client: Any, path: str, body: dict[str, Any], headers: dict[str, str]) -> bytes:
        if not self._key_header:
            return await super()._post(client, path, body, headers)
        import openai

        own: dict[str, Any] = {"api-key": self._key.text, "Authorization": openai.Omit()}
        return await super()._post(client, path, body, {**headers, **own})

    async def _right_address(self) -> str:
        """Many servers have their interface below /v1."""
        parts = urlsplit(self._base_url)
        if re.search(r"/v\d", parts.path):
            return ""
        path = f"{parts.path.rstrip('/')}/v1"
        below = urlunsplit(parts._replace(path=path))
        import openai

        try:
            async with openai.AsyncOpenAI(
                api_key=self._key.text, base_url=below, max_retries=0, timeout=CONNECT_SECONDS
            ) as client:
                await client.get("/models", cast_to=object, options={"headers": self._settings.headers})
        except openai.AuthenticationError:
            pass  # it is there, and asks for another key
        except openai.OpenAIError:
            return ""
        return f"set base_url: {shown_address(below)}, where this server has its interface"

    async def _send(self, client: Any, request: ChatRequest, settings: ModelSection) -> bytes:
        if self._format is RESPONSES:
            body = RESPONSES.write_request(self._model, request, settings, thoughts=not self._bare)
            return await self._post(client, RESPONSES.path, body, self._seed_header(request, settings))
        body = CHAT.write_request(self._model, request, settings)
        return await self._post(client, CHAT.path, body, {})


def _is_openai(address: str) -> bool:
    """OpenAI's own server, one of its regions, as eu.api.openai.com, or a resource at Azure."""
    shown_address(address)
    host = urlsplit(address).hostname or ""
    return host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))
