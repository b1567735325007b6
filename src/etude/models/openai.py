"""OpenAI, and every server that speaks its Chat Completions or its Responses."""

import os
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from etude.config import ModelSection
from etude.errors import ConfigError
from etude.formats import CHAT, RESPONSES
from etude.models.http import HttpModel, shown_address
from etude.models.keys import Key
from etude.models.refused import LIMITS, PARAMETERS, Sending

OPENAI = "https://api.openai.com/v1"
_NOT_IN_RESPONSES = frozenset({"seed", "thinking", "max_output_tokens"})
"""What that interface does not have, and the limit, which has no other name there."""


class OpenAIModel(HttpModel):
    """OpenAI's own models, or those of a compatible server, by their name there: behind Chat Completions or, with
    `api: responses`, behind Responses. The address is `base_url`, else OPENAI_BASE_URL, else OpenAI's own; what it
    has behind a `?` goes with every request. Where that is an api-version, as at Azure, the key goes into the header
    `api-key`, unless a command prints it: then it is an access token.

    Raises ConfigError: the address is not a URL, OpenAI's own server is meant and no key is set, a header cannot be
    sent, or thinking is switched where there is no switch."""

    def __init__(self, name: str, settings: ModelSection) -> None:
        given = settings.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        self._at_openai = at_openai = _is_openai(given)
        key = Key(settings, needed=at_openai)
        key.secrets.add_address("base_url", given)
        parts = urlsplit(given)
        address = urlunsplit(parts._replace(path=parts.path.removesuffix(CHAT.path), query=""))
        form = RESPONSES if settings.api == "responses" else CHAT
        super().__init__(f"openai:{name}", settings, address, key, form)
        self.query = dict(parse_qsl(parts.query))
        self._key_header = "api-version" in self.query and key.command is None
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

    def _shown(self, key: str) -> dict[str, str]:
        if self._key_header:
            return {"api-key": key}
        variables = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
        billed = {name: os.environ[variable] for name, variable in variables.items() if variable in os.environ}
        return {"Authorization": f"Bearer {key}", **(billed if self._at_openai else {})}


def _is_openai(address: str) -> bool:
    """OpenAI's own server, one of its regions, as eu.api.openai.com, or a resource at Azure."""
    shown_address(address)
    host = urlsplit(address).hostname or ""
    return host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))
