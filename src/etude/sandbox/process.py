"""Running a program in its box: fed, watched, bounded, and gone afterwards with everything it started."""

import os
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar

from pydantic import JsonValue

from etude.errors import ConfigError
from etude.sandbox.box import Box, Limits
from etude.sandbox.child import Child
from etude.sandbox.pipes import Lines
from etude.sandbox.sandbox import Finished, Sandbox

_LATE_SECONDS = 60.0


_SPENT: ContextVar[list[float] | None] = ContextVar("spent", default=None)


def seconds_used(known: bool = False) -> list[float]:
    """Collects how long this task uses from here on, one number for each use: its programs run without a wait for a
    model, and a model answers. What waits for a turn, or comes to an error, is no use. With `known`, what is already
    collected stays."""
    spent = _SPENT.get() if known else None
    if spent is None:
        _SPENT.set(spent := [])
    return spent


def spend(seconds: float) -> None:
    """Adds to what `seconds_used` collects; a negative number for time that a program waited for a model."""
    spent = _SPENT.get()
    if spent is not None:
        spent.append(seconds)


async def run(
    argv: Sequence[str],
    *,
    box: Box,
    limits: Limits,
    sandbox: Sandbox,
    env: Mapping[str, str],
    stdin: bytes | Lines | None = None,
) -> Finished:
    """Runs a program until it ends or has to.

    It has the environment `env` and nothing else, and `stdin` or an empty standard input. With `Lines` its standard
    input stays open, and what it writes to its standard output goes there in place of `Finished.stdout`. At
    `limits.seconds` it gets SIGTERM, after the grace SIGKILL. When it has ended, however that was, so has every
    process it started. Cancelling ends it in the same way and is raised again afterwards; cancelling twice leaves out
    the grace.

    Raises ConfigError when the program or a folder does not exist, SandboxError when the run was disturbed from
    outside.
    """
    box.check()
    sandbox.check(box)
    _check_program(argv, box, env, sandbox)
    began = time.monotonic()
    wrapped = sandbox.wrap(argv, box, limits, env)
    child = Child(wrapped.env, stdin, limits.output_kb * 1024)
    orders: dict[str, JsonValue | bytes] = {
        **wrapped.limits.model_dump(),
        "workspace": str(box.workspace),
        "folders": [str(path) for path in (box.workspace, *box.writable)],
        "spare": sandbox.spare,
        "filter": sandbox.filter,
        "after": list(wrapped.after),
    }
    try:
        report = await child.run(list(wrapped.argv), orders, limits.seconds + limits.grace_seconds + _LATE_SECONDS)
    finally:
        spend(time.monotonic() - began)
    code, number = report.code, report.signal
    if sandbox.spare and code is not None and 128 < code <= 128 + signal.SIGRTMAX:
        code, number = None, code - 128
    found = Finished(
        code=code,
        signal=number,
        stdout=child.stdout.text(),
        stderr=child.stderr.text(),
        cut=child.stdout.cut or child.stderr.cut,
        over="" if report.over == "asked" else report.over,
    )
    return sandbox.finished(found, report.said)


def _check_program(argv: Sequence[str], box: Box, env: Mapping[str, str], sandbox: Sandbox) -> None:
    """Raises ConfigError when there is no such program on this machine, or it cannot be given these words."""
    name = argv[0]
    path = str(box.workspace / name) if "/" in name else name
    if not sandbox.brings and shutil.which(path, path=env.get("PATH", os.defpath)) is None:
        raise ConfigError(
            f"the program '{name}' does not exist, or is not executable", hint="install it, or correct its path"
        )
    for word in (*argv, *env, *env.values()):
        if "\0" in word:
            raise ConfigError(
                f"the argument or variable {word[:40]!r} holds a zero byte",
                hint="give such data to the program by its standard input or in a file",
            )
