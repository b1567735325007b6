"""The second box of a check: code of the attempt runs in it, and the check, in a box of its own, asks for that.

The check connects to a Unix socket, sends a line of JSON, `{"run": words, "stdin": text, "seconds": number}` or
`{"read": path}`, and reads one. The other end is `judge/etude_attempt.py`.
"""

import asyncio
import base64
import contextlib
import json
import os
import tempfile
from collections.abc import AsyncGenerator, Mapping
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


@contextlib.asynccontextmanager
async def second_box(files: Mapping[str, File], limits: Limits, sandbox: Sandbox) -> AsyncGenerator["SecondBox"]:
    """A workspace with `files`, in which programs run one by one or together, each in a fresh sandbox without a
    network; gone at the end, with all that runs in it."""
    tasks: set[asyncio.Task[None]] = set()
    # The path of a Unix socket may have some 100 bytes.
    with Workspace() as workspace, Scratch("/tmp" if len(tempfile.gettempdir().encode()) > 60 else None) as scratch:
        workspace.fill(files)
        second = SecondBox(files, workspace, limits, sandbox, scratch.path / "attempt.sock")

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tasks.add(asyncio.create_task(second.answer(reader, writer)))

        server = await asyncio.start_unix_server(connected, second.socket, limit=_LONGEST_LINE)
        try:
            yield second
        finally:
            server.close()
            await give_up(*tasks)


class SecondBox:
    """`socket` is where a check asks; `trouble` is what went wrong on this machine meanwhile."""

    def __init__(
        self, files: Mapping[str, File], workspace: Workspace, limits: Limits, sandbox: Sandbox, socket: Path
    ) -> None:
        self._files, self._workspace, self._limits, self._sandbox = files, workspace, limits, sandbox
        self.socket = socket
        self.trouble: EtudeError | None = None

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), contextlib.closing(writer):  # it hung up
            try:
                request = json.loads(await reader.readline())
                reply = self._read(request["read"]) if "read" in request else await self._run(request)
            except (EtudeError, ValueError) as error:
                reply = {"failed": self._reason(error)}
            writer.write(json.dumps(reply).encode() + b"\n")
            await writer.drain()

    async def _run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        finished = await self._start(request["run"], request["stdin"].encode(errors="replace"), request["seconds"])
        if finished.over:
            return {"failed": f"it was ended for its {finished.over}"}
        stdout, stderr = (text.decode(errors="replace") for text in (finished.stdout, finished.stderr))
        return {"code": finished.code, "stdout": stdout, "stderr": stderr}

    def _read(self, path: str) -> dict[str, Any]:
        files = {**self._files, **self._workspace.changes()}
        file = files.get(path)
        return {"data": None if file is None else base64.b64encode(file.data).decode()}

    async def _start(self, words: list[str], stdin: bytes, seconds: float) -> Finished:
        """Runs a program of the attempt, or one of this machine that runs code of it. Raises ConfigError: a file of
        the attempt cannot be started; BoundaryError: this machine has no such program."""
        own = "/" in words[0] and not os.path.isabs(words[0])
        program = None if own else find_program(words[0], [Path("/")])
        if program is None and not own:
            raise BoundaryError(f"the program {words[0]!r}", FileNotFoundError("is not on this machine"))
        readable = () if program is None else installed(program).readable
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        env = {"PATH": os.pathsep.join(filter(os.path.isabs, folders))}
        return await run(
            [words[0] if program is None else str(program), *words[1:]],
            box=self._workspace.box([path for path in readable if path.exists()]),
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
