"""What the endpoint does with each request: count it, let a fault strike, or answer; and which faults there are."""

import asyncio
import hashlib
import hmac
import random
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from pydantic import Field

from etude.formats import CHAT, BadBody, Format, WireRequest, with_field
from etude.formats.local_http import client_left, json_response
from etude.readable import CHARACTERS_PER_TOKEN, token_count
from etude.records import Record, Reply
from etude.simulation.schemas import wanted_form
from etude.simulation.text import uniform
from etude.simulation.world import EVERYDAY, SimulatedWorld

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send


IN_A_ROW = 2
"""Faults that may hit the same question one after the other; the next time it is answered."""


def _rate() -> float:
    return Field(default=0.0, ge=0, le=1)


class Faults(Record):
    """How often requests go wrong: each a rate in [0, 1], tried in this order until one strikes."""

    rate_limit: float = _rate()
    """429 with `Retry-After`."""
    rate_limit_bare: float = _rate()
    """429 without."""
    server_error: float = _rate()
    """500."""
    unavailable: float = _rate()
    """503."""
    hang: float = _rate()
    """No answer until the client leaves, or for `hang_seconds`; then the connection is dropped."""
    drop: float = _rate()
    """The connection is closed before anything is answered."""
    broken_json: float = _rate()
    """200 with a body that is not JSON."""
    truncated: float = _rate()
    """200 with a body shorter than announced; a stream that stops half-way."""
    empty: float = _rate()
    """200 with an empty message."""
    cut_structured: float = _rate()
    """JSON content that stops in the middle. Only for requests that ask for JSON."""
    outage_after: int | None = Field(default=None, ge=0)
    """After this many answered requests every connection is dropped until the faults are changed."""
    bad_seeds: float = _rate()
    """Share of seeds under which every answer in text is wrong, whatever is asked: the luck comes from the seed of
    the request alone, as from a server that draws the same numbers for all that send the same seed."""
    retry_after: float = Field(default=1.0, ge=0)
    """Seconds in `Retry-After`."""
    hang_seconds: float = Field(default=60.0, ge=0)
    """Longest hang."""
    seed: int = 0
    """Seed of the draws."""


_NOT_DRAWN = {"seed", "bad_seeds"}
_DRAWN = tuple(n for n, field in Faults.model_fields.items() if field.default == 0.0 and n not in _NOT_DRAWN)


class FaultDice:
    """Draws faults. Unlike replies, faults may depend on what came before."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self._rng = random.Random(faults.seed)
        self._in_a_row: dict[str, int] = {}
        self._answered = 0

    def draw(self, question: str, *, wants_json: bool, seed: int | None = None) -> str | None:
        """The fault that strikes a request with this question (its hash) and seed, None to answer it.

        A question that is asked again with corrections below it is the same question.
        """
        limit = self.faults.outage_after
        if limit is not None and self._answered >= limit:
            return "outage"
        row = self._in_a_row.get(question, 0)
        fault = self._throw(wants_json) if row < IN_A_ROW else None
        if fault is None:
            self._in_a_row.pop(question, None)
            fault = "bad_seeds" if self._is_bad(seed) and not wants_json else None
        else:
            self._in_a_row[question] = row + 1
        return fault

    def answered(self) -> None:
        """A request was answered; counts towards `outage_after`."""
        self._answered += 1

    def _is_bad(self, seed: int | None) -> bool:
        return seed is not None and uniform("seed", self.faults.seed, seed) < self.faults.bad_seeds

    def _throw(self, wants_json: bool) -> str | None:
        names = _DRAWN if wants_json else _DRAWN[:-1]  # the last one cuts JSON
        return next((name for name in names if self._rng.random() < getattr(self.faults, name)), None)


SEED_HEADER = "x-etude-seed"
"""Carries the seed where the format has no field for it: a whole number."""


def model_of(call: WireRequest) -> str:
    """The model's name in the simulated world: without the prefix `simulated:` or `simulated-`."""
    return call.named.removeprefix("simulated:").removeprefix("simulated-")


