"""Streamed bodies: server-sent events, read once the stream has ended."""

import json
from typing import Any, cast

__all__ = ["encodable", "is_streamed", "read_events"]


def is_streamed(body: bytes) -> bool:
    """The body is a stream of events. Servers that know no streams answer with plain JSON all the same."""
    return not body.lstrip().startswith(b"{")


def read_events(body: bytes) -> list[dict[str, Any]]:
    """The data of all events, in order, up to `[DONE]`, which comes out as an empty one.

    Raises:
        ValueError: data is no JSON object.
    """
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    events: list[dict[str, Any]] = []
    data: list[bytes] = []
    for line in (*lines, b""):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            joined = b"\n".join(data)
            data = []
            if joined.strip() == b"[DONE]":
                return [*events, {}]
            event = json.loads(joined)
            if not isinstance(event, dict):
                raise ValueError("an event that is no JSON object")
            events.append(cast(dict[str, Any], event))
    return events


def encodable(text: str) -> str:
    """Half of a surrogate pair, which JSON can spell and UTF-8 cannot, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
