"""What an agent program tells about its work, put together as messages."""

import json
from collections.abc import Sequence
from typing import cast

from pydantic import AliasChoices, Field, JsonValue

from etude.programs.program import Report
from etude.records import Message, TextPart, ToolCall
from etude.records.record import Lenient


class Block(Lenient):
    """A part of a message: a text, or a call of a tool."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: JsonValue = Field(default=None, validation_alias=AliasChoices("input", "arguments"))


class MessageLog:
    """Collects what was said and done, in its order."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.exit_codes: dict[str, int] = {}
        self._tools: dict[str, str] = {}
        self._answered: set[str] = set()

    def says(self, text: str, calls: Sequence[ToolCall] = ()) -> None:
        """The model said something. What follows without a result in between is the same turn."""
        content = (TextPart(text=text),) if text.strip() else ()
        wanted = tuple(calls)
        self._tools |= {call.id: call.name for call in calls}
        if self.messages and self.messages[-1].role == "assistant":
            last = self.messages.pop()
            content, wanted = last.content + content, last.tool_calls + wanted
        if content or wanted:
            self.messages.append(Message(role="assistant", content=content, tool_calls=wanted))

    def says_in(self, content: str | Sequence[Block]) -> None:
        """As `says`, in a text or in blocks."""
        blocks = [Block(type="text", text=content)] if isinstance(content, str) else content
        text = "\n".join(block.text for block in blocks if block.type == "text" and block.text)
        calls = [each for each in blocks if each.type in ("tool_use", "toolCall")]
        self.says(text, [ToolCall(id=each.id, name=each.name, arguments=json.dumps(each.input)) for each in calls])

    def result(self, id: str, text: str, exit_code: int | None = None) -> None:
        """A tool was done. A second result of the same call is passed over, as is one of a call that was not made."""
        if id not in self._tools or id in self._answered:
            return
        self._answered.add(id)
        self.messages.append(Message(role="tool", content=(TextPart(text=text),), tool_call_id=id))
        if exit_code is not None:
            self.exit_codes[id] = exit_code

    def tool(self, id: str) -> str:
        """Name of the tool that was called, empty when there was no call."""
        return self._tools.get(id, "")

    def report(self, *, ended: bool) -> Report:
        """What was said and done, for a program that came to its end or did not."""
        return Report(messages=tuple(self.messages), exit_codes=self.exit_codes, ended=ended)

    @property
    def last_text(self) -> str:
        """What was said after the last call, empty when the last word is a call."""
        last = self.messages[-1] if self.messages else None
        return last.text if last is not None and last.role == "assistant" and not last.tool_calls else ""


def shown(content: object) -> str:
    """The text of a tool's result: a string, or blocks of which some have a text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(shown(part) for part in cast(list[object], content))
    if isinstance(content, dict):
        block = cast(dict[str, object], content)
        text = block.get("text", block.get("output", block.get("content")))
        return shown(text) if text is not None else f"[{block.get('type', json.dumps(block))}]"
    return "" if content is None else json.dumps(content)
