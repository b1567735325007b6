"""Regular expressions with a time limit.

Python cannot interrupt a match under way, but the system can end the process that does the matching. It counts that
process's CPU time: how busy a machine is says nothing about a pattern.
"""

import json
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Literal, cast

_WORKER = """
import json, re, signal, sys
for line in sys.stdin:
    seconds, what, pattern, flags, text = json.loads(line)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    found = getattr(re.compile(pattern, flags), what)(text)
    print(json.dumps(found if what == "findall" else found is not None), flush=True)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
"""
_WAIT_SECONDS = 60.0
"""Longest wait for a process that does not get to use its time, in addition to ten times that time."""

Question = tuple[Literal["search", "fullmatch", "findall"], str, int, str]
"""Method, pattern, flags, text."""


class Matcher:
    """A process that matches one text at a time; started when needed, and again after it had to be ended.

    All methods block, and may be called from several threads. They raise TimeoutError for a match that takes more
    than `seconds` of CPU time, and ChildProcessError when the process broke or was not let run.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._end: Callable[[], object] = bool

    def matches(self, pattern: str, text: str, *, flags: int = 0, whole: bool = False) -> bool:
        """Whether the pattern matches all of the text, or without `whole` a part of it."""
        return bool(self._answer(("fullmatch" if whole else "search", pattern, flags, text)))

    def groups(self, pattern: str, text: str) -> list[str]:
        """What the only group of the pattern holds in each of its matches."""
        return cast(list[str], self._answer(("findall", pattern, 0, text)))

    def _answer(self, question: Question) -> object:
        with self._lock:
            if self._process is None:
                self._process = self._start()
            return self._ask(self._process, question)

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, process)
        return process

    def _ask(self, process: subprocess.Popen[str], question: Question) -> object:
        timer = threading.Timer(_WAIT_SECONDS + 10 * self._seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            answer = _exchange(process, json.dumps([self._seconds, *question]))
        finally:
            timer.cancel()
            timer.join()
        if answer.endswith("\n"):
            return json.loads(answer)
        self._end()
        self._process = None
        if process.returncode == -signal.SIGVTALRM:
            raise TimeoutError(f"no result after {self._seconds:g} s; simplify nested or repeated wildcards")
        raise ChildProcessError("the process that matches regular expressions died")


def _exchange(process: subprocess.Popen[str], line: str) -> str:
    """The line the process answers with, empty when it has ended."""
    stdin, stdout = cast(IO[str], process.stdin), cast(IO[str], process.stdout)
    with suppress(BrokenPipeError):
        stdin.write(line + "\n")
        stdin.flush()
    return stdout.readline()


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()  # does nothing to one that has ended
    with suppress(BrokenPipeError), process:
        pass