def wants_json(call: WireRequest) -> bool:
    """A schema, a forced tool or a skeleton in the prompt asks for JSON."""
    return call.request.response_schema is not None or wanted_form(call.request) is not None


def clip(reply: Reply, most_tokens: int | None) -> Reply:
    """The reply, cut to this many tokens."""
    if most_tokens is None or reply.usage.output_tokens <= most_tokens:
        return reply
    most = most_tokens * CHARACTERS_PER_TOKEN
    calls = tuple(call.model_copy(update={"arguments": call.arguments[:most]}) for call in reply.tool_calls)
    usage = reply.usage.model_copy(update={"output_tokens": most_tokens})
    return reply.model_copy(
        update={"text": reply.text[:most], "tool_calls": calls, "usage": usage, "finish": "length"}
    )


def cut(reply: Reply) -> Reply:
    """The reply with its content ending in the middle, though it does not say so."""
    calls = tuple(call.model_copy(update={"arguments": _half(call.arguments)}) for call in reply.tool_calls)
    return reply.model_copy(update={"text": _half(reply.text), "tool_calls": calls})


def saying(reply: Reply, text: str) -> Reply:
    """The reply with this text as all of its content."""
    usage = reply.usage.model_copy(update={"output_tokens": token_count(text)})
    return reply.model_copy(update={"text": text, "tool_calls": (), "usage": usage, "finish": "stop"})


