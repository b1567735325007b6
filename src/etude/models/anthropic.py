"""Anthropic's models, through its Messages."""

import os
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from etude.config import ModelSection
from etude.errors import ConfigError, not_installed
from etude.formats import MESSAGES
from etude.models.keys import Key
from etude.models.refused import PARAMETERS
from etude.models.sdk import SdkModel
from etude.records import ChatRequest

ANTHROPIC = "https://api.anthropic.com"


class AnthropicModel(SdkModel):
    """A model behind Messages. The address is `base_url`, with or without /v1, else ANTHROPIC_BASE_URL, else
    Anthropic's own; the key is in ANTHROPIC_API_KEY unless `api_key_env` names another variable.

    There is no seed: that of a request goes into the header `x-etude-seed`, which the simulated endpoint reads and
    Anthropic's servers ignore. The system text is marked for the prompt cache, and so is a large text that opens a
    longer conversation. Raises ConfigError: the SDK is not installed, the address is not a URL, Anthropic's own
    server is meant and no key is set, a header cannot be sent, or a setting of another provider is given."""

    can_leave_out = frozenset(PARAMETERS) - {"seed", "max_output_tokens"}

    def __init__(self, name: str, settings: ModelSection) -> None:
        if find_spec("anthropic") is None:
            raise not_installed(f"anthropic:{name}", "the package 'anthropic'", "anthropic")
        own_server = settings.base_url or os.environ.get("ANTHROPIC_BASE_URL")
        address = (own_server or ANTHROPIC).rstrip("/").removesuffix("/v1")
        super().__init__("anthropic", name, settings, address, Key(settings, needed=not own_server), MESSAGES)
        if settings.api != "chat":
            raise ConfigError(
                f"api = {settings.api!r} is an interface of OpenAI", hint="leave api out for anthropic: models"
            )

    def _sdk(self) -> ModuleType:
        import anthropic

        return anthropic

    def _connect(self, **settings: Any) -> Any:
        import anthropic

        return anthropic.AsyncAnthropic(**settings)

    async def _send(self, client: Any, request: ChatRequest, settings: ModelSection) -> bytes:
        import anthropic

        body = MESSAGES.write_request(self._model, request, settings, native=anthropic.transform_schema)
        return await self._post(client, f"/v1{MESSAGES.path}", body, self._seed_header(request, settings))
