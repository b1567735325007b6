"""What comes over the line: statuses, headers, bodies, connections."""

import gzip
import time

from misbehaving import STREAM, Answer, Asked, Behaviour, after, first, refusing, sending, tampering, where
from trained_against import Row, either, right, stops, told

PAGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>"
HTML = {"Content-Type": "text/html; charset=utf-8"}
HOURS = 86_400
STREAMED = {"target": {"stream": True}, "optimizer": {"stream": True}}
HASTY = {"target": {"timeout": 0.3}, "optimizer": {"timeout": 0.3}}
SOON = {"limits": {"outage_seconds": 0.4}}
"""How long a dead endpoint is tried."""
KEY = "api_key_env|NO_SUCH_KEY"


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
    for status in (424, 500)
] + [
    Row("503 while the model is loading", first(refusing(503, "Loading model"), of=1, times=2), right()),
    Row("429 with seconds", impatient(Retry_After="0.3"), right()),
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
]
_REFUSED_HALFWAY = [
    Row("the key is refused halfway", after(10, refusing(401, "Invalid key", "invalid_api_key")), stops("401", KEY)),
    Row(
        "the quota is used up halfway",
        after(10, refusing(429, "You exceeded your current quota.", "insufficient_quota")),
        stops("quota", most=60),
    ),
    Row(
        "the model is removed halfway",
        after(10, refusing(404, "The model `target-steady` does not exist", "model_not_found")),
        stops("does not exist", "check the model name"),
    ),
]
_PAGES = [
    Row("a page in place of every answer", sending(PAGE, headers=HTML), stops("target.*Just a moment"), SOON),
    Row("an error within an answer once", first(sending({"error": {"message": "Overloaded", "code": 502}})), right()),
    Row(
        "a refused key within an answer",
        sending({"error": {"message": "No auth credentials found", "code": 401}}),
        stops("No auth credentials", KEY, most=40),
    ),
    Row("half of the JSON once", first(tampering(half)), right()),
    Row("empty lines before the JSON", tampering(lambda body: b"\n \n\n" + body), right()),
    Row(
        "a comment of a stream before the JSON",
        tampering(lambda body: b": PROCESSING\n\n" + body),
        either(right(), stops("target")),
        SOON,
    ),
]
_COMPRESSED = [
    Row("a compressed body", tampering(gzip.compress, {"Content-Encoding": "gzip"}), right()),
    Row(
        "bodies that only claim to be compressed",
        tampering(bytes, {"Content-Encoding": "gzip"}),
        stops("target.*(decod|decompress|header)"),
        SOON,
    ),
]
_CONNECTIONS = [
    Row("hangs up without a word once", first(sending(status=0, end="close")), right()),
    Row("resets in the middle once", first(tampering(half, announced=10_000, end="reset")), right()),
    Row("in chunks", tampering(lambda body: chunked(body) + b"0\r\n\r\n", announced="chunks"), right()),
    Row("resets for ever", after(10, sending(status=0, end="reset")), stops("target.*no connection"), SOON),
    Row("never answers", sending(seconds=60), stops("target.*no answer within 0.3 seconds"), HASTY | SOON),
    Row("redirects to a page", redirected(302, "/login"), stops("target.*(redirect|not a chat completion)"), SOON),
]
_STREAMS = [
    Row("a stream that nobody asked for", events, right()),
    Row("a stream that never says how it ended once", first(tampering(without_finish)), right(), STREAMED),
    Row("an error within a stream once", first(tampering(broken_by_an_error)), right(), STREAMED),
    Row("a stream of comments only", sending(b": waiting\n\n" * 5, headers=STREAM), told("target"), STREAMED | SOON),
]
ROWS = [*_TEMPORARY, *_REFUSED_HALFWAY, *_PAGES, *_COMPRESSED, *_CONNECTIONS, *_STREAMS]
