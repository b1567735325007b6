"""One run of an agent program, watched from the gateway."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from etude.gateway import GatewaySession
from etude.programs.program import Launch
from etude.sandbox import Box, Finished, Limits, Sandbox, run
from etude.sandbox.process import spend

LAST_WORDS_SECONDS = 5.0
"""How long a program may go on that was refused a request beyond its limit: it then tells what it did."""


@dataclass(frozen=True)
class ProgramRun:
    """How a run went."""

    finished: Finished | None
    """None when the gateway had it ended."""
    pending: bool
    """The program was waiting for the model when its time was over, and had been for most of it, or for its first
    answer. One that was busy for longer cannot choose to have no score."""


async def run_program(
    launch: Launch, env: Mapping[str, str], box: Box, limits: Limits, sandbox: Sandbox, session: GatewaySession | None
) -> ProgramRun:
    """Run to the end; end it before when the session has failed."""
    pending, waited = False, 0.0

    def look() -> None:
        nonlocal pending
        pending = pending or (session is not None and session.pending > 0)

    async def watch() -> None:
        nonlocal waited
        step = min(0.25, limits.seconds / 40)
        while session is not None:
            await asyncio.sleep(step)
            waited += step if session.pending else 0.0

    # Set before the program's own clock starts, these come first: afterwards nothing is waited for any more.
    loop = asyncio.get_running_loop()
    timers = [loop.call_later(max(0.0, limits.seconds - early), look) for early in (0.25, 0.0)]
    watching = asyncio.create_task(watch())
    running = asyncio.create_task(
        run(launch.argv, box=box, limits=limits, sandbox=sandbox, env=env, stdin=launch.stdin)
    )
    failing = asyncio.create_task(asyncio.Event().wait() if session is None else session.failed.wait())
    try:
        await asyncio.wait({running, failing}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done() and session is not None and session.exhausted:
            await asyncio.wait({running}, timeout=LAST_WORDS_SECONDS)
        # Before the first answer nothing that a model wrote has run.
        mostly = waited >= limits.seconds / 2 or session is None or not session.log
        return ProgramRun(running.result() if running.done() else None, pending and mostly)
    finally:
        for timer in timers:
            timer.cancel()
        for task in (running, failing, watching):
            task.cancel()  # the first ends the program and all it started
        await asyncio.gather(running, failing, watching, return_exceptions=True)
        spend(-waited)
