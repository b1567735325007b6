"""The attempt, for a check with `boxes: 2`: its code runs in a second box, and only plain values come back.

    from etude_attempt import module, read, run

    solution = module("solution")
    assert solution.add(2, 3) == 5                 # each call crosses as JSON
    done = run(["python3", "main.py"], stdin="4\\n")
    assert (done.code, done.stdout) == (0, "16\\n")
    assert read("out/total.txt") == b"16"           # None where there is no such file

`python3 -m etude_attempt ./program word` is `run` for checks in other languages: same input, output and exit code.
It needs the standard library only and works from Python 3.8 on.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import socket
import sys
import time
from contextlib import closing
from typing import Any, Callable, NamedTuple, Sequence, cast  # noqa: UP035 - older Pythons, too

_MOST_BYTES = 16_000_000
"""Longest message of the attempt."""


class AttemptFailed(AssertionError):
    """The attempt's code raised, ended, took too long, or gave back what is not plain JSON."""


class Done(NamedTuple):
    """How a program ended: its exit code, None where a signal ended it, and what it wrote."""

    code: int | None
    stdout: str
    stderr: str


def run(words: Sequence[str], stdin: str = "", seconds: float = 10) -> Done:
    """Runs a program in the workspace as the attempt left it; what it writes there stays for the next one.

    Raises AttemptFailed: it cannot be started, or takes longer than `seconds` or too much memory."""
    with closing(_Line(seconds + 30)) as line:
        reply = line.ask({"run": [*words], "stdin": stdin, "seconds": seconds})
    return Done(reply["code"], reply["stdout"], reply["stderr"])


def read(path: str) -> bytes | None:
    """The content of a file in that workspace; None where there is no ordinary file. Raises AttemptFailed: it is too
    large, or the workspace holds what cannot be kept."""
    with closing(_Line(60)) as line:
        found = line.ask({"read": path})["data"]
    return None if found is None else base64.b64decode(found)


class module:
    """A Python module of the attempt: its functions are called with, and give back, what JSON can say. All calls are
    made in one process, which is started with the first one, and again where it has ended."""

    def __init__(self, name: str, seconds: float = 10, python: str = sys.executable) -> None:
        self._start = {"serve": [python, os.path.abspath(__file__), "--serve", name]}
        self._name, self._seconds = name, seconds
        self._line: _Line | None = None

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if function.startswith("__"):
            raise AttributeError(function)
        return lambda *args, **kwargs: self._call(function, args, kwargs)

    def _call(self, function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        question = [function, args, kwargs]
        json.dumps(question)  # a mistake of the check: it raises here, not in the attempt
        what = f"{self._name}.{function}"
        if self._line is None:
            self._line = _Line(self._seconds)
            self._line.send(self._start)
        try:
            reply = self._line.ask(question, self._seconds)
        except AttemptFailed as error:
            self._line.close()
            self._line = None
            raise AttemptFailed(f"{what}: {error}") from None
        if "raised" in reply:
            raise AttemptFailed(f"{what} raised {reply['raised']}")
        return reply.get("value")


class _Line:
    """A connection to the second box: a line of JSON each way."""

    def __init__(self, seconds: float) -> None:
        self._socket = socket.create_connection(("127.0.0.1", int(os.environ["ETUDE_ATTEMPT_PORT"])))
        self._seconds, self._rest = seconds, bytearray()

    def close(self) -> None:
        self._socket.close()

    def send(self, question: Any) -> None:
        self._socket.settimeout(self._seconds)
        self._socket.sendall(json.dumps(question).encode() + b"\n")

    def ask(self, question: Any, seconds: float | None = None) -> dict[str, Any]:
        """The reply. Raises AttemptFailed where there is none, or one that nobody could have meant."""
        seconds = self._seconds if seconds is None else seconds
        end = time.monotonic() + seconds
        try:
            self.send(question)
            data = self._rest
            while b"\n" not in data:
                self._socket.settimeout(max(end - time.monotonic(), 0.001))
                data = self._socket.recv(65536)
                if not data:
                    raise AttemptFailed("it ended without an answer")
                self._rest += data
                if len(self._rest) > _MOST_BYTES:
                    raise AttemptFailed("it answers with more than 16 MB")
        except TimeoutError:
            raise AttemptFailed(f"took longer than {seconds:g} s") from None
        except OSError as error:
            raise AttemptFailed(f"it ended without an answer ({error.strerror})") from None
        text, _, self._rest = self._rest.partition(b"\n")
        try:
            reply: Any = json.loads(text)
        except (ValueError, RecursionError):
            raise AttemptFailed("its answer is not JSON") from None
        if not isinstance(reply, dict):
            raise AttemptFailed("its answer is not one")
        answer = cast("dict[str, Any]", reply)
        if "failed" in answer:
            raise AttemptFailed(str(answer["failed"]))
        return answer


def _serve(name: str) -> None:
    """In the second box: makes the calls that come in, and sends what they give back."""
    sys.path[0] = os.getcwd()
    channel = socket.create_connection(("127.0.0.1", int(os.environ["ETUDE_ATTEMPT_PORT"])))
    loaded = None
    for line in channel.makefile("rb"):
        try:
            loaded = loaded or importlib.import_module(name)
            function, args, kwargs = json.loads(line)
            reply = json.dumps({"value": getattr(loaded, function)(*args, **kwargs)})
        except BaseException as error:  # noqa: BLE001 - sys.exit in the attempt's code does not end the calls
            reply = json.dumps({"raised": f"{type(error).__name__}: {error}"[:2000]})
        channel.sendall(reply.encode() + b"\n")


def _main(words: list[str]) -> int:
    if words[:1] == ["--serve"]:
        _serve(words[1])
        return 0
    done = run(words, "" if sys.stdin.isatty() else sys.stdin.read(), float(os.environ.get("ETUDE_SECONDS", 10)))
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return 125 if done.code is None else done.code


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
