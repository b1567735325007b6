"""OpenAI, and every server that speaks its Chat Completions."""

import asyncio
import math
import os
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from skillgrad.config import ModelSection
from skillgrad.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError
from skillgrad.models.chat_completions import read_reply, request_body, wire_messages
from skillgrad.protocols import ChatModel
from skillgrad.records import ChatRequest, Reply, canonical

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

OPENAI = "https://api.openai.com/v1"
CONNECT_SECONDS = 4.0
"""A connection that takes longer is given up, so that a dead address is known within 5 seconds."""
LONGEST_QUOTE = 500
"""Characters of a provider's answer in an error message."""


class OpenAIModel(ChatModel):
    """A model behind Chat Completions. The address is `base_url`, else OPENAI_BASE_URL, else OpenAI's own.

    Args:
        name: the model's name at the server.

    Raises:
        ConfigError: the address is no URL, or OpenAI's own server is meant and no key is set.
    """

    def __init__(self, name: str, settings: ModelSection) -> None:
        self.name = f"openai:{name}"
        self._model = name
        self._settings = settings
        own_server = settings.base_url or os.environ.get("OPENAI_BASE_URL")
        self._base_url = own_server or OPENAI
        self.endpoint = _address(self._base_url)
        self._key = _key(settings.api_key_env, needed=not own_server)
        # OpenAI's reasoning models refuse `max_tokens`, most compatible servers know nothing else.
        self._limit = "max_tokens" if own_server else "max_completion_tokens"
        self._client: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def complete(self, request: ChatRequest) -> Reply:
        import openai

        client = self._connected()
        messages = cast(Any, wire_messages(request))
        body = request_body(request, self._settings, limit=self._limit)
        try:
            async with asyncio.timeout(self._settings.timeout):
                raw = await client.chat.completions.with_raw_response.create(
                    model=self._model, messages=messages, extra_body=body
                )
        except (TimeoutError, openai.APITimeoutError):
            message = f"no answer within {self._settings.timeout:g} seconds"
            raise TransientError(message, unreachable=True) from None
        except openai.APIConnectionError as error:
            message = f"no connection: {error.__cause__ or error}"
            raise TransientError(self._quote(message), unreachable=True) from None
        except openai.APIStatusError as error:
            raise self._status_error(error) from None
        try:
            return read_reply(raw.content)
        except ValueError:
            raise TransientError(self._quote(f"the answer is no chat completion: {raw.text}")) from None

    def fingerprint(self) -> str:
        settings = {key: value for key, value in self._settings.identity().items() if key != "structured"}
        return canonical({**settings, "model": self.name})

    @property
    def takes_seed(self) -> bool:
        return self._settings.send_seed

    @property
    def max_output_tokens(self) -> int:
        return self._settings.max_output_tokens

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    def _connected(self) -> "AsyncOpenAI":
        """The client of the running loop: connections cannot move from one loop to another."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            import openai

            limit = self._settings.timeout
            timeout = openai.Timeout(limit, connect=min(CONNECT_SECONDS, limit))
            self._loop = loop
            self._client = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                default_headers=self._settings.headers,
                max_retries=0,
                timeout=timeout,
                http_client=openai.DefaultAsyncHttpxClient(base_url=self._base_url, timeout=timeout),
            )
        return self._client

    def _status_error(self, error: "APIStatusError") -> ModelError:
        status = error.status_code
        message = self._quote(f"HTTP {status}: {_words(error)}")
        if status in (401, 402, 403) or "insufficient_quota" in (error.code, error.type):
            return RejectedRole(message, hint=f"check the key in {self._settings.api_key_env} and its account")
        if status == 404:
            return RejectedRole(message, hint=f"check the model name {self._model!r} and the address {self.endpoint}")
        if status in (408, 409, 429) or status >= 500:
            wait = _retry_after(error.response.headers.get("retry-after"))
            return TransientError(message, retry_after=wait, rate_limited=status == 429)
        return RejectedRequest(message)

    def _quote(self, message: str) -> str:
        """The message, bounded and without the key, should the server have repeated it."""
        shown = message.replace(self._key, "[key]") if len(self._key) > 7 else message
        return shown if len(shown) <= LONGEST_QUOTE else f"{shown[:LONGEST_QUOTE]} ..."


def _key(variable: str, *, needed: bool) -> str:
    key = os.environ.get(variable, "").strip()
    if not key and needed:
        raise ConfigError(
            f"environment variable {variable!r} is not set",
            hint="put the key there, name another variable in api_key_env, or set base_url for a server without keys",
        )
    if not key.isascii():
        raise ConfigError(f"environment variable {variable!r} has characters that no key has", hint="copy it again")
    return key or "none"


def _address(base_url: str) -> str:
    """The address as it may be shown: without user, password and query."""
    hint = "write it as in http://127.0.0.1:8000/v1"
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise ConfigError(f"base_url = {base_url!r} is no address: {error}", hint=hint) from None
    if not usable:
        raise ConfigError(f"base_url = {base_url!r} is no address", hint=hint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _words(error: "APIStatusError") -> str:
    """What the server says, without its wrapping."""
    body = error.body
    if isinstance(body, dict):
        message = cast(dict[str, Any], body).get("message")
        if isinstance(message, str):
            return message
    return error.response.text.strip() or error.response.reason_phrase


def _retry_after(header: str | None) -> float | None:
    """Seconds from a number or an HTTP date; None when there is neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
