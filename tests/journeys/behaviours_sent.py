"""What comes over the line: statuses, headers, bodies, connections."""

import gzip
import json
import time
from email.utils import formatdate

from misbehaving import STREAM, Answer, Asked, Behaviour, after, first, refusing, sending, tampering, to, where
from trained_against import Row, either, right, stops, told

PAGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>"
HTML = {"Content-Type": "text/html; charset=utf-8"}
HOURS = 86_400
STREAMED = {"target": {"stream": True}, "optimizer": {"stream": True}}
HASTY = {"target": {"timeout": 0.3}, "optimizer": {"timeout": 0.3}}
SOON = {"limits": {"outage_seconds": 0.4}}
"""How long a dead endpoint is tried."""
KEY = "api_key_env|NO_SUCH_KEY"


def busy(**headers: str) -> Behaviour:
    return first(refusing(429, "Rate limit reached.", "rate_limit_exceeded", **headers))


def impatient(**headers: str) -> Behaviour:
    """A server that bans whoever comes back before the time that it asked for."""
    seen: dict[str, float] = {}

    def answer(asked: Asked) -> Answer | None:
        if asked.times == 1 and (asked.role == "optimizer" or asked.is_one_in(5)):
            seen[asked.question] = time.monotonic()
            return refusing(429, "Rate limit reached.", None, **headers)(asked)
        if time.monotonic() - seen.get(asked.question, 0.0) < 0.25:
            return refusing(403, "You came back too early and are banned.")(asked)
        return None

    return answer


def chunked(body: bytes) -> bytes:
    half = len(body) // 2
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:half], body[half:]))