def _half(text: str) -> str:
    return text[: len(text) // 2]


_SAID = {"empty": "", "bad_seeds": "Answer: I cannot tell."}
"""What is said in place of an answer, by fault: nothing, or what is right for no task."""


@dataclass
class Stats:
    """What the endpoint has seen. `answered` counts replies with status 200 and an intact body, `repeated` those of
    them whose request body, with its seed header, was answered before."""

    received: int = 0
    answered: int = 0
    repeated: int = 0
    by_model: dict[str, int] = field(default_factory=dict[str, int])
    by_fault: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self._bodies: set[str] = set()

    def answer(self, model: str, body: str) -> None:
        """Count an answered request with this body (its hash)."""
        self.answered += 1
        self.by_model[model] = self.by_model.get(model, 0) + 1
        self.repeated += body in self._bodies
        self._bodies.add(body)


class Service:
    """What a running endpoint knows: faults, latency, key and counts."""

    def __init__(
        self, faults: Faults, latency: float = 0.0, key: str | None = None, world: SimulatedWorld = EVERYDAY
    ) -> None:
        """Each answer comes after `latency` seconds. Clients must send the API key `key`; None accepts any."""
        self.dice = FaultDice(faults)
        self.latency = latency
        self.key = key
        self.world = world
        self.stats = Stats()

    async def respond(self, form: Format, request: "Request", *, versioned: bool = False) -> "Response":
        """Answer a request in a format, or let a fault strike. The address may name the model, as one of Azure's
        deployments; `versioned` addresses need an api-version."""
        body = await request.body()
        self.stats.received += 1
        if not self._may(request):
            return _error(form, 401, "Incorrect API key provided.")
        if versioned and not request.query_params.get("api-version"):
            return _error(form, 404, "Resource not found: the address needs an api-version.")
        given = request.headers.get(SEED_HEADER)
        try:
            model = request.path_params.get("name")
            body = body if model is None else with_field(body, "model", model)
            call = form.read_request(body, _seed(given))
        except BadBody as error:
            return _error(form, 400, error.message)
        if not self.world.is_model(model_of(call)):
            text = f"The model {call.named!r} does not exist. Allowed: {', '.join(self.world.names())}."
            return _error(form, 404, text)
        key = hashlib.sha256(body if given is None else body + f"\nseed {given}".encode()).hexdigest()
        fault = self.dice.draw(_question(call), wants_json=wants_json(call), seed=call.request.seed)
        if fault is not None:
            self.stats.by_fault[fault] = self.stats.by_fault.get(fault, 0) + 1
        await asyncio.sleep(self.latency)
        refused = self._refuse(form, fault)
        return refused if refused is not None else self._answer(form, call, key, fault)

    def _may(self, request: "Request") -> bool:
        """The key is the right one, in the header of OpenAI, that of Anthropic or that of Azure."""
        if self.key is None:
            return True
        headers = request.headers
        own = headers.get("x-api-key", headers.get("api-key"))
        given = headers.get("authorization", "").removeprefix("Bearer ") if own is None else own
        return hmac.compare_digest(given.encode(), self.key.encode())

    def _refuse(self, form: Format, fault: str | None) -> "Response | None":
        """The response to a request that is not answered at all."""
        if fault in ("rate_limit", "rate_limit_bare"):
            response = _error(form, 429, "Rate limit reached.")
            if fault == "rate_limit":
                response.headers["Retry-After"] = f"{self.dice.faults.retry_after:g}"
            return response
        if fault == "server_error":
            return _error(form, 500, "The server had an error.")
        if fault == "unavailable":
            return _error(form, form.overloaded, "The server is overloaded.")
        if fault == "hang":
            return _severed(None, None, self.dice.faults.hang_seconds)
        return _severed(None, None, 0.0) if fault in ("drop", "outage") else None

    def _answer(self, form: Format, call: WireRequest, key: str, fault: str | None) -> "Response":
        from starlette.responses import Response, StreamingResponse

        reply = clip(self.world.respond(model_of(call), call.request), call.most_tokens)
        if fault in _SAID:
            reply = saying(reply, _SAID[fault])
        elif fault == "cut_structured":
            reply = cut(reply)
        kind = "text/event-stream" if call.stream else "application/json"
        events = list(form.write_events(call, reply)) if call.stream else [form.write_reply(call, reply)]
        data = b"".join(events)
        if fault == "truncated":
            return _severed(data[: len(data) // 2], None if call.stream else len(data), 0.0, kind)
        if fault == "broken_json":
            broken = data[: len(data) // 2] + (b"\n\n" if call.stream else b"")
            return Response(broken, media_type=kind)
        self.dice.answered()
        self.stats.answer(model_of(call), key)
        if call.stream:
            return StreamingResponse(iter(events), media_type=kind)
        return Response(data, media_type=kind)

    async def models(self, request: "Request") -> "Response":
        """The names of all simulated models."""
        if not self._may(request):
            return _error(CHAT, 401, "Incorrect API key provided.")
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "simulated"} for name in self.world.names()
        ]
        return json_response({"object": "list", "data": listed})

    async def show_stats(self, request: "Request") -> "Response":
        """The counts."""
        del request
        return json_response(asdict(self.stats))


def _question(call: WireRequest) -> str:
    """Hash of the model and the first user message."""
    first = next((message.text for message in call.request.messages if message.role == "user"), "")
    return hashlib.sha256(f"{model_of(call)}\n{first}".encode()).hexdigest()


def _seed(header: str | None) -> int | None:
    if header is None:
        return None
    try:
        return int(header)
    except ValueError:
        raise BadBody(f"{SEED_HEADER}: {header!r} is not a whole number") from None


def _error(form: Format, status: int, message: str) -> "Response":
    from starlette.responses import Response

    return Response(form.write_error(status, message), status_code=status, media_type="application/json")


def _severed(data: bytes | None, announced: int | None, wait: float, kind: str = "application/json") -> "Response":
    """A response that ends with the connection: nothing after `wait` seconds, or `data` out of `announced` bytes."""
    from starlette.responses import Response

    class Severed(Response):
        async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
            transport: asyncio.Transport | None = scope.get("state", {}).get("transport")
            if transport is None:
                raise RuntimeError("this fault needs the server of `serve` or `running_endpoint`")
            if data is None:
                try:
                    await asyncio.wait_for(client_left(receive), wait)
                except TimeoutError:
                    pass
                transport.abort()
                return
            headers = [(b"content-type", kind.encode())]
            if announced is not None:
                headers.append((b"content-length", str(announced).encode()))
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": data, "more_body": True})
            transport.close()

    return Severed()
