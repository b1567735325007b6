"""A response as a stream of events, written and read."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from etude.formats.errors import error_within
from etude.formats.events import named_event, pieces, read_events

Data = dict[str, Any]


def events_of(whole: Data, head: Data) -> Iterator[bytes]:
    """The events of a streamed response; `head` is what it is at first."""
    events: list[Data] = [
        {"type": "response.created", "response": head},
        {"type": "response.in_progress", "response": head},
    ]
    for index, item in enumerate(whole["output"]):
        hollow, write = _STREAMED.get(item["type"], ({}, _no_events))
        begun = {**item, **hollow}
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        events += write({"item_id": item.get("id", ""), "output_index": index}, item)
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": f"response.{whole['status']}", "response": whole})
    for number, event in enumerate(events):
        yield named_event({**event, "sequence_number": number})


def _text_events(place: Data, item: Data) -> list[Data]:
    part = item["content"][0]
    place = {**place, "content_index": 0}
    deltas: list[Data] = [
        {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
        for piece in pieces(part["text"])
    ]
    return [
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *deltas,
        {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
    ]


def _call_events(place: Data, item: Data) -> list[Data]:
    arguments = item["arguments"]
    deltas = [
        {"type": "response.function_call_arguments.delta", **place, "delta": piece} for piece in pieces(arguments)
    ]
    done = {"type": "response.function_call_arguments.done", **place, "name": item["name"], "arguments": arguments}
    return [*deltas, done]


def _no_events(place: Data, item: Data) -> list[Data]:
    """What is carried unread comes in one piece."""
    return []


_STREAMED: Mapping[str, tuple[Data, Callable[[Data, Data], list[Data]]]] = {
    "message": ({"content": [], "status": "in_progress"}, _text_events),
    "function_call": ({"arguments": "", "status": "in_progress"}, _call_events),
}
"""What an item has at first while it is streamed, and the events that fill it."""
_LAST = frozenset(f"response.{end}" for end in ("completed", "incomplete", "failed", "cancelled", "done"))


def last_state(body: bytes) -> Data:
    """The last event of a stream holds the whole response; some servers leave out of it what they sent before, or
    how it ended, which its name says.
    Raises ServerError: the last event is an error; ValueError: there is no last event."""
    events = read_events(body)
    for event in reversed(events):
        kind = event.get("type")
        if kind in _LAST:
            response: Any = event.get("response")
            if not isinstance(response, dict):
                raise ValueError("a stream without a response")
            whole = cast(Data, response)
            done = [one.get("item") for one in events if one.get("type") == "response.output_item.done"]
            ended = kind.removeprefix("response.").replace("done", "completed")
            return {**whole, "status": whole.get("status") or ended, "output": whole.get("output") or done}
        if kind == "error":
            raise error_within(event.get("error", event))
    raise ValueError("a stream without an end")
