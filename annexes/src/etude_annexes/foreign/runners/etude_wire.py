# pyright: basic
"""The end of the conversation that is in the runner: lines of JSON. Runners are started by the interpreter that has
the package they are for, which need not have etude: they use that package and the standard library."""

import asyncio
import base64
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

LONGEST_ORDER = 2**26


def answer(handle: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]) -> None:
    """Serve orders until standard input ends, all at the same time. What `handle` returns is the reply to an order,
    what it raises is told as `error`."""
    # What the package and the tasks print must not come in between.
    out = os.dup(1)
    os.dup2(2, 1)
    asyncio.run(_serve(handle, out))


async def _serve(handle: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]], out: int) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_ORDER)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks: set[asyncio.Task[None]] = set()

    async def one(order: dict[str, Any]) -> None:
        try:
            reply = await handle(order)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary: whatever the package raises is told
            reply = {"error": f"{type(error).__name__}: {error}"}
        line = memoryview(json.dumps({"id": order["id"], **reply}).encode() + b"\n")
        while line:  # all of it before the next reply: nothing else runs meanwhile
            line = line[os.write(out, line) :]

    while line := await reader.readline():
        task = asyncio.create_task(one(json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    os._exit(0)  # nobody listens any more, whatever is under way


def load_module(path: str) -> Any:
    """The module in a file; it imports its neighbours from the folder of the file."""
    folder, name = os.path.dirname(os.path.abspath(path)), Path(path).stem
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None  # it is the path of a Python file
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def key_of(data: object) -> str:
    """A name of a task that changes with its content."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:16]


def write_skill(folder: Path, files: Mapping[str, tuple[str, bool]]) -> None:
    """Put the files of a skill there, to be read only: relative path to content in base64, and whether it is a
    program."""
    for path, (data, executable) in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(base64.b64decode(data))
        target.chmod(0o555 if executable else 0o444)
    for path in (*folder.rglob("*"), folder):
        if path.is_dir():
            path.chmod(0o555)
