"""JSON bodies and server-sent events, written and read."""

import json
from collections.abc import Mapping
from typing import Any, cast

_BOM = b"\xef\xbb\xbf"
"""A mark of byte order, which some servers put before everything."""
PIECES = 5
"""Parts that a streamed text comes in."""
WAITING = b": waiting\n\n"
"""A comment, which clients skip."""


def dump(data: object) -> bytes:
    """The body of some JSON data."""
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


def load(body: bytes) -> Any:
    """The data in a body. Halves of characters, which JSON can spell and nothing can encode, become `?`. Raises
    ValueError: it is not JSON."""
    data = json.loads(body.removeprefix(_BOM))
    return json.loads(dump(data)) if b"\\ud" in body.lower() else data


def bare_event(data: Mapping[str, Any]) -> bytes:
    """A server-sent event without a name."""
    return b"data: " + dump(data) + b"\n\n"


def named_event(data: Mapping[str, Any]) -> bytes:
    """A server-sent event with the name that its data has as `type`."""
    return f"event: {data['type']}\n".encode() + bare_event(data)


def pieces(text: str) -> list[str]:
    """The text as it is streamed."""
    size = max(1, -(-len(text) // PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]


def is_streamed(body: bytes) -> bool:
    """The body is a stream of events. Servers that cannot stream answer with plain JSON all the same."""
    return not body.removeprefix(_BOM).lstrip().startswith(b"{")


def read_events(body: bytes) -> list[dict[str, Any]]:
    """The data of all events, in order, up to `[DONE]`, which comes out as an empty one. Raises ValueError: the data
    of an event is not a JSON object. One that is named an error has one."""
    named = b""
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    events: list[dict[str, Any]] = []
    data: list[bytes] = []
    for line in (*lines, b""):
        if line.startswith(b"event:"):
            named = line[6:].strip()
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            joined = b"\n".join(data)
            data = []
            if joined.strip() == b"[DONE]":
                return [*events, {}]
            event = load(joined)
            if not isinstance(event, dict):
                raise ValueError("an event that is not a JSON object")
            told = cast(dict[str, Any], event)
            events.append({"error": told, **told} if named == b"error" else told)
            named = b""
        elif not line:
            named = b""  # an event without data says nothing
    return events
