"""The other end of the process that plays games: started when it is first asked, started again when it has died."""

import contextlib
import json
import os
import selectors
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from etude.concurrency import in_thread
from etude.errors import BoundaryError, ConfigError
from etude.own_process import how_ended, last_lines
from etude.records.record import Lenient

_RUNNER = Path(__file__).with_name("runner.py")
_START_SECONDS = 120
_END_SECONDS = 1.0
_END_BYTES = 4096
"""What is read of the end of an error."""
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH")
"""Variables that games may see: no keys."""


class GameState(Lenient):
    """Where a game stands."""

    text: str
    """What the last command came to; at first, what there is to do."""
    score: float
    most: float
    """The score of who has done everything; 0 where the game has none."""
    won: bool
    lost: bool
    commands: tuple[str, ...] = ()
    """What can be done next, where the game tells."""

    @property
    def over(self) -> bool:
        return self.won or self.lost


def environment() -> dict[str, str]:
    """The variables of processes that play and make games. Sets are in the same order each time, so that a seed
    always makes the same game."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | {"PYTHONHASHSEED": "0"}


class GameProcess:
    """Plays games in a process of its own, one command at a time."""

    def __init__(self, python: str, seconds: float) -> None:
        self.version = ""
        """Of TextWorld, once something was asked."""
        self.python, self._seconds = python, seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the engine
        """What the process wrote to its standard error."""
        weakref.finalize(self, self._said.close)
        self._ending = weakref.finalize(self, lambda: None)

    async def play(self, game: Path, session: int, commands: Sequence[str]) -> GameState:
        """Where a game stands after these commands, which all but the last one have been sent before.

        Raises:
            ConfigError: this interpreter has no TextWorld.
            BoundaryError: the engine failed, died, or took too long; it is started again for the next game.
        """
        request = {"game": str(game.resolve()), "session": session, "commands": list(commands)}
        answer = await in_thread(self._ask, request)
        if "failed" in answer:
            raise self._broken(f"failed: {answer['failed']}", game)
        return GameState.model_validate(answer)

    async def start(self) -> None:
        """Start the process, unless it runs. Raises ConfigError: this interpreter has no TextWorld."""
        await in_thread(self._running)

    def close(self) -> None:
        """End the process."""
        self._ending()
        self._process = None

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            process = self._process or self._started()
            try:
                cast("IO[bytes]", process.stdin).write(json.dumps(request).encode() + b"\n")
                cast("IO[bytes]", process.stdin).flush()
                answer = _line(process, self._seconds)
            except (OSError, ValueError, TimeoutError) as error:
                why = self._why(process, error)
                self.close()
                raise self._broken(why, Path(request["game"])) from None
            if answer.get("tired"):
                self.close()
            return answer

    def _running(self) -> None:
        with self._lock:
            self._process = self._process or self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        self._said.seek(0)
        self._said.truncate()
        try:
            process = subprocess.Popen(
                [self.python, str(_RUNNER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=environment(),
                bufsize=0,
            )
        except OSError as error:
            raise ConfigError(
                f"env.python = {self.python!r} cannot be started: {error.strerror}",
                hint="give a Python that has TextWorld",
            ) from None
        self._process, self._ending = process, weakref.finalize(self, _end, process)
        try:
            ready = _line(process, _START_SECONDS)
        except (OSError, ValueError) as error:
            why = self._why(process, error)
            self.close()
            raise ConfigError(
                f"the engine of env.python = {self.python!r} does not start: {why}",
                hint=f"try: {self.python} -c 'import textworld'",
            ) from None
        if "missing" in ready:
            self.close()
            raise ConfigError(
                f"env.python = {self.python!r} has no TextWorld: {ready['missing']}",
                hint="python3 -m venv games && games/bin/pip install textworld, then env.python: games/bin/python; "
                "'textworld[pddl]' for the games of ALFWorld",
            )
        self.version = str(ready["ready"])
        return process

    def _why(self, process: subprocess.Popen[bytes], error: Exception) -> str:
        """What is wrong with an engine that gives no answer: how it ended, and what it said last."""
        if isinstance(error, TimeoutError):
            return str(error)
        try:
            code = process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return str(error) or type(error).__name__
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _END_BYTES))
        last = last_lines(self._said.read())
        how = how_ended(code, None) if code >= 0 else how_ended(None, -code)
        return f"the process of the engine ended with {how}{f': {last}' if last else ''}"

    def _broken(self, problem: str, game: Path) -> BoundaryError:
        return BoundaryError(f"the game {game.name!r}", ChildProcessError(problem))


def _line(process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
    """The next line that the process writes, at most `seconds` later. Raises OSError and ValueError."""
    stream, found, until = cast("IO[bytes]", process.stdout), b"", time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not found.endswith(b"\n"):
            if not selector.select(max(0.0, until - time.monotonic())):
                raise TimeoutError(f"the engine did not answer within {seconds:g} seconds")
            part = os.read(stream.fileno(), 65536)
            if not part:
                raise ChildProcessError("the process of the engine has ended")
            found += part
    return cast("dict[str, Any]", json.loads(found))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            cast("IO[bytes]", stream).close()
