"""What the model's server wants back with its turns, for programs that do not send it back themselves."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable

from etude.formats.wire import as_data
from etude.records import ChatRequest, Message, ToolCall

Key = tuple[str, ...]


class OpaqueMemory:
    """The opaque parts of the replies of one attempt, put into the requests that continue from them.

    A program may speak a format that has no place for them, or leave them out. A turn is known again by its text and
    its calls, and is then sent as it was, as signatures may cover the texts; where the program has changed these, by
    the id of a call, and only the opaque part is added. Programs may have calls without ids."""

    def __init__(self) -> None:
        self._turns: defaultdict[Key, list[Message]] = defaultdict(list)
        self._calls: dict[str, Message] = {}
        self._any = False

    def keep(self, turn: Message) -> None:
        """Note a turn as the model's server sent it."""
        for key in {_key(turn), _key(turn, ids=False)}:
            self._turns[key].append(turn)
        if turn.opaque is not None:
            self._any = True
            self._calls |= {call.id: turn for call in turn.tool_calls}

    def recall(self, request: ChatRequest) -> ChatRequest:
        """The request with what belongs to its turns. The first of equal turns is the one that was made first."""
        if not self._any:
            return request
        seen: Counter[Key] = Counter()
        return request.model_copy(update={"messages": tuple(self._recalled(request.messages, seen))})

    def _recalled(self, messages: Iterable[Message], seen: Counter[Key]) -> Iterable[Message]:
        for message in messages:
            yield message if message.role != "assistant" else self._with_its_own(message, seen)

    def _with_its_own(self, message: Message, seen: Counter[Key]) -> Message:
        known = next((call.id for call in message.tool_calls if call.id in self._calls), None)
        key = next((key for key in (_key(message), *_without_ids(message, known)) if key in self._turns), None)
        if key is None:
            return message if known is None else message.model_copy(update={"opaque": self._calls[known].opaque})
        turns = self._turns[key]
        turn = turns[min(seen[key], len(turns) - 1)]
        seen[key] += 1
        if turn.opaque is None:
            return message
        calls = zip(message.tool_calls, turn.tool_calls, strict=True)
        as_they_were = tuple(call.model_copy(update={"arguments": made.arguments}) for call, made in calls)
        return turn.model_copy(update={"tool_calls": as_they_were})


def _without_ids(turn: Message, known: str | None) -> list[Key]:
    return [_key(turn, ids=False)] if turn.tool_calls and known is None else []


def _key(turn: Message, *, ids: bool = True) -> Key:
    """Programs change white space, and write arguments anew."""
    calls = (text for call in turn.tool_calls for text in (*([call.id] if ids else []), call.name, _as_written(call)))
    return ("".join(turn.text.split()), *calls)


def _as_written(call: ToolCall) -> str:
    return json.dumps(as_data(call.arguments), sort_keys=True)