def half(body: bytes) -> bytes:
    return body[: len(body) // 2]


def redirected(status: int, to_path: str) -> Behaviour:
    def answer(asked: Asked) -> Answer | None:
        return None if "again" in asked.path else Answer(b"", status, {"Location": to_path, **HTML})

    return answer


def events(asked: Asked) -> Answer:
    """A stream, asked for or not."""
    call = asked.call
    return Answer(b"".join(asked.form.write_events(call, asked.reply)), headers=STREAM)


def plain(asked: Asked) -> Answer:
    """No stream, asked for or not."""
    return Answer(asked.form.write_reply(asked.call, asked.reply))


def odd_events(body: bytes) -> bytes:
    """The same stream with other line ends, comments, names, and without the space."""
    lines = body.replace(b"data: ", b"event: chunk\nid: 1\nretry: 10\ndata:")
    return b": keep-alive\r\n\r\n" + lines.replace(b"\n", b"\r\n")


def without_finish(body: bytes) -> bytes:
    """A stream that ends properly, but never says how the reply ended; a part of it is missing."""
    parts = body.split(b"\n\n")
    kept = [part for part in parts if b'"finish_reason": "stop"' not in part]
    return b"\n\n".join([*kept[:3], *kept[5:]])


def broken_by_an_error(body: bytes) -> bytes:
    parts = body.split(b"\n\n")
    return b"\n\n".join([*parts[:3], b'data: {"error": {"message": "Upstream overloaded", "code": 502}}', b"", b""])


_TEMPORARY = [
    Row(
        f"{status} once",
        first(refusing(status, "Try again.")),
        right(unsaid="" if status >= 500 else "does not take"),
    )
    for status in (408, 409, 424, 425, 499, 500, 529)
] + [
    Row("a page of a proxy with 502 once", first(sending(PAGE, 502, headers=HTML)), right()),
    Row("503 while the model is loading", first(refusing(503, "Loading model"), of=1, times=2), right()),
    Row("429 without a time once", busy(), right()),
    Row("429 with seconds", impatient(Retry_After="0.3"), right()),
    Row("429 with milliseconds", impatient(Retry_After_Ms="300"), right()),
    Row("429 with a date", busy(Retry_After=formatdate(usegmt=True)), right()),
    Row("429 with a time that is none", busy(Retry_After="soon"), right()),
    Row("429 with a time that has passed", busy(Retry_After="-5"), right()),
    Row(
        "429 for a day",
        after(10, refusing(429, "Daily limit reached.", Retry_After=str(HOURS))),
        stops("target.*86,400 seconds.*Daily limit", most=60),
    ),
    Row(
        "500 whenever a JSON schema is asked for",
        where(lambda asked: "response_format" in asked.sent, refusing(500, "Internal error in the grammar")),
        right("does not take structured"),
    ),
    Row("500 for ever", after(10, refusing(500, "CUDA out of memory")), stops("target.*CUDA out of memory"), SOON),
    Row("500 for ever for the optimizer", to("optimizer", refusing(500, "Boom")), stops("optimizer.*Boom"), SOON),
]
_REFUSED_HALFWAY = [
    Row("the key is refused halfway", after(10, refusing(401, "Invalid key", "invalid_api_key")), stops("401", KEY)),
    Row("the credit is used up halfway", after(10, refusing(402, "Insufficient Balance")), stops("Balance", most=60)),
    Row(
        "the quota is used up halfway",
        after(10, refusing(429, "You exceeded your current quota.", "insufficient_quota")),
        stops("quota", most=60),
    ),
    Row(
        "the spending limit is reached halfway",
        after(10, refusing(400, "Billing hard limit has been reached", "billing_hard_limit_reached")),
        stops("Billing hard limit", most=60),
    ),
    Row("the region is blocked", refusing(403, "Country not supported"), stops("Country not supported", most=40)),
    Row(
        "the model is removed halfway",
        after(10, refusing(404, "The model `target-steady` does not exist", "model_not_found")),
        stops("does not exist", "check the model name"),
    ),
    Row(
        "the model is gone for good",
        after(10, refusing(410, "The model is retired")),
        stops("retired", "model", most=60),
    ),
    Row(
        "the optimizer's key is refused", to("optimizer", refusing(401, "Invalid key")), stops("optimizer.*401", KEY)
    ),
]
_PAGES = [
    Row("a page in place of an answer once", first(sending(PAGE, headers=HTML)), right()),
    Row("a page in place of every answer", sending(PAGE, headers=HTML), stops("target.*Just a moment"), SOON),
    Row("a page that refuses", sending(PAGE, 403, headers=HTML), stops("target.*403.*Just a moment")),
    Row("an error within an answer once", first(sending({"error": {"message": "Overloaded", "code": 502}})), right()),
    Row("an error within every answer", sending({"error": {"message": "GPU lost"}}), stops("target.*GPU lost"), SOON),
    Row(
        "a refused key within an answer",
        sending({"error": {"message": "No auth credentials found", "code": 401}}),
        stops("No auth credentials", KEY, most=40),
    ),
    Row("an error as a text once", first(sending({"error": "model runner has stopped"})), right()),
    Row(
        "an error in a list",
        sending(b'[{"error": {"code": 400, "message": "API key not valid."}}]', 400),
        stops("API key not valid"),
    ),
    Row("an empty body once", first(sending(b"")), right()),
    Row("an empty body always", sending(b""), stops("target.*not a chat completion|target.*empty"), SOON),
    Row("204 once", first(sending(b"", 204)), right()),
    Row("null once", first(sending(b"null")), right()),
    Row("a list once", first(sending(b"[]")), right()),
    Row("a JSON text of the answer", first(tampering(lambda body: json.dumps(body.decode()).encode())), right()),
    Row("half of the JSON once", first(tampering(half)), right()),
    Row("rubbish behind the JSON once", first(tampering(lambda body: body + b"}{")), right()),
    Row("empty lines before the JSON", tampering(lambda body: b"\n \n\n" + body), right()),
    Row("a mark of byte order before the JSON", tampering(lambda body: b"\xef\xbb\xbf" + body), right()),
    Row(
        "a comment of a stream before the JSON",
        tampering(lambda body: b": PROCESSING\n\n" + body),
        either(right(), stops("target")),
        SOON,
    ),
    Row(
        "bytes that are no UTF-8 once",
        first(tampering(lambda body: body.replace(b"Charged", b"Charg\xe9d"))),
        right(),
    ),
    Row("NaN among the numbers", tampering(lambda body: body.replace(b'"created": 0', b'"created": NaN')), right()),
    Row("a body of many megabytes once", first(tampering(lambda body: b" " * 8_000_000 + body)), right()),
    Row("another content type", tampering(bytes, {"Content-Type": "text/plain"}), right()),
    Row("an unknown character set", tampering(bytes, {"Content-Type": "application/json; charset=klingon"}), right()),
]
_COMPRESSED = [
    Row("a compressed body", tampering(gzip.compress, {"Content-Encoding": "gzip"}), right()),
    Row(
        "a compressed body that breaks once",
        first(tampering(lambda body: half(gzip.compress(body)), {"Content-Encoding": "gzip"})),
        right(),
    ),
    Row(
        "a body that only claims to be compressed once",
        first(tampering(bytes, {"Content-Encoding": "gzip"})),
        right(),
    ),
    Row(
        "bodies that only claim to be compressed",
        tampering(bytes, {"Content-Encoding": "gzip"}),
        stops("target.*(decod|decompress|header)"),
        SOON,
    ),
]
_CONNECTIONS = [
    Row("hangs up without a word once", first(sending(status=0, end="close")), right()),
    Row("resets the connection once", first(sending(status=0, end="reset")), right()),
    Row("resets in the middle once", first(tampering(half, announced=10_000, end="reset")), right()),
    Row("ends in the middle once", first(tampering(half, announced=10_000, end="close")), right()),
    Row("announces too little", first(tampering(bytes, announced=40, end="close")), right()),
    Row("hangs up after each answer", tampering(bytes, end="close"), right()),
    Row("no length", tampering(bytes, announced="nothing", end="close"), right()),
    Row("in chunks", tampering(lambda body: chunked(body) + b"0\r\n\r\n", announced="chunks"), right()),
    Row("in chunks without the last one once", first(tampering(chunked, announced="chunks", end="close")), right()),
    Row("words that are no HTTP once", first(sending(b"SSH-2.0-OpenSSH_9.6\r\n", 0, end="close")), right()),
    Row("resets for ever", after(10, sending(status=0, end="reset")), stops("target.*no connection"), SOON),
    Row("a slow drip", first(tampering(bytes, seconds=0.2)), right()),
    Row("a drip that is too slow once", first(tampering(bytes, seconds=3.0)), right(), HASTY),
    Row("never answers once", first(sending(seconds=60)), right(), HASTY),
    Row("never answers", sending(seconds=60), stops("target.*no answer within 0.3 seconds"), HASTY | SOON),
    Row("redirects that keep the method", redirected(307, "/v1/chat/completions?again"), right()),
    Row("redirects to a page", redirected(302, "/login"), stops("target.*(redirect|not a chat completion)"), SOON),
    Row("redirects in a circle", redirected(307, "/v1/chat/completions"), stops("target.*redirect"), SOON),
]
_STREAMS = [
    Row("a stream that nobody asked for", events, right()),
    Row("no stream where one is asked for", plain, right(), STREAMED),
    Row("a stream of another style", tampering(odd_events), right(), STREAMED),
    Row("a stream that stops half-way once", first(tampering(half)), right(), STREAMED),
    Row("a stream that never says how it ended once", first(tampering(without_finish)), right(), STREAMED),
    Row("an error within a stream once", first(tampering(broken_by_an_error)), right(), STREAMED),
    Row(
        "a stream without its last mark",
        tampering(lambda body: body.replace(b"data: [DONE]\n\n", b"")),
        right(),
        STREAMED,
    ),
    Row("a stream of comments only", sending(b": waiting\n\n" * 5, headers=STREAM), told("target"), STREAMED | SOON),
]
ROWS = [*_TEMPORARY, *_REFUSED_HALFWAY, *_PAGES, *_COMPRESSED, *_CONNECTIONS, *_STREAMS]
