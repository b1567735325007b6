"""What a function environment hands to the user's function: the target model, and a record of what was said. Also
scores that come with an attempt, because whoever made it has scored it."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from etude.protocols import ChatModel
from etude.records import ChatRequest, Message, Reply, Score, TextPart, Trajectory, Usage, assistant, system, user
from etude.records.said import said_in
from etude.records.tasks import Ended

T = TypeVar("T")
_MARK = "etude-score"


class Target:
    """The target model for one attempt, in an `async def` function."""

    def __init__(self, model: ChatModel, seed: int) -> None:
        self._model = model
        self._seed = seed
        self.messages: list[Message] = []
        """All requests and replies so far; a request that continues a conversation adds only its new messages."""
        self.usage = Usage()
        self.simulated = False
        self.problem = ""
        """Why the last reply is no answer; empty when it is one."""
        self.ended: Ended | None = None
        """How the last reply ended, where not by itself."""
        self.failed: BaseException | None = None
        """The error of the last request; None when it was answered."""

    async def complete(self, request: ChatRequest) -> Reply:
        """Send one request; its seed is that of the attempt unless it has one. The text of the reply is without
        what the model thought, and empty where that never ends. Raises what the model raises."""
        if request.seed is None:
            request = request.model_copy(update={"seed": self._seed})
        try:
            reply = await self._model.complete(request)
        except BaseException as error:
            self.failed = error
            raise
        self.failed = None
        text, self.problem, self.ended = said_in(reply, self._model.max_output_tokens)
        reply = reply.model_copy(update={"text": text})
        sent = [message.shown for message in request.messages]
        known = len(self.messages)
        self.messages += sent[known:] if sent[:known] == self.messages else sent
        self.messages.append(assistant(reply.text).model_copy(update={"tool_calls": reply.tool_calls}))
        self.usage += reply.usage
        self.simulated = self.simulated or reply.simulated
        return reply

    async def ask(self, text: str, system: str | None = None) -> str:
        """The reply to one user message, with a system message before it if given."""
        return (await self.complete(_request(text, system))).text


class BlockingTarget:
    """The same for an ordinary function, which runs in a thread: calls wait for the answer."""

    def __init__(self, target: Target, loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._loop = loop
        # Touched in the loop only, as `close` is: a request is either listed here, or refused.
        self._requests: set[asyncio.Task[Any]] = set()
        self._closed = False

    def complete(self, request: ChatRequest) -> Reply:
        """Send one request and wait. Raises what the model raises, CancelledError once the attempt is over."""
        return self._wait(lambda: self._target.complete(request))

    def ask(self, text: str, system: str | None = None) -> str:
        """The reply to one user message, with a system message before it if given."""
        return self._wait(lambda: self._target.ask(text, system))

    def close(self) -> None:
        """End the attempt: requests under way are cancelled and no further one is sent. Called in the loop."""
        self._closed = True
        for task in self._requests:
            task.cancel()

    def _wait(self, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._closed:
            raise CancelledError("the attempt is over")
        return asyncio.run_coroutine_threadsafe(self._send(request), self._loop).result()

    async def _send(self, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._closed:
            raise CancelledError("the attempt is over")
        task = asyncio.ensure_future(request())
        self._requests.add(task)
        try:
            return await task
        finally:
            self._requests.discard(task)


def _request(text: str, instructions: str | None) -> ChatRequest:
    start = () if instructions is None else (system(instructions),)
    return ChatRequest(messages=(*start, user(text)))


def with_score(trajectory: Trajectory, score: Score) -> Trajectory:
    """The trajectory with the score as its last message: it is kept wherever the trajectory is, and can be read in
    another process; the answer stays what the agent said."""
    last = Message(role="tool", tool_call_id=_MARK, content=(TextPart(text=score.model_dump_json()),))
    return trajectory.model_copy(update={"messages": (*trajectory.messages, last)})


def returned_score(trajectory: Trajectory) -> Score | None:
    """The score that came with a trajectory, None when there is none."""
    last = trajectory.messages[-1:]
    if last and last[0].role == "tool" and last[0].tool_call_id == _MARK:
        return Score.model_validate_json(last[0].text)
    return None
