"""What comes over the line: statuses, headers, bodies, connections."""

import time

from misbehaving import Answer, Asked, Behaviour, after, first, refusing, sending, tampering
from trained_against import Row, right, stops

PAGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>"
HTML = {"Content-Type": "text/html; charset=utf-8"}
HOURS = 86_400
STREAMED = {"target": {"stream": True}, "optimizer": {"stream": True}}
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


def half(body: bytes) -> bytes:
    return body[: len(body) // 2]


def broken_by_an_error(body: bytes) -> bytes:
    parts = body.split(b"\n\n")
    return b"\n\n".join([*parts[:3], b'data: {"error": {"message": "Upstream overloaded", "code": 502}}', b"", b""])


_TEMPORARY = [
    Row("500 once", first(refusing(500, "Try again.")), right()),
    Row("429 with seconds", impatient(Retry_After="0.3"), right()),
    Row(
        "429 for a day",
        after(10, refusing(429, "Daily limit reached.", Retry_After=str(HOURS))),
        stops("target.*86,400 seconds.*Daily limit", most=60),
    ),
]
_REFUSED_HALFWAY = [
    Row("the key is refused halfway", after(10, refusing(401, "Invalid key", "invalid_api_key")), stops("401", KEY))
]
_PAGES = [
    Row("a page in place of every answer", sending(PAGE, headers=HTML), stops("target.*Just a moment"), SOON),
    Row("half of the JSON once", first(tampering(half)), right()),
]
_CONNECTIONS = [
    Row("resets for ever", after(10, sending(status=0, end="reset")), stops("target.*no connection"), SOON)
]
_STREAMS = [Row("an error within a stream once", first(tampering(broken_by_an_error)), right(), STREAMED)]
ROWS = [*_TEMPORARY, *_REFUSED_HALFWAY, *_PAGES, *_CONNECTIONS, *_STREAMS]
