"""Calls in both directions over one connection between two processes. What travels is JSON; code never does."""

import asyncio
import itertools
import json
import struct
import sys
from collections.abc import Awaitable, Callable
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from typing import Any

from etude.errors import EtudeError, LostWorker


def write_error(error: BaseException) -> dict[str, Any]:
    """An error as JSON data: of etude's own all fields that are plain values, of others class name and text."""
    if not isinstance(error, EtudeError):
        return {"name": type(error).__name__, "text": str(error)}
    kinds = [kind for kind in type(error).__mro__ if issubclass(kind, EtudeError)]
    fields = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float | None)}
    causes = {name: write_error(value) for name, value in vars(error).items() if isinstance(value, BaseException)}
    return {
        "kinds": [[kind.__module__, kind.__qualname__] for kind in kinds],
        "fields": fields,
        "causes": causes,
        "text": error.message,
    }


def read_error(data: dict[str, Any]) -> BaseException:
    """The error. One of etude's tree is of the nearest class that this process knows; of another one the name of the
    class and the text are the same."""
    if "kinds" not in data:
        if data["name"] == asyncio.CancelledError.__name__:
            return asyncio.CancelledError(*([data["text"]] if data["text"] else []))
        return type(data["name"], (Exception,), {})(data["text"])
    error = EtudeError.__new__(_known(data["kinds"]), data["text"])
    vars(error).update(data["fields"])
    vars(error).update({name: read_error(cause) for name, cause in data["causes"].items()})
    return error


def _known(kinds: list[list[str]]) -> type[EtudeError]:
    for module, name in kinds:  # none is imported because the other side says so
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and issubclass(kind, EtudeError):
            return kind
    return EtudeError


STOP_SECONDS = 10.0
"""How long a call that was cancelled is waited for: a program in it has 5 seconds to end."""
GONE = "the process of the attempt, or the way to it, is gone"
_LENGTH = struct.Struct(">I")
_WITHIN: ContextVar[int] = ContextVar("within", default=0)
"""The number of the call that is being answered."""

Answer = Callable[[str, list[str]], Awaitable[list[str]]]
"""Answers a call: its name and its texts. Whatever it raises is raised in the process that called."""


async def read_frame(reader: asyncio.StreamReader, most: int = 2**32 - 1) -> Any:
    """The next frame. Raises ConnectionError: there is none, or it is longer than `most` bytes."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > most:
            raise ConnectionError(f"a frame of {length} bytes")
        return json.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, OSError, ValueError) as error:
        raise ConnectionError(str(error)) from error


def write_frame(writer: asyncio.StreamWriter, frame: Any) -> None:
    """Send a frame, unless the connection is closing."""
    if not writer.is_closing():
        data = json.dumps(frame).encode()
        writer.write(_LENGTH.pack(len(data)) + data)


@dataclass(frozen=True)
class _Call:
    """A call that was sent."""

    context: Context
    """Of whoever called: what the other side asks meanwhile is answered in a copy of it."""
    outcome: asyncio.Future[tuple[list[str] | None, Any]]
    """What came back: texts, or an error. None and None when nothing did."""


class Peer:
    """One end of a connection.

    A call that is cancelled is cancelled on the other side as well, and so is what that side asked meanwhile. `noted`
    hears notes: each belongs to the call in which it was sent, and runs in the context of its caller.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: Answer,
        noted: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.gone = False
        """The connection has ended."""
        self.stuck = False
        """A call that was cancelled has not ended on the other side: something keeps its event loop."""
        self.answering: dict[int, tuple[int, asyncio.Task[None]]] = {}
        """What the other side asks, by number: within which call, and who answers."""
        self._reader = reader
        self._writer = writer
        self._answer = answer
        self._noted = noted
        self._numbers = itertools.count(1)
        self._calls: dict[int, _Call] = {}

    async def run(self) -> None:
        """Serve until the connection ends. What is being answered by then runs on, and nobody hears of it."""
        try:
            while True:
                kind, number, *rest = await read_frame(self._reader)
                self._take(kind, number, rest)
        except ConnectionError:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the connection. Calls under way raise LostWorker."""
        self.gone = True
        self._writer.close()
        for call in self._calls.values():
            if not call.outcome.done():
                call.outcome.set_result((None, None))

    async def call(self, name: str, *texts: str) -> list[str]:
        """What the other side answers. Raises LostWorker: the connection ended before it did; and whatever answering
        it raised."""
        if self.gone:
            raise LostWorker(GONE)
        number = next(self._numbers)
        call = self._calls[number] = _Call(copy_context(), asyncio.get_running_loop().create_future())
        self._send("call", number, _WITHIN.get(), name, list(texts))
        try:
            await asyncio.wait({call.outcome})
        except asyncio.CancelledError:
            await self._stop(number, call)
            raise
        finally:
            del self._calls[number]
        result, error = call.outcome.result()
        if result is not None:
            return result
        raise LostWorker(GONE) if error is None else read_error(error)

    def note(self, text: str) -> None:
        """Tell the other side something about the call that is being answered."""
        self._send("note", _WITHIN.get(), text)

    async def _stop(self, number: int, call: _Call) -> None:
        if not call.outcome.done():
            self._send("stop", number)
            self._drop(number)
            await asyncio.wait({call.outcome}, timeout=STOP_SECONDS)
            self.stuck = self.stuck or not call.outcome.done()
        self._drop(number)

    def _drop(self, number: int) -> None:
        """Answer nothing that was asked within a call."""
        for within, task in self.answering.values():
            if within == number:
                task.cancel()

    def _send(self, *frame: Any) -> None:
        write_frame(self._writer, frame)

    def _take(self, kind: str, number: int, rest: list[Any]) -> None:
        if kind == "call":
            within, name, texts = rest
            known = self._calls.get(within)
            context = copy_context() if known is None else known.context.copy()
            answering = asyncio.create_task(self._respond(number, name, texts), context=context)
            self.answering[number] = (within, answering)
            answering.add_done_callback(lambda _: self.answering.pop(number))
        elif kind == "stop":
            if number in self.answering:
                self.answering[number][1].cancel()
        elif kind == "note":
            if number in self._calls:
                self._calls[number].context.copy().run(self._noted, rest[0])
        elif number in self._calls:
            call = self._calls[number]
            if not call.outcome.done():
                call.outcome.set_result((rest[0], None) if kind == "done" else (None, rest[0]))

    async def _respond(self, number: int, name: str, texts: list[str]) -> None:
        _WITHIN.set(number)
        try:
            self._send("done", number, await self._answer(name, texts))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the boundary: it is the caller's
            self._send("failed", number, write_error(error))
