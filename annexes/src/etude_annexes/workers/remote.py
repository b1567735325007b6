"""Attempts in other processes. This process holds the run: journal, budgets, models, limits and decisions.

A worker process connects back to this one, shows the token it was started with, builds agent and environment, and is
sent tasks. What it asks of a model comes back over the same connection and is answered here, in the context of the
attempt, so that everything that holds for an attempt in this process holds for it. The gateway cannot carry that: it
serves this machine only; the formats of providers leave out parts of a request and of a reply, so that facts would
have other keys; and it cancels what a session has asked when that ends, so that a lost worker would pay again.
"""

import asyncio
import itertools
import os
import secrets
import socket
import sys
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar, copy_context
from typing import ClassVar, NamedTuple

from etude.concurrency import give_up
from etude.errors import EtudeError, LostWorker, StopRun
from etude.executors.local import LocalExecutor
from etude.protocols import Here, Recipe, Workplace
from etude.records import Score, Skill, Task, Trajectory, as_text
from etude.sandbox.process import spend
from etude_annexes.workers.peer import Peer, read_frame
from etude_annexes.workers.worker import Invitation, Start

START_SECONDS = 600.0
"""How long a run waits while it has no worker: a cluster may have to start machines first."""
MOST_STILLBORN = 10
"""Workers in a row that end before they can work."""
END_SECONDS = 5.0
"""How long workers may take to end at the end of a run."""
_PAUSE_SECONDS = 0.2
_SILENT_SECONDS = (60, 15, 4)
"""After how long without traffic the system asks whether the other machine is there, how often, how many times."""
_TOKEN_BYTES = 1024


class Quarters(NamedTuple):
    """Where workers find this process, and how many there shall be."""

    host: str
    port: int
    """0 for any free one."""
    workers: int


class RemoteExecutor(LocalExecutor):
    """An executor whose attempts are made by worker processes. Subclasses say where these run."""

    builds_elsewhere: ClassVar[bool] = True

    @abstractmethod
    async def quarters(self) -> Quarters:
        """Called before the first attempt. Raises EtudeError: there is no place for workers."""

    @abstractmethod
    async def work(self, invitation: str) -> None:
        """Run `etude_annexes.workers.worker.work(invitation)` in a process of its own until it ends, and end that
        process when cancelled. Raises Exception: it ended by an error."""

    @property
    def concurrency(self) -> int:
        """Most attempts under way at the same time."""
        return self._concurrency

    @asynccontextmanager
    async def placed(self, here: Here, recipe: Callable[[], Recipe]) -> AsyncGenerator[Workplace]:
        """Nothing is started before the first attempt."""
        del here
        pool = _Pool(self, recipe())
        try:
            yield pool
        finally:
            await pool.aclose()


class _Worker:
    """A worker process that can make attempts."""

    def __init__(self, peer: Peer, over: asyncio.Future[None]) -> None:
        self.peer = peer
        self.over = over
        """Done when the connection has ended."""
        self.busy = 0
        """Attempts that are made there."""


_LEASED: ContextVar[_Worker] = ContextVar("leased")
"""The worker of the attempt under way."""


