"""Regular expressions with a time limit.

Python cannot interrupt a match under way, but it can end the process that does the matching.
"""

import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Literal, cast

__all__ = ["Matcher"]

_WORKER = """
import json, re, sys
for line in sys.stdin:
    what, pattern, flags, text = json.loads(line)
    found = getattr(re.compile(pattern, flags), what)(text)
    print(json.dumps(found if what == "findall" else found is not None), flush=True)
"""
_START_SECONDS = 60.0

Question = tuple[Literal["search", "fullmatch", "findall"], str, int, str]
"""Method, pattern, flags, text."""


class Matcher:
    """A process that matches one text at a time; started when needed, and again after it had to be ended.

    All methods block, and may be called from several threads. They raise TimeoutError for a match that takes longer
    than `seconds`, and ChildProcessError when the process broke.
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
                # A first trivial match keeps the start of the process out of the time that is measured.
                self._ask(self._process, ("search", "", 0, ""), _START_SECONDS)
            return self._ask(self._process, question, self._seconds)

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

    def _ask(self, process: subprocess.Popen[str], question: Question, seconds: float) -> object:
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            process.kill()

        timer = threading.Timer(seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            answer = _exchange(process, json.dumps(question))
        finally:
            timer.cancel()
            timer.join()
        if expired.is_set() or not answer:
            self._end()
            self._process = None
        if answer:
            return json.loads(answer)
        if expired.is_set():
            raise TimeoutError(f"no result after {seconds:g} s; simplify nested or repeated wildcards")
        raise ChildProcessError("the process that matches regular expressions died")


def _exchange(process: subprocess.Popen[str], line: str) -> str:
    """The line the process answers with, empty when it has ended."""
    stdin, stdout = cast(IO[str], process.stdin), cast(IO[str], process.stdout)
    with suppress(BrokenPipeError):
        stdin.write(line + "\n")
        stdin.flush()
    return stdout.readline()


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    with suppress(BrokenPipeError), process:
        pass
