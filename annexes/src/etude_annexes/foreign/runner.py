"""A process that runs another maker's package, in the sandbox, for as many attempts as there are."""

import asyncio
import contextvars
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from etude.concurrency import give_up
from etude.errors import EtudeError
from etude.own_process import how_ended, last_lines
from etude.programs.installed import installed
from etude.records.record import Record
from etude.sandbox import Finished, Limits, Lines, Sandbox, Workspace, run

RUNNERS = Path(__file__).parent / "runners"
"""The folder of the programs that such a process runs."""
_FOREVER = 10 * 365 * 24 * 3600.0
_NEEDED_OUTSIDE = ("HOME", "USER", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "XDG_RUNTIME_DIR")
"""Variables that programs such as docker's look for."""


class RunnerDied(EtudeError):
    """The process ended while an order was under way."""


class ForeignTask(Record):
    """A task as the package knows it."""

    key: str
    id: str
    input: str
    gold: JsonValue


class Variant(Record):
    """The tasks for one set of arguments."""

    tasks: tuple[ForeignTask, ...]
    scores: tuple[str, ...]
    """Names of the scores that each attempt gets, where they are known."""
    sandboxes: tuple[str, ...]
    """Kinds of the sandboxes that the tasks bring."""


class RunnerReply(Record):
    """What a runner says to an order. `describe` is answered with `version` and `variants`, an attempt with `score`,
    or with `failure` where the agent came to nothing by its own fault."""

    id: int
    missing: str = ""
    """What could not be imported."""
    error: str = ""
    """Why there is no result."""
    version: str = ""
    variants: tuple[Variant, ...] = ()
    score: float | None = None
    answer: str = ""
    feedback: str = ""
    failure: str = ""


@dataclass(frozen=True)
class RunnerSetup:
    """How a runner is started, and what it may see and use."""

    program: Path
    script: str
    """Name of a file in `RUNNERS`."""
    settings: Mapping[str, JsonValue]
    readable: Sequence[Path]
    network: bool
    memory_mb: int
    sandbox: Sandbox
    outside: bool
    """Not in the sandbox: the tasks bring one."""

    async def run(self, lines: Lines, workspace: Workspace, socket: Path | None, port: int) -> Finished:
        """Run until it is cancelled or ends. `socket` and `port` are those of the gateway, None without one."""
        found = installed(self.program)
        readable = [path for path in (RUNNERS, *found.readable, *self.readable) if path.exists()]
        if self.network or socket is None:
            box = workspace.box(readable, "host")
        else:
            box = workspace.box(readable, "gateway", socket, port)
        path = os.pathsep.join([str(self.program.parent), os.environ.get("PATH", os.defpath)])
        # Sets in the same order in each process: tasks are known again by their content.
        env = workspace.env | {"PATH": path, "PYTHONHASHSEED": "0"}
        if self.outside:
            env |= {name: os.environ[name] for name in _NEEDED_OUTSIDE if name in os.environ}
        return await run(
            [*found.argv, str(RUNNERS / self.script), json.dumps(self.settings)],
            box=box,
            limits=Limits(
                seconds=_FOREVER,
                grace_seconds=1,
                memory_mb=self.memory_mb,
                processes=2048,
                disk_mb=8192,
                output_kb=64,
            ),
            sandbox=self.sandbox,
            env=env,
            stdin=lines,
        )


class Runner:
    """Takes orders for a process, which is started with the first one and again after its end. Belongs to the event
    loop it is used in."""

    def __init__(self, setup: RunnerSetup) -> None:
        self._setup = setup
        self._waiting: dict[int, asyncio.Future[RunnerReply]] = {}
        self._ids = itertools.count(1)
        self._lines = Lines(self._hear)
        self._running: asyncio.Task[None] | None = None

    async def ask(self, order: Mapping[str, Any], socket: Path | None = None, port: int = 0) -> RunnerReply:
        """The reply to an order. The orders under way when the process dies are given to the next one, once.
        Raises RunnerDied: that one died, too."""
        try:
            return await self._ask(order, socket, port)
        except RunnerDied:
            return await self._ask(order, socket, port)

    async def _ask(self, order: Mapping[str, Any], socket: Path | None, port: int) -> RunnerReply:
        if self._running is None or self._running.done():
            self._lines = Lines(self._hear)
            # In a context of its own: the time it runs is not that of the attempt that happens to start it.
            work, context = self._run(socket, port), contextvars.Context()
            self._running = asyncio.get_running_loop().create_task(work, context=context)
        number = next(self._ids)
        reply = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._lines.say(json.dumps({**order, "id": number}).encode())
        try:
            return await reply
        finally:
            del self._waiting[number]

    async def aclose(self) -> None:
        """End the process."""
        if self._running is not None:
            await give_up(self._running)

    async def _run(self, socket: Path | None, port: int) -> None:
        try:
            with Workspace() as workspace:
                finished = await self._setup.run(self._lines, workspace, socket, port)
            self._fail(RunnerDied(f"{self._setup.script} {_ending(finished)}"))
        except asyncio.CancelledError:
            self._fail(RunnerDied(f"{self._setup.script} was ended"))
            raise
        except EtudeError as error:  # it could not be started, now and later
            self._fail(error)

    def _fail(self, error: EtudeError) -> None:
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(error)

    def _hear(self, line: bytes) -> None:
        try:
            reply = RunnerReply.model_validate_json(line)
        except ValidationError:
            return  # not a word of ours: whoever waits for one goes on waiting
        waiting = self._waiting.get(reply.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(reply)


def _ending(finished: Finished) -> str:
    if finished.over:
        return f"was ended at its {finished.over}{'; raise env.memory_mb' if 'memory' in finished.over else ''}"
    last = last_lines(finished.stderr)
    return f"ended with {how_ended(finished.code, finished.signal)}{f': {last}' if last else ''}"
