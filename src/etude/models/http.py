"""Models behind HTTP: connections, time limits, errors."""

import asyncio
import math
import re
import socket
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from etude.config import ModelSection
from etude.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError
from etude.formats import RESPONSES, Format
from etude.formats.errors import ServerError, as_model_error, error_within, is_of_proxy
from etude.formats.events import dump, load
from etude.formats.opaque import bare, names_of
from etude.models.keys import Key
from etude.models.provider_model import ProviderModel, check_headers, shorten
from etude.models.refused import Sending
from etude.records import ChatRequest, Reply

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 4.0
"""A connection that takes longer is given up, so that a dead address is known within 5 seconds."""
_SIGNS_OF_LIFE = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 60, "TCP_KEEPCNT": 5}
"""A connection is kept alive each 60 seconds, so that no router forgets it while a model thinks; a system has some of
these names."""
SEED_HEADER = "x-etude-seed"
"""Carries the seed where the interface has no field for it: the simulated endpoint reads it, other servers do not."""
_ABOUT_FORM = re.compile(r"response_format|schema|grammar|tool|function", re.IGNORECASE)
"""What an error says that is about the form that was asked for."""


class Clients:
    """Clients for the requests of one event loop: connections cannot move from one loop to another.

    Each request in flight has a client of its own, and so a pool with one connection: pools look at every connection
    they have, twice for each request.
    """

    def __init__(self, make: "Callable[[], httpx2.AsyncClient]") -> None:
        self.loop = asyncio.get_running_loop()
        self._make = make
        self._made: list[httpx2.AsyncClient] = []
        self._idle: list[httpx2.AsyncClient] = []
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def one(self) -> "AsyncGenerator[httpx2.AsyncClient]":
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
            await client.aclose()


