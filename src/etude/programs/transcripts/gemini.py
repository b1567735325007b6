"""Gemini CLI: lines are messages, written again under their `id` when results of tools come in, and `{"$set": ...}`
and `{"$rewindTo": id}`. `$set.messages` is what the model remembers from then on: after a failure or a compression it
lacks what was said, so that only what it adds at its end is news.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.qwen import answered, code_of, has_failed, parts_text, typed
from etude.programs.transcripts.values import object_of, table, tables, text

_FEEDBACK = re.compile(r"\APlan rejected\. User feedback: ([\s\S]*?)\s*(?:\n\nThe plan is stored at: [\s\S]*)?\Z")


class GeminiLog:
    """The messages that the lines of a session come to, in order, by id."""

    def __init__(self, records: Iterable[dict[str, Any]]) -> None:
        self.about: dict[str, Any] = {}
        self.messages: dict[str, dict[str, Any]] = {}
        self.taken_back = 0
        for record in records:
            self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        rewind = record.get("$rewindTo")
        if isinstance(rewind, str):
            while rewind in self.messages:
                _, message = self.messages.popitem()
                self.taken_back += message.get("type") == "user"
        elif isinstance(record.get("id"), str):
            self._put(record)
        else:
            patch = table(record.get("$set")) if "$set" in record else record
            begun = self.about.get("startTime", patch.get("startTime"))
            self.about |= {key: value for key, value in patch.items() if key != "messages"} | {"startTime": begun}
            self._remember(tables(patch.get("messages")))

    def _put(self, message: dict[str, Any]) -> None:
        id = text(message.get("id"))
        known = self.messages.get(id)
        if known is not None:
            # Told again: without its tool calls when it is remembered only, and with the time of telling.
            message = {**message, "timestamp": known.get("timestamp")}
            if "toolCalls" in known and "toolCalls" not in message:
                return
        self.messages[id] = message

    def _remember(self, messages: Sequence[dict[str, Any]]) -> None:
        last = max((place for place, one in enumerate(messages) if text(one.get("id")) in self.messages), default=-1)
        if last < 0 and self.messages:
            return
        for message in messages[last + 1 :]:
            self._put(message)


def tell(listener: Listener, log: GeminiLog) -> None:
    """What happened, by the messages of a session."""
    for key in ("startTime", "lastUpdated"):
        listener.seen(log.about.get(key))
    for message in log.messages.values():
        _tell(listener, message)
    listener.skipped["taken back"] += log.taken_back


def _tell(listener: Listener, message: dict[str, Any]) -> None:
    at = message.get("timestamp")
    listener.seen(at)
    content = message.get("content")
    if message.get("type") == "user":
        given = [table(part.get("functionResponse")) for part in tables(content)]
        for response in given:
            listener.result(response.get("id"), answered(response))
        prompt = typed(message.get("displayContent", content))
        if prompt.lstrip().startswith("<state_snapshot>"):
            listener.skipped["compaction"] += 1
            listener.pause()
        elif prompt.strip():
            listener.ask(prompt, at)
        elif not any(given):
            listener.skipped["meta"] += 1
    elif message.get("type") == "gemini":
        calls = tables(message.get("toolCalls")) or [table(part.get("functionCall")) for part in tables(content)]
        listener.say(parts_text(content))
        calls = [call for call in calls if call]
        for call in calls:
            listener.call(call.get("id"), call.get("name"), call.get("args"))
            if call.get("name") == "activate_skill":
                listener.skill(table(call.get("args")).get("name"))
        for call in calls:
            _result(listener, call, at)


def _result(listener: Listener, call: dict[str, Any], at: Any) -> None:
    responses = [table(part.get("functionResponse")) for part in tables(call.get("result"))]
    given = [answered(response) for response in responses if response]
    result = given[0] if len(given) == 1 else given or None
    name, status = call.get("name"), call.get("status")
    listener.result(call.get("id"), result, has_failed(status), code_of(name, status, result))
    words = ""
    if name == "ask_user" and isinstance(result, str):
        answers = table((object_of(result.encode("utf-8", "replace")) or {}).get("answers"))
        words = "\n".join(filter(None, map(text, answers.values())))
    elif name == "exit_plan_mode" and isinstance(result, str) and (found := _FEEDBACK.match(result)):
        words = found[1]
    if words:
        listener.ask(words, at, meanwhile=True)