class _Pool(Workplace):
    """The workers of one run."""

    def __init__(self, executor: RemoteExecutor, recipe: Recipe) -> None:
        self._executor = executor
        self._recipe = recipe
        self._context = copy_context()  # not that of the attempt for which the first worker is started
        self._opening: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None
        self._seats: list[asyncio.Task[None]] = []
        self._invited: dict[str, asyncio.Future[_Worker]] = {}
        self._workers: list[_Worker] = []
        self._most = executor.concurrency
        """Attempts at the same time in one worker."""
        self._room_left: asyncio.PriorityQueue[tuple[int, int, _Worker | None]] = asyncio.PriorityQueue()
        """Each worker has places of rank 0, 1 and so on: the lowest one is taken first, so that all have as much to
        do. None where the run has to stop."""
        self._orphans: set[asyncio.Task[None]] = set()
        """Requests to models whose worker is gone. What they pay for is worth having."""
        self._numbers = itertools.count()
        self._stillborn = 0
        self._stop: StopRun | None = None
        self._closing = False

    @asynccontextmanager
    async def _leased(self) -> AsyncGenerator[_Worker]:
        rank, worker = await self._lease()
        token = _LEASED.set(worker)
        worker.busy += 1
        try:
            yield worker
        finally:
            worker.busy -= 1
            _LEASED.reset(token)
            if worker.peer.stuck:
                worker.peer.close()  # its seat ends it and starts another one
            self._give_back(rank, worker)

    def room(self) -> AbstractAsyncContextManager[object]:
        """A place in a worker. It has the agent's own room there, too, while an attempt is made."""
        return self._leased()

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        (text,) = await _LEASED.get().peer.call("attempt", as_text(task), as_text(skill), str(trial))
        return Trajectory.model_validate_json(text)

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        async with self._leased() as worker:
            (text,) = await worker.peer.call("score", as_text(task), as_text(trajectory))
        return Score.model_validate_json(text)

    async def aclose(self) -> None:
        """End all workers. No attempt is under way."""
        self._closing = True
        for worker in self._workers:
            worker.peer.close()
        for joined in self._invited.values():
            joined.cancel()  # unless it has joined
        if self._seats:
            await asyncio.wait(self._seats, timeout=END_SECONDS)
        await give_up(*self._seats, *self._orphans, *([self._opening] if self._opening else []))
        if self._server is not None:
            self._server.close()

    async def _lease(self) -> tuple[int, _Worker]:
        """A place in a worker, the one that has fewest attempts. Raises StopRun: there will be none."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), context=self._context)
        while True:
            if self._stop is not None:
                raise self._stop
            try:
                rank, _, worker = await asyncio.wait_for(self._room_left.get(), START_SECONDS)
            except TimeoutError:
                if self._workers:
                    continue  # all are busy
                raise StopRun(
                    f"no worker takes attempts for {START_SECONDS:g} seconds",
                    hint="look whether the cluster has room; the same command goes on from here",
                ) from None
            if worker is None:
                self._give_back(rank, None)  # the next one waits for it, too
            elif not worker.peer.gone:
                return rank, worker

    def _give_back(self, rank: int, worker: _Worker | None) -> None:
        self._room_left.put_nowait((rank, next(self._numbers), worker))

    def _fail(self, error: StopRun) -> None:
        self._stop = self._stop or error
        self._give_back(-1, None)

    async def _open(self) -> None:
        try:
            quarters = await self._executor.quarters()
            self._most = -(-self._executor.concurrency // quarters.workers)
            self._server = await asyncio.start_server(self._connected, quarters.host, quarters.port, backlog=1024)
        except (EtudeError, OSError) as error:
            known = isinstance(error, EtudeError)
            text, hint = (error.message, error.hint) if known else (f"executor: {error}", "")
            self._fail(StopRun(text, hint=hint))
            return
        port = self._server.sockets[0].getsockname()[1]
        self._seats = [asyncio.create_task(self._seat(quarters.host, port)) for _ in range(quarters.workers)]

    async def _seat(self, host: str, port: int) -> None:
        """Keep one worker at work: where one ends, another is started."""
        while not self._closing and self._stop is None:
            token = secrets.token_hex(24)
            joined = self._invited[token] = asyncio.get_running_loop().create_future()
            invitation = Invitation(host=host, port=port, token=token).model_dump_json()
            process = asyncio.create_task(self._executor.work(invitation))
            try:
                await asyncio.wait({process, joined}, return_when=asyncio.FIRST_COMPLETED)
                if joined.done() and not joined.cancelled():
                    over = joined.result().over
                    await asyncio.wait({process, over}, return_when=asyncio.FIRST_COMPLETED)
                    joined.result().peer.close()
                    await asyncio.wait({process}, timeout=END_SECONDS)
            finally:
                del self._invited[token]
                process.cancel()
                (ended,) = await asyncio.gather(process, return_exceptions=True)
            if joined.done():
                self._stillborn = 0
            elif not self._closing:
                self._stillborn += 1
                if self._stillborn >= MOST_STILLBORN:
                    why = f": {ended}" if isinstance(ended, Exception) else ""
                    text = f"{MOST_STILLBORN} worker processes in a row ended before they could work{why}"
                    hint = "see what they printed; the same command goes on from here"
                    self._fail(StopRun(text, hint=hint))
            if not self._closing:
                await asyncio.sleep(_PAUSE_SECONDS * self._stillborn)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            token = await asyncio.wait_for(read_frame(reader, _TOKEN_BYTES), END_SECONDS)
            joined = self._invited[token] if isinstance(token, str) else None
        except (ConnectionError, TimeoutError, KeyError):
            joined = None
        if joined is None or joined.done():
            writer.close()
            return
        _keep_alive(writer.get_extra_info("socket"))
        peer = Peer(reader, writer, self._answer, _note)
        serving = asyncio.create_task(peer.run())
        worker = _Worker(peer, serving)
        try:
            await self._start(peer)
            if joined.done():  # the run ends
                return
            joined.set_result(worker)
            self._workers.append(worker)
            self._stillborn = 0
            for rank in range(self._most):
                self._give_back(rank, worker)
            await asyncio.wait({serving})
        except LostWorker:
            pass  # its seat starts another one
        except Exception as error:  # noqa: BLE001 - the boundary: whatever building raised there
            self._refuse(error)
        finally:
            peer.close()
            await asyncio.wait({serving})
            if worker in self._workers:
                self._workers.remove(worker)
                if not self._closing:
                    self._recipe.notice(f"a worker is gone; its {worker.busy} attempts under way are made again")
            self._orphans |= (orphans := {task for _, task in peer.answering.values()})
            for task in orphans:
                task.add_done_callback(self._orphans.discard)

    async def _start(self, peer: Peer) -> None:
        recipe = self._recipe
        start = Start(
            builder=recipe.builder,
            order=recipe.order,
            folder=os.getcwd(),
            path=tuple(map(os.path.abspath, sys.path)),
            secret_variables=tuple(recipe.secret_variables),
            threads=self._most,
        )
        made = await peer.call("start", as_text(start))
        for what, mine, theirs in zip(("agent", "environment"), recipe.fingerprints, made, strict=True):
            if mine != theirs:
                raise EtudeError(f"the {what} is not the one of this process: version, program, code or data differ")

    def _refuse(self, error: Exception) -> None:
        text = error.message if isinstance(error, EtudeError) else f"{type(error).__name__}: {error}"
        hint = error.hint if isinstance(error, EtudeError) else ""
        self._fail(
            StopRun(
                f"a worker cannot make the attempts of this run: {text}",
                hint=hint
                or "install the same versions and the same code on all machines; "
                "files that settings name must be there under the same path",
            )
        )

    async def _answer(self, name: str, texts: list[str]) -> list[str]:
        return [await self._recipe.answer(name, texts[0])]


def _note(text: str) -> None:
    spend(float(text))


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in zip(("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"), _SILENT_SECONDS, strict=True):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
