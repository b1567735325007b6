"""The attempt, for a check with `boxes: 2`: its code runs in a second box, and only plain values come back.

    from etude_attempt import call, read, run

    assert call("solution", "add", 2, 3) == 5       # what crosses is JSON
    done = run(["python3", "main.py"], stdin="4\\n")
    assert (done.code, done.stdout) == (0, "16\\n")
    assert read("out/total.txt") == b"16"           # None where there is no such file

`python3 -m etude_attempt ./program word` is `run` for checks in other languages: same input, output and exit code.
It needs the standard library only and works from Python 3.8 on.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import sys
from typing import Any, NamedTuple, Sequence  # noqa: UP035 - older Pythons, too


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
    reply = _ask({"run": [*words], "stdin": stdin, "seconds": seconds}, seconds + 30)
    return Done(reply["code"], reply["stdout"], reply["stderr"])


def read(path: str) -> bytes | None:
    """The content of a file in that workspace; None where there is no ordinary file. Raises AttemptFailed: it is too
    large, or the workspace holds what cannot be kept."""
    found = _ask({"read": path}, 60)["data"]
    return None if found is None else base64.b64decode(found)


def call(module: str, function: str, *given: Any, seconds: float = 10) -> Any:
    """What a function of a Python module of the attempt gives back, in a process of its own; what it is given, and
    gives back, is plain JSON. Raises AttemptFailed: it raises, or ends without an answer."""
    what = f"{module}.{function}"
    done = run([sys.executable, "-c", _CALL, module, function], json.dumps(given), seconds)
    try:
        reply: Any = json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])
        value, raised = reply.get("value"), reply.get("raised")
    except (ValueError, AttributeError, RecursionError):
        last = done.stderr.strip().rpartition("\n")[2][:1000]
        raise AttemptFailed(f"{what} ended without an answer (exit code {done.code}) {last}".rstrip()) from None
    if raised:
        raise AttemptFailed(f"{what} raised {raised}")
    return value


_CALL = """
import sys
here = sys.path.pop(0)
import importlib, json
sys.path.insert(0, here)
given = json.load(sys.stdin)
try:
    reply = json.dumps({"value": getattr(importlib.import_module(sys.argv[1]), sys.argv[2])(*given)})
except BaseException as error:
    reply = json.dumps({"raised": f"{type(error).__name__}: {error}"[:2000]})
print(f"\\n{reply}")
"""


def _ask(question: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The reply of the second box. Raises AttemptFailed where there is none."""
    with socket.create_connection(("127.0.0.1", int(os.environ["ETUDE_ATTEMPT_PORT"])), seconds) as channel:
        try:
            channel.sendall(json.dumps(question).encode() + b"\n")
            text = channel.makefile("rb").readline()
        except TimeoutError:
            raise AttemptFailed(f"took longer than {seconds:g} s") from None
    reply: dict[str, Any] = json.loads(text or '{"failed": "it ended without an answer"}')
    if "failed" in reply:
        raise AttemptFailed(reply["failed"])
    return reply


def _main(words: list[str]) -> int:
    done = run(words, "" if sys.stdin.isatty() else sys.stdin.read(), float(os.environ.get("ETUDE_SECONDS", 10)))
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return 125 if done.code is None else done.code


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
