"""What the model's server wants back with its turns, for programs that do not send it back themselves."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable

from etude.formats.wire import as_data
from etude.records import ChatRequest, Message, Opaque, ToolCall

Key = tuple[str, ...]


class OpaqueMemory:
    """The opaque parts of the replies of one attempt, put into the requests that continue from them.

    A program may speak a format that has no place for them, or leave them out. A turn is known again by its text and
    its calls; where the program has changed these, by the id of a call."""

    def __init__(self) -> None:
        self._turns: defaultdict[Key, list[Opaque | None]] = defaultdict(list)
        self._calls: dict[str, Opaque] = {}
        self._any = False

    def keep(self, turn: Message) -> None:
        """Note a turn as the model's server sent it."""
        self._turns[_key(turn)].append(turn.opaque)
        if turn.opaque is not None:
            self._any = True
            self._calls |= {call.id: turn.opaque for call in turn.tool_calls}

    def recall(self, request: ChatRequest) -> ChatRequest:
        """The request with what belongs to its turns. The first of equal turns is the one that was made first."""
        if not self._any:
            return request
        seen: Counter[Key] = Counter()
        return request.model_copy(update={"messages": tuple(self._recalled(request.messages, seen))})

    def _recalled(self, messages: Iterable[Message], seen: Counter[Key]) -> Iterable[Message]:
        for message in messages:
            if message.role != "assistant":
                yield message
                continue
            key = _key(message)
            known = self._turns.get(key, [])
            found = known[min(seen[key], len(known) - 1)] if known else self._by_call(message)
            seen[key] += 1
            yield message if found is None else message.model_copy(update={"opaque": found})

    def _by_call(self, message: Message) -> Opaque | None:
        return next((self._calls[call.id] for call in message.tool_calls if call.id in self._calls), None)


def _key(turn: Message) -> Key:
    """Programs change white space, and write arguments anew."""
    calls = (text for call in turn.tool_calls for text in (call.id, call.name, _as_written(call)))
    return ("".join(turn.text.split()), *calls)


def _as_written(call: ToolCall) -> str:
    return json.dumps(as_data(call.arguments), sort_keys=True)
