"""More of what comes over the line: neighbours of `behaviours_sent`."""

import gzip
import json
from email.utils import formatdate

from behaviours_sent import HASTY, HTML, KEY, PAGE, SOON, STREAMED, chunked, half, impatient, redirected
from misbehaving import Answer, Asked, Behaviour, after, first, refusing, sending, tampering, to
from trained_against import Row, right, stops


def busy(**headers: str) -> Behaviour:
    return first(refusing(429, "Rate limit reached.", "rate_limit_exceeded", **headers))


def odd_events(body: bytes) -> bytes:
    """The same stream with other line ends, comments, names, and without the space."""
    lines = body.replace(b"data: ", b"event: chunk\nid: 1\nretry: 10\ndata:")
    return b": keep-alive\r\n\r\n" + lines.replace(b"\n", b"\r\n")


def plain(asked: Asked) -> Answer:
    """No stream, asked for or not."""
    return Answer(asked.form.write_reply(asked.call, asked.reply))


_TEMPORARY = [
    Row("429 with milliseconds", impatient(Retry_After_Ms="300"), right()),
    Row("the region is blocked", refusing(403, "Country not supported"), stops("Country not supported", most=40)),
    *(
        Row(
            f"{status} once",
            first(refusing(status, "Try again.")),
            right(unsaid="" if status >= 500 else "does not take"),
        )
        for status in (408, 409, 425, 499, 529)
    ),
    Row("a page of a proxy with 502 once", first(sending(PAGE, 502, headers=HTML)), right()),
    Row("429 without a time once", busy(), right()),
    Row("429 with a date", busy(Retry_After=formatdate(usegmt=True)), right()),
    Row("429 with a time that is none", busy(Retry_After="soon"), right()),
    Row("429 with a time that has passed", busy(Retry_After="-5"), right()),
    Row("500 for ever for the optimizer", to("optimizer", refusing(500, "Boom")), stops("optimizer.*Boom"), SOON),
    # _REFUSED_HALFWAY
    Row("the credit is used up halfway", after(10, refusing(402, "Insufficient Balance")), stops("Balance", most=60)),
    Row(
        "the spending limit is reached halfway",
        after(10, refusing(400, "Billing hard limit has been reached", "billing_hard_limit_reached")),
        stops("Billing hard limit", most=60),
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
    Row(
        "an error in a list",
        sending(b'[{"error": {"code": 400, "message": "API key not valid."}}]', 400),
        stops("API key not valid"),
    ),
    Row("an empty body once", first(sending(b"")), right()),
    Row(
        "bytes that are no UTF-8 once",
        first(tampering(lambda body: body.replace(b"Charged", b"Charg\xe9d"))),
        right(),
    ),
    Row("a page that refuses", sending(PAGE, 403, headers=HTML), stops("target.*403.*Just a moment")),
    Row("an error within every answer", sending({"error": {"message": "GPU lost"}}), stops("target.*GPU lost"), SOON),
    Row("an error as a text once", first(sending({"error": "model runner has stopped"})), right()),
    Row("an empty body always", sending(b""), stops("target.*not a chat completion|target.*empty"), SOON),
    Row("204 once", first(sending(b"", 204)), right()),
    Row("null once", first(sending(b"null")), right()),
    Row("a list once", first(sending(b"[]")), right()),
    Row("a JSON text of the answer", first(tampering(lambda body: json.dumps(body.decode()).encode())), right()),
    Row("rubbish behind the JSON once", first(tampering(lambda body: body + b"}{")), right()),
    Row("a mark of byte order before the JSON", tampering(lambda body: b"\xef\xbb\xbf" + body), right()),
    Row("NaN among the numbers", tampering(lambda body: body.replace(b'"created": 0', b'"created": NaN')), right()),
    Row("a body of many megabytes once", first(tampering(lambda body: b" " * 8_000_000 + body)), right()),
    Row("another content type", tampering(bytes, {"Content-Type": "text/plain"}), right()),
    Row("an unknown character set", tampering(bytes, {"Content-Type": "application/json; charset=klingon"}), right()),
]
_COMPRESSED = [
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
]
_CONNECTIONS = [
    Row("announces too little", first(tampering(bytes, announced=40, end="close")), right()),
    Row("hangs up after each answer", tampering(bytes, end="close"), right()),
    Row("redirects that keep the method", redirected(307, "/v1/chat/completions?again"), right()),
    Row("resets the connection once", first(sending(status=0, end="reset")), right()),
    Row("ends in the middle once", first(tampering(half, announced=10_000, end="close")), right()),
    Row("no length", tampering(bytes, announced="nothing", end="close"), right()),
    Row("in chunks without the last one once", first(tampering(chunked, announced="chunks", end="close")), right()),
    Row("words that are no HTTP once", first(sending(b"SSH-2.0-OpenSSH_9.6\r\n", 0, end="close")), right()),
    Row("a slow drip", first(tampering(bytes, seconds=0.2)), right()),
    Row("a drip that is too slow once", first(tampering(bytes, seconds=3.0)), right(), HASTY),
    Row("never answers once", first(sending(seconds=60)), right(), HASTY),
    Row("redirects in a circle", redirected(307, "/v1/chat/completions"), stops("target.*redirect"), SOON),
]
_STREAMS = [
    Row("a stream of another style", tampering(odd_events), right(), STREAMED),
    Row("a stream that stops half-way once", first(tampering(half)), right(), STREAMED),
    Row("no stream where one is asked for", plain, right(), STREAMED),
    Row(
        "a stream without its last mark",
        tampering(lambda body: body.replace(b"data: [DONE]\n\n", b"")),
        right(),
        STREAMED,
    ),
]
ROWS = [*_TEMPORARY, *_PAGES, *_COMPRESSED, *_CONNECTIONS, *_STREAMS]
