"""Anthropic's models, through its Messages."""

import os

from etude.config import ModelSection
from etude.errors import ConfigError
from etude.formats import MESSAGES
from etude.models.http import HttpModel
from etude.models.keys import Key
from etude.models.refused import PARAMETERS

ANTHROPIC = "https://api.anthropic.com"
VERSION = "2026-10-21"
"""Of the interface; `headers` of the settings may name another."""


class AnthropicModel(HttpModel):
    """A model behind Messages. The address is `base_url`, with or without /v1, else ANTHROPIC_BASE_URL, else
    Anthropic's own; the key is in ANTHROPIC_API_KEY unless `api_key_env` names another variable.

    The system text is marked for the prompt cache, and so is a large text that opens a longer conversation. Raises
    ConfigError: the address is not a URL, Anthropic's own server is meant and no key is set, a header cannot be sent,
    or a setting of another provider is given."""

    can_leave_out = frozenset(PARAMETERS) - {"seed", "max_output_tokens"}

    def __init__(self, name: str, settings: ModelSection) -> None:
        own_server = settings.base_url or os.environ.get("ANTHROPIC_BASE_URL")
        address = (own_server or ANTHROPIC).rstrip("/").removesuffix("/v1")
        key = Key(settings, needed=not own_server)
        super().__init__(f"anthropic:{name}", settings, f"{address}/v1", key, MESSAGES)
        if settings.api != "chat":
            raise ConfigError(
                f"api = {settings.api!r} is an interface of OpenAI", hint="leave api out for anthropic: models"
            )

    def _shown(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": VERSION}
