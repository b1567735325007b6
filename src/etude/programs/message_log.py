"""What an agent program tells about its work, put together as messages."""

from typing import Any

from etude.programs.program import Report
from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.values import as_json, text
from etude.records import Message, TextPart, ToolCall


class MessageLog(Listener):
    """Collects what was said and done, in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []
        self.exit_codes: dict[str, int] = {}
        self._tools: dict[str, str] = {}
        self._answered: set[str] = set()

    def say(self, answer: Any) -> None:
        """The model said something. What follows without a result in between is the same turn."""
        if (said := text(answer)).strip():
            self._add(Message(role="assistant", content=(TextPart(text=said),)))

    def call(self, id: Any, name: Any, arguments: Any) -> None:
        """The model called a tool."""
        call = ToolCall(id=text(id), name=text(name), arguments=as_json(arguments, ascii=True))
        self._tools[call.id] = call.name
        self._add(Message(role="assistant", tool_calls=(call,)))

    def _add(self, message: Message) -> None:
        if self.messages and self.messages[-1].role == "assistant":
            last = self.messages.pop()
            both = {"content": last.content + message.content, "tool_calls": last.tool_calls + message.tool_calls}
            message = last.model_copy(update=both)
        self.messages.append(message)

    def result(self, id: Any, result: Any = None, failed: Any = None, exit_code: Any = None) -> None:
        """A tool was done. A second result of the same call is passed over, as is one of a call that was not made."""
        if not isinstance(id, str) or id not in self._tools:
            return
        if isinstance(exit_code, int):
            self.exit_codes.setdefault(id, exit_code)
        if result is not None and id not in self._answered:
            self._answered.add(id)
            self.messages.append(Message(role="tool", content=(TextPart(text=as_json(result)),), tool_call_id=id))

    def tool(self, id: Any) -> str:
        return self._tools.get(id, "") if isinstance(id, str) else ""

    def report(self, *, ended: bool) -> Report:
        """What was said and done, for a program that came to its end or did not."""
        return Report(messages=tuple(self.messages), exit_codes=self.exit_codes, ended=ended)

    @property
    def last_text(self) -> str:
        """What was said after the last call, empty when the last word is a call."""
        last = self.messages[-1] if self.messages else None
        return last.text if last is not None and last.role == "assistant" and not last.tool_calls else ""
