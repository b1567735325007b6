"""The second box of a check: code of the attempt runs in it, and the check, in a box of its own, asks for that.

The check connects to a Unix socket and sends a line of JSON: `{"run": words, "stdin": text, "seconds": number}`,
`{"read": path}`, or `{"serve": words}`, after which the connection is one with the program that was started. The
other end is `judge/etude_attempt.py`.
"""

import asyncio
import base64
import contextlib
import json
import os
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from etude.concurrency import give_up
from etude.errors import BoundaryError, EtudeError
from etude.programs.installed import find_program, installed
from etude.records import File
from etude.sandbox import Finished, Limits, Sandbox, Workspace, run
from etude.sandbox.sandbox import SandboxError
from etude.sandbox.scratch import Scratch

PORT = 8177
"""Where programs find it, in both boxes."""
HELP = Path(__file__).parent / "judge"
"""The folder with the module that checks import."""
_LONGEST_LINE = 16_000_000
_LAST_WORDS_SECONDS = 2.0
"""How long a program that has hung up may take to end."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def second_box(files: Mapping[str, File], limits: Limits, sandbox: Sandbox) -> AsyncGenerator["SecondBox"]:
    """A workspace with `files`, in which programs run one by one or together, each in a fresh sandbox without a
    network; gone at the end."""
    with Workspace() as workspace:
        workspace.fill(files)
        second = SecondBox(files, workspace, limits, sandbox)
        async with _listening(second.answer) as second.socket:
            yield second


class SecondBox:
    """`socket` is where a check asks; `trouble` is what went wrong on this machine meanwhile."""

    socket: Path

    def __init__(self, files: Mapping[str, File], workspace: Workspace, limits: Limits, sandbox: Sandbox) -> None:
        self._files, self._workspace, self._limits, self._sandbox = files, workspace, limits, sandbox
        self.trouble: EtudeError | None = None

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = json.loads(await reader.readline())
            if "serve" in request:
                reply = await self._serve(request["serve"], reader, writer)
            else:
                reply = self._read(request["read"]) if "read" in request else await self._run(request)
        except (EtudeError, ValueError) as error:
            reply = {"failed": self._reason(error)}
        await _say(writer, reply)

    async def _run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        finished = await self._start(request["run"], request["stdin"].encode(errors="replace"), request["seconds"])
        if finished.over:
            return {"failed": _ending(finished)}
        stdout, stderr = (text.decode(errors="replace") for text in (finished.stdout, finished.stderr))
        return {"code": finished.code, "stdout": stdout, "stderr": stderr}

    def _read(self, path: str) -> dict[str, Any]:
        files = {**self._files, **self._workspace.changes()}
        file = files.get(path)
        return {"data": None if file is None else base64.b64encode(file.data).decode()}

    async def _serve(self, words: list[str], *check: *Streams) -> dict[str, Any]:
        """Starts a program that connects back, and passes on what the two say until one of them has gone."""
        met: asyncio.Queue[Streams] = asyncio.Queue(1)  # one program, one connection

        async def meet(*streams: *Streams) -> None:
            met.put_nowait(streams)
            await asyncio.Event().wait()

        async with _listening(meet) as socket:
            program = asyncio.create_task(self._start(words, None, self._limits.seconds, socket))
            relay = asyncio.create_task(_relay(check, met))
            try:
                await asyncio.wait({program, relay}, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.wait({program, relay}, timeout=_LAST_WORDS_SECONDS)
                return {"failed": _ending(program.result()) if program.done() else "it has hung up"}
            finally:
                await give_up(program, relay)

    async def _start(
        self, words: list[str], stdin: bytes | None, seconds: float, socket: Path | None = None
    ) -> Finished:
        """Runs a program of the attempt, or one of this machine that runs code of it. Raises ConfigError: a file of
        the attempt cannot be started; BoundaryError: this machine has no such program."""
        own = "/" in words[0] and not os.path.isabs(words[0])
        program = None if own else find_program(words[0], [Path("/")])
        if program is None and not own:
            raise BoundaryError(f"the program {words[0]!r}", FileNotFoundError("is not on this machine"))
        readable = [HELP] if program is None else [HELP, *installed(program).readable]
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        env = {"PATH": os.pathsep.join(filter(os.path.isabs, folders)), "ETUDE_ATTEMPT_PORT": str(PORT)}
        network = "none" if socket is None else "gateway"
        return await run(
            [words[0] if program is None else str(program), *words[1:]],
            box=self._workspace.box([path for path in readable if path.exists()], network, socket, PORT),
            limits=self._limits.model_copy(
                update={"seconds": min(seconds, self._limits.seconds), "grace_seconds": 0}
            ),
            sandbox=self._sandbox,
            env=self._workspace.env | env,
            stdin=stdin,
        )

    def _reason(self, error: Exception) -> str:
        if isinstance(error, BoundaryError | SandboxError):
            self.trouble = error
        return error.message if isinstance(error, EtudeError) else str(error)


@contextlib.asynccontextmanager
async def _listening(answer: Callable[[*Streams], Coroutine[Any, Any, None]]) -> AsyncGenerator[Path]:
    """A Unix socket, each of whose connections is answered by a task; at the end these are ended."""
    tasks: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):  # it hung up
            try:
                await answer(reader, writer)
            finally:
                writer.close()

    def connected(*streams: *Streams) -> None:
        tasks.add(asyncio.create_task(one(*streams)))

    # The path of a Unix socket may have some 100 bytes.
    with Scratch("/tmp" if len(tempfile.gettempdir().encode()) > 60 else None) as scratch:
        path = scratch.path / "attempt.sock"
        server = await asyncio.start_unix_server(connected, path, limit=_LONGEST_LINE)
        try:
            yield path
        finally:
            server.close()
            await give_up(*tasks)


async def _relay(check: Streams, met: asyncio.Queue[Streams]) -> None:
    program = await met.get()
    ways = [asyncio.create_task(_pump(check[0], program[1])), asyncio.create_task(_pump(program[0], check[1]))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await give_up(*ways)
        with contextlib.suppress(OSError):
            program[1].write_eof()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()


async def _say(writer: asyncio.StreamWriter, reply: Mapping[str, Any]) -> None:
    writer.write(json.dumps(reply).encode() + b"\n")
    await writer.drain()


def _ending(finished: Finished) -> str:
    if finished.over:
        return f"it was ended for its {finished.over}"
    if finished.code is None:
        return f"it was ended by signal {finished.signal}"
    last = finished.stderr.decode(errors="replace").strip().splitlines()[-1:]
    return f"it ended with exit code {finished.code}" + "".join(f": {line[:1000]}" for line in last)
