"""Doubles that follow a script and write down what they were asked."""

import copy
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply

T = TypeVar("T")

Line = Reply | str | Exception
"""What a scripted model does: answer, answer with a text, or raise."""
Script = Sequence[Line] | Callable[[ChatRequest], Line | Awaitable[Line]]


class ScriptedModel(ChatModel):
    """A model that follows a script: lines to be used up one after the other, or a function of the request.

    `requests` are all requests so far, in the order in which they came.
    """

    def __init__(self, script: Script, *, name: str = "scripted:model", max_output_tokens: int = 4096) -> None:
        self.name = name
        self.endpoint = "the script"
        self.requests: list[ChatRequest] = []
        self.closed = False
        self._script = script
        self._max_output_tokens = max_output_tokens

    async def complete(self, request: ChatRequest) -> Reply:
        self.requests.append(request)
        line = await self._line(request)
        if isinstance(line, Exception):
            raise copy.copy(line)  # an exception that is raised twice drags its first traceback along
        return Reply(text=line) if isinstance(line, str) else line

    async def _line(self, request: ChatRequest) -> Line:
        if callable(self._script):
            line = self._script(request)
            return await line if inspect.isawaitable(line) else line
        if len(self.requests) > len(self._script):
            raise AssertionError(f"the script ends after {len(self._script)} lines, here is one more request")
        return self._script[len(self.requests) - 1]

    @property
    def max_output_tokens(self) -> int:
        return self._max_output_tokens

    async def aclose(self) -> None:
        self.closed = True
