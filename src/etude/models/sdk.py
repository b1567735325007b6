"""What the models of OpenAI's and Anthropic's SDKs share: connections, time limits, errors.

Both SDKs come from one generator: the same clients, the same exceptions.
"""

import asyncio
import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from types import ModuleType
from typing import Any, cast
from urllib.parse import urlsplit

from etude.config import ModelSection
from etude.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError
from etude.formats import RESPONSES, Format
from etude.formats.errors import ServerError, as_model_error
from etude.formats.opaque import bare, names_of
from etude.models.keys import Key
from etude.models.provider_model import ProviderModel, check_headers, shorten
from etude.models.refused import Sending
from etude.records import ChatRequest, Reply

CONNECT_SECONDS = 4.0
"""A connection that takes longer is given up, so that a dead address is known within 5 seconds."""
SEED_HEADER = "x-etude-seed"
"""Carries the seed where the interface has no field for it."""
_ABOUT_FORM = re.compile(r"response_format|schema|grammar|tool|function", re.IGNORECASE)
"""What an error says that is about the form that was asked for."""


class Clients:
    """Clients for the requests of one event loop: connections cannot move from one loop to another.

    Each request in flight has a client of its own, and so a pool with one connection: pools look at every connection
    they have, twice for each request.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self.loop = asyncio.get_running_loop()
        self._make = make
        self._made: list[Any] = []
        self._idle: list[Any] = []
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[Any]:
        """The client that was used last, whose connection is the least likely to be closed; a new one when none is
        idle. Requests begin one by one, with a look at the connections between them: thousands that are opened at
        once would wait for each other until their time is over."""
        async with self._turn:
            await asyncio.sleep(0)
            if not self._idle:
                self._made.append(self._make())
                self._idle.append(self._made[-1])
            client = self._idle.pop()
        try:
            yield client
        finally:
            self._idle.append(client)

    async def aclose(self) -> None:
        for client in self._made:
            await client.close()


class SdkModel(ProviderModel):
    """A model behind an SDK, which is imported with the first request, by its name at the server. Raises ConfigError:
    the address is not a URL, or a header cannot be sent."""

    def __init__(
        self, provider: str, name: str, settings: ModelSection, base_url: str, key: Key, form: Format
    ) -> None:
        check_headers(settings.headers)
        super().__init__(f"{provider}:{name}", settings, key.secrets)
        self.endpoint = shown_address(base_url)
        key.secrets.add_address("base_url", base_url)  # it may be of the environment
        self._model = name
        self._base_url = base_url
        self._key = key
        self._format = form
        self._clients: Clients | None = None
        self._forms: Counter[str] = Counter()
        """How often the server failed where it was asked for a form that it has never answered in."""
        self._bare = False
        """The server refuses what it wrote itself: turns go back without their opaque parts."""
        self._answered_in: set[str] = set()

    @abstractmethod
    def _sdk(self) -> ModuleType:
        """The SDK, imported."""

    @abstractmethod
    def _connect(self, **settings: Any) -> Any:
        """A new client with settings that both SDKs take."""

    @abstractmethod
    async def _send(self, client: Any, request: ChatRequest, settings: ModelSection) -> bytes:
        """The whole body of the answer, streamed or not, to a request with these settings."""

    async def complete(self, request: ChatRequest) -> Reply:
        sdk = cast(Any, self._sdk())
        key = await self._key.renewed()
        sending = self._sending
        request = sending.fit(request)
        try:
            async with self._connected(sdk).one() as client:
                client.api_key = key
                async with asyncio.timeout(self._settings.timeout):
                    body = await self._sent(client, request, sending.settings)
        except (TimeoutError, sdk.APITimeoutError) as error:
            late = isinstance(error.__cause__, _http_library(sdk).ConnectTimeout)
            what, limit = ("connection", CONNECT_SECONDS) if late else ("answer", self._settings.timeout)
            message = f"no {what} within {min(limit, self._settings.timeout):g} seconds"
            raise TransientError(message, unreachable=True) from None
        except sdk.APIConnectionError as error:
            message = f"no connection: {error.__cause__ or error}"
            raise TransientError(self._quote(message), unreachable=True) from None
        except sdk.APIStatusError as error:
            wait = _wait(error.response.headers)
            codes = {str(getattr(error, name, None)) for name in ("code", "type")}
            failure = ServerError(error.status_code, _words(error), codes, error.response.text)
            raise await self._refusal(failure, wait, request, sending) from None
        try:
            reply = self._format.read_reply(body)
        except ServerError as error:
            raise await self._refusal(error, None, request, sending) from None
        except TransientError as error:
            raise TransientError(self._quote(error.message), usage=error.usage) from None
        except ValueError:
            text = body.decode("utf-8", "replace")
            raise TransientError(self._quote(f"the answer is not a {self._format.answer}: {text}")) from None
        self._answered_in.add(_form_of(request))
        return reply

    async def _sent(self, client: Any, request: ChatRequest, settings: ModelSection) -> bytes:
        """The whole body of the answer. A request that is refused for what it sends back is sent once more without,
        and so are later ones if that was it."""
        if self._bare:
            return await self._send(client, bare(request), settings)
        sdk = cast(Any, self._sdk())
        try:
            return await self._send(client, request, settings)
        except sdk.APIStatusError as error:
            if not self._is_about_opaque(error, request):
                raise
            self._bare = True
            try:
                return await self._send(client, bare(request), settings)
            except sdk.APIError:
                self._bare = False
                raise error from None

    def _is_about_opaque(self, error: Any, request: ChatRequest) -> bool:
        names = names_of(request)
        if self._format is RESPONSES and request.tools:
            names |= {"include", "ncrypted"}
        return error.status_code in (400, 422) and any(name in _words(error) for name in names)

    async def aclose(self) -> None:
        clients, self._clients = self._clients, None
        if clients is not None and clients.loop is asyncio.get_running_loop():
            await clients.aclose()

    def _connected(self, sdk: Any) -> Clients:
        """The clients of the running loop."""
        if self._clients is not None and self._clients.loop is asyncio.get_running_loop():
            return self._clients
        limit = self._settings.timeout
        timeout = sdk.Timeout(limit, connect=min(CONNECT_SECONDS, limit))
        # Reading the certificates takes longer than all the rest of a client.
        certificates = _http_library(sdk).create_ssl_context()

        def make() -> Any:
            http = sdk.DefaultAsyncHttpxClient(base_url=self._base_url, timeout=timeout, verify=certificates)
            return self._connect(
                api_key=self._key.text,
                base_url=self._base_url,
                default_headers=self._settings.headers,
                max_retries=0,
                timeout=timeout,
                http_client=http,
            )

        self._clients = Clients(make)
        return self._clients

    async def _post(self, client: Any, path: str, body: dict[str, Any], headers: dict[str, str]) -> bytes:
        """The whole body of the answer. The SDKs' own methods look at the type of every field of a request and a
        reply first, which costs more than sending them."""
        as_it_is = _http_library(self._sdk()).Response
        response = await client.post(path, cast_to=as_it_is, body=body, options={"headers": headers})
        return response.content

    def _seed_header(self, request: ChatRequest, settings: ModelSection) -> dict[str, str]:
        sent = settings.send_seed and request.seed is not None
        return {SEED_HEADER: str(request.seed)} if sent else {}

    async def _refusal(
        self, error: ServerError, wait: float | None, request: ChatRequest, sending: Sending
    ) -> ModelError:
        text = self._quote(f"HTTP {error.status}: {error.message}")
        shown = ServerError(error.status, text, error.codes)
        place = f"check the model name {self._model!r} and the address {self.endpoint}"
        known = as_model_error(shown, wait, account=self._key.advice, place=place)
        refused = self._refused(error, text, sending, request)
        if refused and (refused.curable or not isinstance(known, RejectedRole)):
            return refused
        if self._is_about_form(error, _form_of(request)):
            return RejectedRequest(text, failing=error.status >= 500)
        if error.status == 404 and (address := await self._right_address()):
            return RejectedRole(text, hint=address)
        return known

    def _is_about_form(self, error: ServerError, form: str) -> bool:
        """Whether the server fails because it does not know the form of the answer: it says so, or it failed before
        with that form and never answered in it."""
        if error.status not in (404, 500, 501) or not form or form in self._answered_in:
            return False
        said = _ABOUT_FORM.search(error.message) is not None
        self._forms[form] += error.status != 404
        return said or self._forms[form] > 1

    async def _right_address(self) -> str:
        """What to do where a part of the address is missing; empty where nothing is known of that."""
        return ""

    def _quote(self, message: str) -> str:
        """The message, bounded and without secrets."""
        return shorten(self._secrets.hide(message))


def _form_of(request: ChatRequest) -> str:
    """In which form the answer has to come; empty for a text."""
    forms = {"json_schema": request.response_schema, "tool": request.forced_tool}
    return next((name for name, asked in forms.items() if asked is not None), "")


def _http_library(sdk: Any) -> Any:
    """httpx2, or httpx below an older SDK."""
    return import_module(sdk.DefaultAsyncHttpxClient.__mro__[1].__module__)


def shown_address(base_url: str) -> str:
    """The address as it may be shown: without user, password and query.
    Raises ConfigError: it is not an http(s) address."""
    shown = re.sub(r"[^/]*@", "", base_url.partition("?")[0])
    bare = re.fullmatch(r"[\w.-]+(:\d+)?(/\S*)?", shown) is not None
    hint = f"write it as in http://{shown if bare else '127.0.0.1:8000/v1'}"
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise ConfigError(f"base_url = {shown!r} is not an address: {error}", hint=hint) from None
    if not usable:
        raise ConfigError(f"base_url = {shown!r} is not an address", hint=hint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _words(error: Any) -> str:
    """What the server says, without its wrapping: `error.message` of the body, or `message` where the SDK has
    taken off the outer layer already."""
    body: Any = error.body
    for _ in range(2):
        if isinstance(body, dict):
            found = cast(dict[str, Any], body)
            message = found.get("message", found.get("detail"))  # the second is FastAPI's
            if isinstance(message, str):
                return message + _passed_on(found.get("metadata"))
            body = found.get("error")
    return error.response.text.strip() or error.response.reason_phrase


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait; milliseconds are the finer word, where it gives both."""
    milliseconds = _retry_after(headers.get("retry-after-ms"))
    return _retry_after(headers.get("retry-after")) if milliseconds is None else milliseconds / 1000


def _passed_on(metadata: Any) -> str:
    """What the server behind the server said, as OpenRouter has it."""
    raw: Any = cast(dict[str, Any], metadata).get("raw") if isinstance(metadata, dict) else None
    return f": {raw}" if isinstance(raw, str) and raw else ""


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
