"""A running program as its starter sees it: its supervisor, the report of that, and the program's pipes."""

import asyncio
import errno
import os
import signal
import subprocess
from collections.abc import Mapping
from typing import IO, Literal, cast

from pydantic import JsonValue, ValidationError

from etude.errors import ConfigError, EtudeError
from etude.records.record import Record
from etude.sandbox.launcher import launcher
from etude.sandbox.pipes import Feed, Intake, Lines
from etude.sandbox.sandbox import SandboxError

_REPORT_BYTES = 65536
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


class Child:
    """A supervisor around `command`, with `orders` for it. The caller calls `ended`, and `close` after it.

    Starting waits for nothing, so that no cancellation can come in between.
    """

    def __init__(
        self,
        command: list[str],
        orders: Mapping[str, JsonValue | bytes],
        env: Mapping[str, str],
        stdin: bytes | Lines | None,
        most_output: int,
    ) -> None:
        read, write = os.pipe()
        report = os.fdopen(read, "rb", buffering=0)
        try:
            self._process = subprocess.Popen(
                launcher("supervise", {**orders, "report": write, "parent": os.getpid()}, command),
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                start_new_session=True,
                pass_fds=(write,),
            )
        except OSError as error:
            report.close()
            raise _not_started(error) from error
        finally:
            os.close(write)
        lines = stdin if isinstance(stdin, Lines) else None
        self.stdout = Intake(cast(IO[bytes], self._process.stdout), most_output, lines and lines.heard)
        self.stderr = Intake(cast(IO[bytes], self._process.stderr), most_output)
        self._report = Intake(report, _REPORT_BYTES)
        self._feed = None if stdin is None else _feed(stdin, cast(IO[bytes], self._process.stdin))

    async def ended(self, late: float) -> SupervisorReport:
        """Until the program is gone with all it started. Cancelling asks it to end, a second time without grace, and
        is raised again when it has ended.

        Raises SandboxError when the supervisor died, or has not ended after `late` seconds.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + late
        cancelled: asyncio.CancelledError | None = None
        while self._process.poll() is None:
            if loop.time() > deadline:
                self._process.kill()
            try:
                await self._wait()
            except asyncio.CancelledError as error:
                cancelled = error
                self._process.terminate()
        if cancelled is not None:
            raise cancelled
        await asyncio.wait({self.stdout.done, self.stderr.done, self._report.done}, timeout=_PIPES_SECONDS)
        return self._reported()

    async def _wait(self) -> None:
        """Until the supervisor may have ended: it alone holds the other end of its report."""
        if self._report.done.done():
            await asyncio.sleep(0.005)
        else:
            await asyncio.wait({self._report.done}, timeout=1)

    def _reported(self) -> SupervisorReport:
        code = self._process.returncode
        try:
            report = SupervisorReport.model_validate_json(b"" if code else self._report.output.text())
        except ValidationError:
            words = self.stderr.output.text().decode(errors="replace").strip().splitlines()[-1:]
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

    def close(self) -> None:
        """Gives the pipes back."""
        for end in (self.stdout, self.stderr, self._report, self._feed):
            if end is not None:
                end.close()


def _feed(stdin: bytes | Lines, pipe: IO[bytes]) -> Feed:
    return stdin.connect(pipe) if isinstance(stdin, Lines) else Feed(pipe, stdin)


def _not_started(error: OSError) -> EtudeError:
    if error.errno == errno.E2BIG:
        return ConfigError(
            "the command line is too long for this system",
            hint="give long texts to the program by its standard input or in a file",
        )
    return SandboxError(f"a program could not be started: {error.strerror}", hint="free memory, or run fewer at once")
