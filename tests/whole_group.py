"""A program that is started with all that it starts in its turn, and ends with all of it."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple


class Ended(NamedTuple):
    """How a program ended, and what it printed."""

    code: int | None
    out: bytes
    err: bytes


async def run_to_its_end(argv: Sequence[Any], seconds: float, stdin: bytes | None = None, **more: Any) -> Ended:
    """Run a program. Whatever ends this, as its time limit, nothing of the program is left. Raises TimeoutError."""
    given = DEVNULL if stdin is None else PIPE
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=given, stdout=PIPE, stderr=PIPE, start_new_session=True, **more
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(stdin), seconds)
    finally:
        with suppress(ProcessLookupError):  # all have ended
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return Ended(process.returncode, out, err)