class HttpModel(ProviderModel):
    """A model behind a server that speaks one of the formats, by its name there. What `query` has goes with every
    request. Raises ConfigError: the address is not a URL, or a header cannot be sent."""

    query: Mapping[str, str] = {}

    def __init__(self, name: str, settings: ModelSection, base_url: str, key: Key, form: Format) -> None:
        check_headers(settings.headers)
        super().__init__(name, settings, key.secrets)
        self.endpoint = shown_address(base_url)
        key.secrets.add_address("base_url", base_url)  # it may be of the environment
        self._model = name.partition(":")[2]
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
    def _shown(self, key: str) -> dict[str, str]:
        """The headers that show the key."""

    async def complete(self, request: ChatRequest) -> Reply:
        key = await self._key.renewed()
        sending = self._sending
        request = sending.fit(request)
        try:
            return await self._answered(request, sending, key)
        except ServerError as error:
            if error.filtered:
                return Reply(finish="refusal")
            raise self._refusal(error, request, sending) from None

    async def _answered(self, request: ChatRequest, sending: Sending, key: str) -> Reply:
        import httpx2

        try:
            async with self._connected().one() as client, asyncio.timeout(self._settings.timeout):
                body = await self._sent(client, request, sending.settings, key)
        except (TimeoutError, httpx2.TimeoutException) as error:
            late = isinstance(error, httpx2.ConnectTimeout)
            what, limit = ("connection", CONNECT_SECONDS) if late else ("answer", self._settings.timeout)
            message = f"no {what} within {min(limit, self._settings.timeout):g} seconds"
            raise TransientError(message, unreachable=True) from None
        except httpx2.HTTPError as error:
            message = f"no connection: {str(error) or type(error).__name__}"
            raise TransientError(self._quote(message), unreachable=True) from None
        try:
            reply = self._format.read_reply(body)
        except TransientError as error:
            raise TransientError(self._quote(error.message), usage=error.usage) from None
        except ValueError:
            text = body.decode("utf-8", "replace")
            raise TransientError(self._quote(f"the answer is not a {self._format.answer}: {text}")) from None
        if is_of_proxy(reply.text):
            raise TransientError(self._quote(f"the answer is the page of a proxy: {reply.text}"), usage=reply.usage)
        self._answered_in.add(_form_of(request))
        if reply.finish == "stop" and reply.usage.output_tokens == sending.settings.max_output_tokens:
            return reply.model_copy(update={"finish": "length"})  # some servers always say that it ended by itself
        return reply

    async def _sent(
        self, client: "httpx2.AsyncClient", request: ChatRequest, settings: ModelSection, key: str
    ) -> bytes:
        """The whole body of the answer, streamed or not. A request that is refused for what it sends back is sent
        once more without, and so are later ones if that was it."""
        import httpx2

        plain = self._bare  # another request may find it out while this one is under way
        try:
            return await self._post(client, request, settings, key, plain=plain)
        except ServerError as error:
            if plain or not self._is_about_opaque(error, request):
                raise
            try:
                answer = await self._post(client, request, settings, key, plain=True)
            except (ServerError, httpx2.HTTPError):
                raise error from None
            self._bare = True
            return answer

    async def _post(
        self, client: "httpx2.AsyncClient", request: ChatRequest, settings: ModelSection, key: str, *, plain: bool
    ) -> bytes:
        import httpx2

        body = self._format.write_request(self._model, bare(request) if plain else request, settings)
        if plain:
            body.pop("include", None)  # thoughts that could be sent back, in Responses
        headers = httpx2.Headers(self._shown(key))
        if settings.send_seed and request.seed is not None and "seed" not in body:
            headers[SEED_HEADER] = str(request.seed)
        headers.update(self._settings.headers)
        response = await client.post(self._format.path, content=dump(body), headers=headers)
        if not response.is_success:
            raise _told(response)
        return response.content

    def _is_about_opaque(self, error: ServerError, request: ChatRequest) -> bool:
        names = names_of(request)
        if self._format is RESPONSES and request.tools:
            names |= {"include", "ncrypted"}
        return error.status in (400, 422) and any(name in error.message for name in names)

    async def aclose(self) -> None:
        clients, self._clients = self._clients, None
        if clients is not None and clients.loop is asyncio.get_running_loop():
            await clients.aclose()

    def _connected(self) -> Clients:
        """The clients of the running loop."""
        if self._clients is not None and self._clients.loop is asyncio.get_running_loop():
            return self._clients
        from urllib.request import getproxies

        import httpx2

        limit = self._settings.timeout
        timeout = httpx2.Timeout(limit, connect=min(CONNECT_SECONDS, limit))
        # Reading the certificates takes longer than all the rest of a client.
        certificates = httpx2.create_ssl_context()
        proxied = not {"http", "https", "all"}.isdisjoint(getproxies())
        alive = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
        names = {name: value for name, value in _SIGNS_OF_LIFE.items() if hasattr(socket, name)}
        alive += [(socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in names.items()]

        def make() -> httpx2.AsyncClient:
            return httpx2.AsyncClient(
                base_url=self._base_url,
                params=dict(self.query),
                headers={"Content-Type": "application/json", "User-Agent": "etude"},
                timeout=timeout,
                verify=certificates,
                # A transport of one's own goes past the proxies of the environment.
                transport=None if proxied else httpx2.AsyncHTTPTransport(verify=certificates, socket_options=alive),
                follow_redirects=True,
                event_hooks={"request": [self._stay]},
            )

        self._clients = Clients(make)
        return self._clients

    async def _stay(self, request: "httpx2.Request") -> None:
        """Raises RejectedRole: a redirect leads to another server, which has no right to the key and the request."""
        import httpx2

        home, there = httpx2.URL(self._base_url), request.url
        if (there.host, there.port) == (home.host, home.port) and there.scheme in (home.scheme, "https"):
            return
        address = self._quote(f"{there.scheme}://{there.netloc.decode()}{there.path}")
        raise RejectedRole(
            f"{self.endpoint} sends requests on to another server, {address}",
            hint=f"set base_url: {address.removesuffix(self._format.path)}, where that is the server that is meant",
        )

    def _refusal(self, error: ServerError, request: ChatRequest, sending: Sending) -> ModelError:
        text = self._quote(f"HTTP {error.status}: {error.message}")
        shown = ServerError(error.status, text, error.codes, wait=error.wait)
        place = f"check the model name {self._model!r} and the address {self.endpoint}"
        known = as_model_error(shown, account=self._key.advice, place=place)
        refused = self._refused(error, text, sending, request)
        if refused and (refused.curable or not isinstance(known, RejectedRole)):
            return refused
        if self._is_about_form(error, _form_of(request)):
            return RejectedRequest(text, failing=error.status >= 500)
        if (
            error.status == 404
            and isinstance(known, RejectedRole)
            and known.no_model
            and not self._names_model(error)
        ):
            known.no_model = False  # another name may be as wrong: of the model, or of the place
            if not re.search(r"/v\d", urlsplit(self.endpoint).path):
                below = f"{self.endpoint.rstrip('/')}/v1"
                known.hint = f"set base_url: {below}, where many servers have their interface; or {place}"
        return known

    def _names_model(self, error: ServerError) -> bool:
        """Whether the server, which is then at this address, says that it has no such model."""
        said = " ".join([error.message, *error.codes])
        return re.search(rf"model|\b{re.escape(self._model)}(?!\w)", said, re.IGNORECASE) is not None

    def _is_about_form(self, error: ServerError, form: str) -> bool:
        """Whether the server fails because it does not know the form of the answer: it says so, or it failed before
        with that form and never answered in it."""
        if error.status not in (404, 500, 501) or not form or form in self._answered_in:
            return False
        said = _ABOUT_FORM.search(error.message) is not None
        self._forms[form] += error.status != 404
        return said or self._forms[form] > 1

    def _quote(self, message: str) -> str:
        """The message, bounded and without secrets."""
        return shorten(self._secrets.hide(message))


def _form_of(request: ChatRequest) -> str:
    """In which form the answer has to come; empty for a text."""
    forms = {"json_schema": request.response_schema, "tool": request.forced_tool}
    return next((name for name, asked in forms.items() if asked is not None), "")


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


def _told(response: "httpx2.Response") -> ServerError:
    """What the server says that refused a request."""
    try:
        said = load(response.content)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict):
        said = cast(dict[str, Any], said).get("error", said)
    told = error_within(said or response.text.strip() or response.reason_phrase)
    message = told.message or response.text
    return ServerError(response.status_code, message, told.codes, response.text, wait=_wait(response.headers))


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait; milliseconds are the finer word, where it gives both."""
    milliseconds = _retry_after(headers.get("retry-after-ms"))
    return _retry_after(headers.get("retry-after")) if milliseconds is None else milliseconds / 1000


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
