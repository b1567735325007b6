"""What one attempt asks of the model through the gateway, and what came of it; and what the model's server wants back
with its turns, for programs that do not send it back themselves."""

import asyncio
import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextvars import copy_context
from pathlib import Path

from etude.concurrency import give_up
from etude.errors import BoundaryError, EtudeError, InputError, RejectedRequest
from etude.formats.wire import as_data
from etude.protocols import ChatModel
from etude.records import ChatRequest, Message, Record, Reply, ToolCall, Usage
from etude.records.messages import Finish
from etude.sandbox.process import seconds_used

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


HUNG_UP = 499
"""Status of a request that its program no longer waited for when the answer came."""
REFUSED = 400
"""Status that programs do not ask again after."""
ENDED = "the attempt has ended"
MOST_AT_ONCE = 64
"""Requests of one attempt under way at the same time, those too that the program no longer waits for. Further ones
wait for their turn."""
MOST_HELD = 1024
"""Requests of one attempt that are under way or wait for it. No program has a use for so many; they take memory."""
MOST_BYTES = 64 * 2**20
"""Longest request, and all of one attempt together: those that are being read, and those under way."""
MOST_REJECTED = 20
"""Requests in a row that neither the gateway nor the model could take. Programs give up before, or never."""


class Exchange(Record):
    """One request of a program, answered or not."""

    status: int
    """The status that the program got: 200, an error, or 499 when it had hung up before the answer came."""
    finish: Finish = "stop"
    """How the reply ended."""
    usage: Usage = Usage()
    error: str = ""


class _Dropped(EtudeError):
    """The program hung up before the request was sent."""


class PendingRequest:
    """A request under way. It continues when the program hangs up: what is paid for is worth having, and a program
    that asks the same again shares in it."""

    def __init__(self, task: asyncio.Task[Reply], size: int) -> None:
        self.task = task
        self.size = size
        """Bytes of its body."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the end of the request has been accounted for."""
        self.hung_up = False
        """The program waits no longer."""
        self.error: EtudeError | None = None

    async def wait(self, seconds: float | None, gone: asyncio.Future[None] | None = None) -> bool:
        """Wait so long for the end, or until the client is gone; whether the end has come."""
        waits: set[asyncio.Future[None]] = {self.over} if gone is None else {self.over, gone}
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return self.over.done()

    @property
    def failure(self) -> str:
        """What the program reads when there is no reply."""
        return ENDED if self.error is None else self.error.message

    @property
    def reply(self) -> Reply | None:
        """The answer, None when there is none."""
        failed = self.task.cancelled() or self.task.exception() is not None
        return None if failed else self.task.result()


