"""What a chat completion is made of, whole or from the pieces of a stream."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

from etude.formats.bills import as_bill, later
from etude.formats.endings import has_ended, later_ending
from etude.formats.errors import error_within
from etude.formats.opaque import RawPart, grown, is_thought
from etude.formats.wire import as_json


class ContentPart(RawPart):
    """A part of what was said."""

    type: str = "text"
    text: str | None = None
    refusal: str | None = None
    image_url: str | dict[str, Any] | None = None


class Function(RawPart):
    """A function, as it is offered or called."""

    name: str | None = None
    arguments: Any = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Custom(BaseModel):
    """The call of a tool that takes a text."""

    name: str
    input: str = ""


class CompletionCall(RawPart):
    """A call, or a piece of one in a stream."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None
    custom: Custom | None = None


class CompletionMessage(RawPart):
    """A message, or a piece of one in a stream."""

    content: str | list[ContentPart] | None = None
    refusal: str | None = None
    tool_calls: list[CompletionCall] | None = None


TOLD = {"annotations", "audio", "citations", "context", "images", "prefix"}
"""Fields of a message that are for the client, and below those that have a place of their own."""
MESSAGE = {"role", "content", "refusal", "tool_calls", "tool_call_id", "function_call", "name"}
PART = {"type", "text", "refusal", "image_url", "annotations", "cache_control"}
_CALL = {"index", "id", "type", "function", "custom"}
_FUNCTION = {"name", "arguments"}


def more_of_call(call: CompletionCall) -> dict[str, Any]:
    """The fields of a call that have no other place."""
    more = call.more(_CALL)
    inner = {} if call.function is None else call.function.more(_FUNCTION)
    return {**more, "function": inner} if inner else more


class CompletionChoice(BaseModel):
    """One of the answers, or a piece of one in a stream."""

    index: int = 0
    message: CompletionMessage | None = None
    delta: CompletionMessage | None = None
    """What a stream adds to the message."""
    finish_reason: Any = None
    usage: Any = None
    """Moonshot has it here in a stream."""
    error: Any = None


class Completion(BaseModel):
    """A body, or an event of a stream."""

    choices: list[CompletionChoice] | None = None
    usage: Any = None
    system_fingerprint: str | None = None
    error: Any = None


def text_of(content: str | list[ContentPart] | None) -> str:
    """The texts of a content, without what else is in it."""
    if isinstance(content, list):
        return "".join(part.text or "" for part in content if not is_thought(part.type))
    return content or ""


def gathered(events: Sequence[dict[str, Any]]) -> Completion:
    """The completion that a stream builds up. Raises ServerError: an error came within it; ValueError: it has no
    end."""
    said = CompletionMessage()
    calls: dict[int, CompletionCall] = {}
    whole_parts: set[str] = set()
    choice = CompletionChoice(message=said)
    whole = Completion(choices=[choice])
    texts: list[str] = []
    for event in events:
        if event.get("error"):
            raise error_within(event["error"])
        chunk = Completion.model_validate(event)
        whole.usage = later(as_bill(whole.usage), chunk.usage)
        whole.system_fingerprint = chunk.system_fingerprint or whole.system_fingerprint
        for piece in chunk.choices or ():
            whole.usage = later(as_bill(whole.usage), piece.usage)
            if piece.index == 0:
                if piece.delta is None and piece.message is not None:
                    _replace(said, calls, piece.message, whole_parts)
                _add(choice, said, calls, piece)
                if piece.delta is not None and isinstance(piece.delta.content, str) and piece.delta.content:
                    texts.append(piece.delta.content)
    if not has_ended(choice.finish_reason) and not choice.error:
        raise ValueError("a stream without an end")
    said.content = _merged(said.content) if isinstance(said.content, list) else said.content
    if said.content == "".join(texts) and _are_repeated(texts):
        said.content = texts[-1]
    said.tool_calls = [calls[at] for at in sorted(calls)]
    return whole


def _are_repeated(texts: Sequence[str]) -> bool:
    """Whether each piece, or the last one, has all of the text before it: some servers stream so. One word over and
    over, as `ha`, `ha`, `haha`, looks so in deltas as well, where not each piece is longer than the one before."""
    if len(texts) < 3 or len(texts[-1]) <= len(texts[0]):
        return False
    over_and_over = texts[0] + texts[-1] == texts[-1] + texts[0]  # as only powers of one word commute
    if over_and_over and not all(len(text) < len(later) for text, later in pairwise(texts)):
        return False
    return all(later.startswith(text) for text, later in pairwise(texts)) or "".join(texts[:-1]) == texts[-1]


def _replace(
    said: CompletionMessage, calls: dict[int, CompletionCall], message: CompletionMessage, seen: set[str]
) -> None:
    """Some servers end with the whole message: what it has takes the place of what came in deltas. Others send
    messages as pieces: those continue the parts that messages were `seen` to have."""
    parts = {name for name, value in message.raw.items() if value} - seen
    seen |= parts
    said.content = None if "content" in parts else said.content
    said.refusal = None if "refusal" in parts else said.refusal
    said.raw = {name: value for name, value in said.raw.items() if name not in parts}
    if "tool_calls" in parts:
        calls.clear()


def _add(
    whole: CompletionChoice, said: CompletionMessage, calls: dict[int, CompletionCall], piece: CompletionChoice
) -> None:
    """Add a piece of a stream to the choice, its message and its calls."""
    whole.error = piece.error or whole.error
    whole.finish_reason = later_ending(whole.finish_reason, piece.finish_reason)
    delta = piece.delta or piece.message or CompletionMessage()
    said.content = _continued(said.content, delta.content)
    said.refusal = (said.refusal or "") + (delta.refusal or "") or None
    said.raw = grown(said.raw, delta.more(MESSAGE))
    for call in delta.tool_calls or ():
        _extend(calls, call)


def _continued(
    before: str | list[ContentPart] | None, more: str | list[ContentPart] | None
) -> str | list[ContentPart]:
    """Most servers stream texts, some a list of parts where the model thinks, and texts behind it."""
    if not isinstance(before, list) and not isinstance(more, list):
        return (before or "") + (more or "")
    both = ([ContentPart(text=one)] if isinstance(one, str) else one or [] for one in (before, more))
    return [part for parts in both for part in parts]


def _merged(parts: list[ContentPart]) -> list[ContentPart]:
    """Pieces of one kind that follow each other are one part."""
    whole: list[ContentPart] = []
    for part in parts:
        if whole and whole[-1].type == part.type:
            whole[-1] = ContentPart.model_validate(grown(whole[-1].raw, part.raw))
        else:
            whole.append(part)
    return whole


def _extend(calls: dict[int, CompletionCall], piece: CompletionCall) -> None:
    """Some servers leave the index out: then an id begins a new call, and what has none belongs to the last."""
    place = len(calls) - (piece.id is None and bool(calls)) if piece.index is None else piece.index
    if place in calls and piece.function and piece.function.name and piece.id not in (None, calls[place].id):
        place = max(calls) + 1  # some servers give all calls one index
    whole = Function(name="", arguments="")
    if place not in calls:
        calls[place] = CompletionCall(function=whole)
        calls[place].raw = {}
    call = calls[place]
    call.id = piece.id or call.id
    call.raw = grown(call.raw, more_of_call(piece))
    whole, more = call.function or whole, piece.function or Function()
    whole.raw = call.raw.get("function", {})
    whole.name = f"{whole.name}{more.name or ''}"
    if more.arguments is not None:
        whole.arguments += as_json(more.arguments)
