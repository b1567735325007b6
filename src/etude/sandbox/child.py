"""A running program as its starter sees it: its supervisor, the report of that, and what the program writes."""

import asyncio
import errno
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from typing import IO, Any, Literal, cast

from pydantic import JsonValue, ValidationError

from etude.errors import ConfigError, EtudeError
from etude.records.record import Record
from etude.sandbox.launcher import launcher
from etude.sandbox.pipes import Lines, Output
from etude.sandbox.sandbox import SandboxError

_PIPES_SECONDS = 10.0
"""How long the rest of the output may take once everybody is gone who could write more."""


class SupervisorReport(Record):
    """What the supervisor says at the end."""

    code: int | None
    signal: int | None
    over: Literal["", "time limit", "memory limit", "process limit", "disk limit", "asked"]
    """Why the program was ended; empty if it ended by itself."""
    left: int
    """Processes that could not be ended."""
    said: str
    """What the command said that came after the program."""


class Child(asyncio.SubprocessProtocol):
    """A supervisor around a program, and its pipes."""

    def __init__(self, env: Mapping[str, str], stdin: bytes | Lines | None, most_output: int) -> None:
        self.stdout, self.stderr = Output(most_output), Output(most_output)
        self._env, self._stdin = env, stdin
        self._hear = {1: stdin.heard if isinstance(stdin, Lines) else self.stdout.add, 2: self.stderr.add}
        self._transport: asyncio.SubprocessTransport | None = None
        self._asked = 0
        loop = asyncio.get_running_loop()
        self._ended, self._silent = loop.create_future(), loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._hear[fd](data)

    def process_exited(self) -> None:
        self._ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended, and nobody holds a pipe any more."""
        self._silent.set_result(None)

    async def run(self, command: list[str], orders: Mapping[str, JsonValue | bytes], late: float) -> SupervisorReport:
        """Until the program is gone with all it started. Cancelling asks it to end, a second time without grace, and
        is raised again when it has ended.

        Raises SandboxError when the supervisor died, or has not ended after `late` seconds.
        """
        working = asyncio.create_task(self._run(command, orders, late))
        cancelled: asyncio.CancelledError | None = None
        while not working.done():
            try:
                await asyncio.wait({working})
            except asyncio.CancelledError as error:
                cancelled = error
                self._asked += 1
                if self._transport is not None and not self._ended.done():
                    self._transport.terminate()
        error = working.exception()
        if cancelled is not None:
            raise cancelled
        if error is not None:
            raise error
        return working.result()

    async def _run(
        self, command: list[str], orders: Mapping[str, JsonValue | bytes], late: float
    ) -> SupervisorReport:
        with tempfile.TemporaryFile() as told:
            transport = await self._start(command, {**orders, "report": told.fileno(), "parent": os.getpid()})
            for _ in range(self._asked):
                transport.terminate()
            self._transport = transport
            try:
                await asyncio.wait({self._ended}, timeout=late)
                if not self._ended.done():
                    transport.kill()
                    await self._ended
                await asyncio.wait({self._silent}, timeout=_PIPES_SECONDS)
            finally:
                transport.close()
            return self._reported(cast(int, transport.get_returncode()), told)

    async def _start(self, command: list[str], orders: Mapping[str, Any]) -> asyncio.SubprocessTransport:
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *launcher("supervise", orders, command),
                stdin=subprocess.DEVNULL if self._stdin is None else subprocess.PIPE,
                env=dict(self._env),
                start_new_session=True,
                pass_fds=(orders["report"],),
            )
        except OSError as error:
            raise _not_started(error) from error
        if self._stdin is not None:
            pipe = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
            if isinstance(self._stdin, Lines):
                self._stdin.connect(pipe)
            else:
                pipe.write(self._stdin)
                pipe.write_eof()
        return transport

    def _reported(self, code: int, told: IO[bytes]) -> SupervisorReport:
        told.seek(0)
        try:
            report = SupervisorReport.model_validate_json(b"" if code else told.read())
        except ValidationError:
            words = self.stderr.text().decode(errors="replace").strip().splitlines()[-1:]
            raise SandboxError(
                "the process that watches a program ended with "
                + (signal.Signals(-code).name if code < 0 else f"exit code {code}")
                + "".join(f": {line}" for line in words),
                hint="it was killed from outside, or the machine is out of memory",
            ) from None
        if report.left:
            raise SandboxError(
                f"{report.left} processes of a program could not be ended",
                hint="they wait for a device or a file system that does not answer",
            )
        return report


def _not_started(error: OSError) -> EtudeError:
    if error.errno == errno.E2BIG:
        return ConfigError(
            "the command line is too long for this system",
            hint="give long texts to the program by its standard input or in a file",
        )
    return SandboxError(f"a program could not be started: {error.strerror}", hint="free memory, or run fewer at once")
