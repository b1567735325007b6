"""Parts of a model's turn that are carried unread: kept in their order among texts and calls, and put back there.

What is kept is a list of entries: `{"item": ...}` is sent back as it is; `{"chars": n}` stands for the next n
characters of the turn's text and `{"call": true}` for its next call. These two may have `more`, fields that belong to
them.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, model_validator

from etude.config import merge
from etude.records import ChatRequest, Message, Opaque, TextPart, ToolCall

Data = dict[str, Any]


class RawPart(BaseModel):
    """A part of a body that is also there as it came."""

    raw: Data = {}

    @model_validator(mode="before")
    @classmethod
    def _keep(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        found = cast(Data, data)
        return {**found, "raw": found}

    def more(self, known: Collection[str]) -> Data:
        """The fields that are none of those known, and are not empty. Empty texts are kept: some servers demand the
        field."""
        return {
            name: value
            for name, value in self.raw.items()
            if name not in known and value is not None and value is not False and value not in ([], {})
        }


def is_thought(kind: str) -> bool:
    """Whether parts of this type are what a model thought, whatever the server calls it."""
    return re.search("think|thought|reason", kind) is not None


P = TypeVar("P", bound=RawPart)


class AssistantTurn(NamedTuple):
    """A turn of a model."""

    texts: list[str]
    calls: tuple[ToolCall, ...]
    opaque: Opaque | None
    """None where texts and calls are all there is."""


def read_turn(
    form: str, parts: Iterable[P], known: Collection[str], read: Callable[[P, int], str | ToolCall | None]
) -> AssistantTurn:
    """The turn that has these parts. `read` is given a part and the number of calls before it, and gives its text or
    its call; None for what has no place. `known` are the fields of texts and calls that have one."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    entries: list[Data] = []
    for part in parts:
        found = read(part, len(calls))
        if found is None:
            entries.append({"item": part.raw})
            continue
        more = part.more(known)
        if isinstance(found, ToolCall):
            calls.append(found)
        elif found:
            texts.append(found)
        if found or more:
            entry: Data = {"call": True} if isinstance(found, ToolCall) else {"chars": len(found)}
            entries.append({**entry, "more": more} if more else entry)
    kept = any("item" in entry or "more" in entry for entry in entries)
    return AssistantTurn(texts, tuple(calls), opaque(form, entries) if kept else None)


def opaque(form: str, data: Any) -> Opaque:
    """What is kept, as JSON has it: numbers that are none become null."""
    return Opaque(format=form, data=json.loads(json.dumps(data), parse_constant=lambda _: None))


def data_of(message: Message, form: str) -> Any:
    """What the format kept with a turn; None where it kept nothing."""
    return message.opaque.data if message.opaque is not None and message.opaque.format == form else None


def bare(request: ChatRequest) -> ChatRequest:
    """The request without anything that was kept."""
    return request.model_copy(update={"messages": tuple(message.shown for message in request.messages)})


def names_of(request: ChatRequest) -> frozenset[str]:
    """Names of fields and kinds of items in what is sent back, as servers tell them that refuse it."""
    kept = (message.opaque.data for message in request.messages if message.opaque is not None)
    return frozenset(name for data in kept for name in _names(data)) - _COMMON - _OURS


_COMMON = frozenset({"type", "id", "text", "index", "data", "status", "content", "summary", "format", "function"})
"""Names that errors have for other reasons."""
_OURS = frozenset({"item", "chars", "call", "more", "fields", "calls"})


def _names(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for name, value in cast(Data, data).items():
            yield from (name, value) if name == "type" and isinstance(value, str) else (name,)
            yield from _names(value)
    elif isinstance(data, list):
        for value in cast(list[Any], data):
            yield from _names(value)


def put_back(
    message: Message,
    entries: list[Data] | None,
    plain: list[Data],
    text: Callable[[str], Data],
    call: Callable[[ToolCall], Data],
) -> list[Data]:
    """The parts of a turn with what was kept in its place. Where text or calls are not what they were, it comes first
    and is followed by the `plain` parts."""
    if entries is None:
        return plain
    said = "".join(part.text for part in message.content if isinstance(part, TextPart))
    calls = list(message.tool_calls)
    lengths, made = sum(entry.get("chars", 0) for entry in entries), sum("call" in entry for entry in entries)
    if lengths != len(said) or made != len(calls):
        return [*(entry["item"] for entry in entries if "item" in entry), *plain]
    parts: list[Data] = []
    for entry in entries:
        if "item" in entry:
            parts.append(entry["item"])
        elif "call" in entry:
            parts.append(merge(call(calls.pop(0)), entry.get("more", {})))
        else:
            piece, said = said[: entry["chars"]], said[entry["chars"] :]
            parts += [merge(text(piece), entry.get("more", {}))] if piece.strip() else []
    return parts


def grown(before: Data, more: Mapping[str, Any]) -> Data:
    """Fields of a streamed part after one more piece: texts and lists are continued, names of kinds stay."""
    found = dict(before)
    for name, value in more.items():
        known = found.get(name)
        if isinstance(known, str) and isinstance(value, str) and name not in _NAMES:
            found[name] = known + value
        elif isinstance(known, list) and isinstance(value, list):
            found[name] = _longer(cast(list[Any], known), cast(list[Any], value))
        elif isinstance(known, dict) and isinstance(value, dict):
            found[name] = grown(cast(Data, known), cast(Data, value))
        elif value is not None:
            found[name] = value
    return found


_NAMES = frozenset({"type", "id", "format", "index"})


def _longer(before: list[Any], more: list[Any]) -> list[Any]:
    """A list after more of it: an entry with the index and the kind of the last one continues that. LiteLLM streams
    blocks of thoughts without an index, each up to its signature."""
    found = list(before)
    for entry in more:
        if found and _continues(found[-1], entry):
            found[-1] = grown(found[-1], entry)
        else:
            found.append(entry)
    return found


def _continues(before: Any, more: Any) -> bool:
    if not isinstance(before, dict) or not isinstance(more, dict):
        return False
    last, entry = cast(Data, before), cast(Data, more)
    if last.get("type") != entry.get("type"):
        return False
    if "index" in entry or "index" in last:
        return last.get("index") == entry.get("index")
    return last.get("type") == "thinking" and not last.get("signature")
