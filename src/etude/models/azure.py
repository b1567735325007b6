"""OpenAI's models at Azure: through the interface whose address ends in /openai/v1, or through the address of a
deployment with an api-version."""

import os
import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from etude.config import ModelSection
from etude.errors import ConfigError
from etude.models.keys import Key
from etude.models.openai import OpenAIInterface
from etude.models.sdk import shown_address

_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)(?:/chat/completions)?/?")
_VERSION = "api-version"
_HINT = "write it as in https://NAME.openai.azure.com, or with ?api-version=2024-10-21 at its end"


class AzureModel(OpenAIInterface):
    """A deployment at Azure. The address is `base_url`, else AZURE_OPENAI_ENDPOINT:

    - of the resource, as in `https://NAME.openai.azure.com`, or of its interface, ending in `/openai/v1`;
    - with an api-version, as in `https://NAME.openai.azure.com?api-version=2024-10-21`, for the older interface,
      also as Azure shows it: `https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT/chat/completions?api-...`.

    The key is in AZURE_OPENAI_API_KEY, or printed by `api_key_command`, which may print an access token as well; with
    an api-version what it prints must be an access token. Raises ConfigError: no address, one without the api-version
    that it needs, one of another deployment, no key, a header that cannot be sent, or thinking is switched where
    there is no switch."""

    def __init__(self, name: str, settings: ModelSection) -> None:
        given = settings.base_url or os.environ.get("AZURE_OPENAI_ENDPOINT")
        if not given:
            raise ConfigError(
                f"azure:{name} has no address",
                hint="set base_url to that of the resource, as in https://NAME.openai.azure.com",
            )
        address = _address(given, name, settings.api)
        key = Key(settings, needed=True)
        super().__init__("azure", name, settings, address.base_url, key, at_openai=True)
        self._query = address.query
        self._key_header = address.older and key.command is None

    async def _post(self, client: Any, path: str, body: dict[str, Any], headers: dict[str, str]) -> bytes:
        """The older interface takes a token where OpenAI takes its keys, and its own keys elsewhere."""
        if not self._key_header:
            return await super()._post(client, path, body, headers)
        import openai

        own: dict[str, Any] = {"api-key": self._key.text, "Authorization": openai.Omit()}
        return await super()._post(client, path, body, {**headers, **own})


class _Address(NamedTuple):
    base_url: str
    query: dict[str, str]
    older: bool
    """The interface from before /openai/v1, which is asked for by api-version."""


def _address(given: str, name: str, api: str) -> _Address:
    shown = shown_address(given)
    parts = urlsplit(given)
    query = dict(parse_qsl(parts.query))
    path = parts.path.rstrip("/")
    deployment = _DEPLOYMENT.fullmatch(path)
    if deployment is not None and _VERSION not in query:
        raise ConfigError(f"base_url = {shown!r} has no api-version", hint=_HINT)
    if deployment is not None and unquote(deployment[1]) != name:
        raise ConfigError(
            f"base_url = {shown!r} is that of the deployment {unquote(deployment[1])!r}, the model is 'azure:{name}'",
            hint=_HINT,
        )
    older = deployment is not None or (path in ("", "/openai") and _VERSION in query)
    if older:
        path = "/openai" if api == "responses" else f"/openai/deployments/{quote(name, safe='')}"
    elif path in ("", "/openai"):
        path = "/openai/v1"
    else:
        path = parts.path
    return _Address(urlunsplit(parts._replace(path=path, query="")), query, older)