class GatewaySession:
    """The account of one attempt: its key, what was asked and answered, and what went wrong."""

    def __init__(self, model: ChatModel, url: str, socket: Path, seed: int, calls: int | None) -> None:
        self.key = f"sk-etude-{secrets.token_hex(24)}"
        """What the program shows as its API key."""
        self.url = url
        """`http://127.0.0.1:<port>`, without `/v1`."""
        self.socket = socket
        """The Unix socket on which the same server listens."""
        self._seed = seed
        self.log: list[Exchange] = []
        """Requests in the order in which they ended."""
        self.failed = asyncio.Event()
        """Set when the program cannot go on: `error` is fatal, or it is `exhausted`. End it then."""
        self.reading = 0
        """Bytes of bodies that have arrived and are not complete."""
        self.exhausted = False
        """The program asked for more than its `calls`."""
        self.simulated = False
        """An answer came from the simulated world."""
        self.conversation: tuple[Message, ...] = ()
        """The longest request, the later one of equals, and the reply to it."""
        self.used = seconds_used(known=True)
        """What the attempt has used of its time."""
        self._context = copy_context()
        self._memory = OpaqueMemory()
        self._model = model
        self._calls = calls
        self._begun = 0
        self._places = asyncio.Semaphore(MOST_AT_ONCE)
        self._turns: set[PendingRequest] = set()
        self._fatal: EtudeError | None = None
        self._rejected: EtudeError | None = None
        self._rejections = 0
        self._ended = False

    @property
    def error(self) -> EtudeError | None:
        """Why the attempt has no score, or why the run stops (a `StopRun`).

        The first failure of the model; else, when the last request was one that the model or the gateway could not
        take, that: a program may recover from one, as by shortening the conversation.
        """
        return self._fatal or self._rejected

    @property
    def usage(self) -> Usage:
        """Tokens of all answers."""
        return sum((exchange.usage for exchange in self.log), Usage())

    @property
    def pending(self) -> int:
        """Requests whose answer the program is waiting for."""
        return sum(not turn.hung_up for turn in self._turns)

    def has_room(self, size: int = 0) -> bool:
        """Whether `size` more bytes may be held for the program."""
        return self.reading + sum(turn.size for turn in self._turns) + size <= MOST_BYTES

    def refusal(self, size: int = 0) -> str:
        """Why no further request is answered; empty when the next one is, with a body of `size` bytes."""
        if self._ended:
            return ENDED
        if self._fatal is not None:
            return self._fatal.message
        if self._calls is not None and self._begun >= self._calls:
            self.exhausted = True
            self.failed.set()
            return f"the attempt has used up its {self._calls} model requests"
        if len(self._turns) >= MOST_HELD or not self.has_room(size):
            return f"{len(self._turns)} model requests of the attempt are under way already"
        return ""

    async def wait_for_room(self) -> bool:
        """Whether what is being read may be held, at the latest when nothing else is under way."""
        while not self.has_room() and self._turns and not self._ended:
            await asyncio.wait({turn.over for turn in self._turns}, return_when=asyncio.FIRST_COMPLETED)
        return self.has_room()

    def ask(self, request: ChatRequest, size: int = 0) -> PendingRequest:
        """Send a request to the model. Only when `refusal` is empty and the session has not ended."""
        request = self._memory.recall(request.model_copy(update={"seed": self._seed}))
        self._begun += 1
        # In the context of the attempt: the server's is that of whichever attempt began first.
        asked = asyncio.create_task(self._in_turn(request, lambda: turn.hung_up), context=self._context.copy())
        turn = PendingRequest(asked, size)
        self._turns.add(turn)

        def done(task: asyncio.Task[Reply]) -> None:
            self._turns.discard(turn)
            turn.error = self._failure(task)
            reply = turn.reply
            if reply is not None:
                status = HUNG_UP if turn.hung_up else 200
                self.log.append(Exchange(status=status, finish=reply.finish, usage=reply.usage))
                self._keep(request, reply)
            else:
                error = "" if turn.error is None else turn.error.message
                self.log.append(Exchange(status=HUNG_UP if turn.hung_up else REFUSED, error=error))
            turn.over.set_result(None)

        turn.task.add_done_callback(done)
        return turn

    async def _in_turn(self, request: ChatRequest, hung_up: Callable[[], bool]) -> Reply:
        """The answer, once few enough others are under way. Raises _Dropped: nobody waits for it any more."""
        async with self._places:
            if hung_up():
                self._begun -= 1
                raise _Dropped("the program has hung up")
            return await self._model.complete(request)

    def unreadable(self, error: InputError) -> None:
        """Note a request that could not be read."""
        self._reject(error)
        self.log.append(Exchange(status=REFUSED, error=error.message))

    def _reject(self, error: EtudeError) -> None:
        """A request that cannot be taken. The program may send another, but not the same for ever."""
        self._rejected = error
        self._rejections += 1
        if self._rejections >= MOST_REJECTED:
            self._fatal = self._fatal or error
            self.failed.set()

    def _failure(self, task: asyncio.Task[Reply]) -> EtudeError | None:
        """What the end of a request means for the session: nothing more once that has ended itself."""
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if self._ended or isinstance(error, _Dropped):
            return None
        if error is None:
            self._rejected, self._rejections = None, 0
            return None
        known = error if isinstance(error, EtudeError) else BoundaryError(f"model {self._model.name!r}", error)
        if isinstance(known, RejectedRequest):
            self._reject(known)
        else:
            self._fatal = self._fatal or known
            self.failed.set()
        return known

    def _keep(self, request: ChatRequest, reply: Reply) -> None:
        self.simulated = self.simulated or reply.simulated
        self._memory.keep(reply.turn)
        if len(request.messages) + 1 < len(self.conversation):
            return
        self.conversation = tuple(message.shown for message in (*request.messages, reply.turn))

    async def end(self) -> None:
        """Cancel what is under way, and wait until it has ended."""
        self._ended = True
        await give_up(*(turn.task for turn in self._turns))
