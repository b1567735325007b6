"""Programs for boxes, and what is left of them outside."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from etude.sandbox import Box, Finished, Limits, Sandbox, Workspace, run
from etude.sandbox.find import find_bubblewrap, find_landlock
from etude.sandbox.launcher import interpreter, interpreter_paths
from etude.sandbox.sandbox import Unsafe

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
GENEROUS = Limits(seconds=120, grace_seconds=20)


def sandbox_named(name: str) -> Sandbox:
    """The sandbox, or the reason why it does not work here as a skip."""
    if name == "unsafe":
        return Unsafe()
    found = find_bubblewrap() if name == "bubblewrap" else find_landlock(for_root=True)
    if isinstance(found, str):
        pytest.skip(found)
    return found


def working() -> list[Sandbox]:
    """Every way to run a program that works here."""
    found = (find_bubblewrap(), find_landlock(for_root=True), Unsafe())
    return [sandbox for sandbox in found if isinstance(sandbox, Sandbox)]


def python(code: str, *arguments: str) -> list[str]:
    return [interpreter(), "-I", "-S", "-c", code, *arguments]


async def play(
    sandbox: Sandbox,
    argv: Sequence[str],
    workspace: Workspace,
    *,
    limits: Limits = GENEROUS,
    stdin: bytes | None = None,
    env: dict[str, str] | None = None,
    **box: Any,
) -> Finished:
    """Runs `argv` in a workspace; Python is readable."""
    readable = (*box.pop("readable", ()), *interpreter_paths())
    place = Box(workspace.work, (workspace.home, workspace.tmp), readable, **box)
    return await run(argv, box=place, limits=limits, sandbox=sandbox, env={**ENV, **(env or {})}, stdin=stdin)


TRY = """
import json, os, socket, sys
worked = []
def attempt(name, function, *arguments):
    try:
        function(*arguments)
        worked.append(name)
    except (OSError, PermissionError):
        pass
"""
TELL = "\nprint(json.dumps(worked))\n"


async def worked(sandbox: Sandbox, workspace: Workspace, code: str, *arguments: object, **box: Any) -> list[str]:
    """What of the attempts in `code` was successful."""
    done = await play(sandbox, python(TRY + code + TELL, *map(str, arguments)), workspace, **box)
    assert (done.code, done.stderr) == (0, b"")
    return json.loads(done.stdout)


PLAY = """
import asyncio, json, sys
from sandbox_boxes import play, python, sandbox_named
from etude.sandbox import Limits, Workspace
name, limits, code = json.loads(sys.stdin.read())
async def main():
    with Workspace("/tmp") as workspace:
        done = await play(sandbox_named(name), python(code), workspace, limits=Limits(**limits))
        print(json.dumps([done.over, done.code, done.stdout.decode(), done.stderr.decode()]))
asyncio.run(main())
"""
"""In a process of its own: a program in a sandbox."""


def as_user(user: int, sandbox: Sandbox, code: str, limits: dict[str, int]) -> tuple[str, int, str, str]:
    """The same as `user`, with a Python that it can read, or a skip: which limit ended it, its exit code, output and
    errors."""
    paths = ":".join([str(Path(__file__).parent), *filter(None, sys.path)])
    words = json.dumps([sandbox.name.lower(), {"seconds": 120, **limits}, code]).encode()
    for program in (sys.executable, "/usr/bin/python3"):
        command = [program, "-c", PLAY]
        env = {"PATH": os.defpath, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        identity: dict[str, Any] = {} if user == os.getuid() else {"user": user, "group": user, "extra_groups": []}
        try:
            done = subprocess.run(command, env=env, input=words, stdout=-1, check=True, **identity)
        except PermissionError:
            continue
        return tuple(json.loads(done.stdout))
    return pytest.skip("another user has no Python to run etude with")


def nest(folder: Path, name: str, depth: int) -> None:
    """Makes folders of this name, each in the one before, however long the path becomes."""
    place = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=place)
        inner = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)


def living(token: str) -> list[int]:
    """Processes of this machine that have `token` in their command line and are no zombies."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if token.encode() in words and state != b"Z" and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found
