"""Blocks and messages as streams of events, written and read."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from etude.formats.bills import Bill, later
from etude.formats.endings import has_ended
from etude.formats.errors import error_within
from etude.formats.events import pieces
from etude.formats.wire import as_data
from etude.records import ToolCall

Data = dict[str, Any]


def deltas_of(block: Data) -> tuple[Data, list[Data]]:
    """A block as it begins in a stream, and what is added to it. Most kinds come in one piece."""
    names = [name for name in _STREAMED.get(block["type"], ()) if block.get(name)]
    return {**block, **dict.fromkeys(names, "")}, [
        {"type": f"{name}_delta", name: piece} for name in names for piece in pieces(block[name])
    ]


_STREAMED = {"text": ("text",), "thinking": ("thinking", "signature")}
"""Fields that come piece by piece."""


def call_deltas(block: Data, call: ToolCall) -> tuple[Data, list[Data]]:
    """The same for the block of a call."""
    parts = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(call.arguments))]
    return {**block, "input": {}}, parts


class _Event(BaseModel):
    """Each type of event has some of the fields."""

    type: str = ""
    index: int = 0
    message: Data | None = None
    content_block: Data = {"type": "text"}
    delta: Data = {}
    usage: Any = None
    error: Any = None


def gathered(events: Sequence[Data]) -> Data:
    """The message that a stream builds up. Counts of tokens are totals. Raises ServerError: an error came within it;
    ValueError: it has no end."""
    answer: Data = {}
    blocks: dict[int, Data] = {}
    written: dict[int, str] = {}
    bill: Bill = {}
    for event in map(_Event.model_validate, events):
        if event.type == "error":
            raise error_within(event.error)
        bill = later(bill, event.usage)
        if event.type == "message_start" and event.message is not None:
            answer = event.message
            bill = later(bill, answer.get("usage"))
        elif event.type == "content_block_start":
            blocks[event.index] = event.content_block
        elif event.type == "content_block_delta":
            piece = dict(event.delta)
            written[event.index] = written.get(event.index, "") + str(piece.pop("partial_json", None) or "")
            blocks[event.index] = _with_piece(blocks.get(event.index, event.content_block), piece)
        elif event.type == "message_delta":
            answer = {**answer, "stop_reason": event.delta.get("stop_reason") or answer.get("stop_reason")}
        elif event.type == "message_stop" and has_ended(answer.get("stop_reason")):
            inputs = {index: {"input": as_data(text)} for index, text in written.items() if text}
            whole = [blocks[index] | inputs.get(index, {}) for index in sorted(blocks)]
            return {**answer, "content": whole, "usage": bill}
    raise ValueError("a stream without an end")


def _with_piece(block: Data, piece: Data) -> Data:
    """The block with a piece of one of its texts: `text`, `thinking`, `signature`, whatever it is called."""
    more = {name: str(block.get(name) or "") + text for name, text in piece.items() if isinstance(text, str)}
    return {**block, **more, "type": block.get("type", "text")}
