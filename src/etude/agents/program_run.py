"""One run of an agent program, watched from the gateway."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from etude.concurrency import give_up
from etude.gateway import GatewaySession
from etude.programs.program import Launch
from etude.records.messages import Finish
from etude.sandbox import Box, Finished, Limits, Sandbox, run
from etude.sandbox.process import spend

LAST_WORDS_SECONDS = 5.0
"""How long a program may go on that was refused a request beyond its limit: it then tells what it did."""


@dataclass(frozen=True)
class ProgramRun:
    """How a run went."""

    finished: Finished | None
    """None when the gateway had it ended."""
    asked: int | None
    """Requests that reached the gateway, None without one."""
    last_finish: Finish
    """How the last reply of the model ended, as far as that is known."""
    in_vain: bool
    """For most of its time the program waited for a turn of the model, or for what came to an error or to nothing; or
    the model never answered. One that used more of it cannot choose to have no score."""


async def run_program(
    launch: Launch, env: Mapping[str, str], box: Box, limits: Limits, sandbox: Sandbox, session: GatewaySession | None
) -> ProgramRun:
    """Run to the end; end it before when the session has failed."""
    waited, before = 0.0, 0.0 if session is None else sum(session.used)

    async def watch() -> None:
        nonlocal waited
        loop = asyncio.get_running_loop()
        last = loop.time()
        while session is not None:
            await asyncio.sleep(min(0.25, limits.seconds / 40))
            now = loop.time()
            waited, last = waited + (now - last if session.pending else 0.0), now

    watching = asyncio.create_task(watch())
    running = asyncio.create_task(
        run(launch.argv, box=box, limits=limits, sandbox=sandbox, env=env, stdin=launch.stdin)
    )
    failing = asyncio.create_task(asyncio.Event().wait() if session is None else session.failed.wait())
    try:
        await asyncio.wait({running, failing}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done() and session is not None and session.exhausted:
            await asyncio.wait({running}, timeout=LAST_WORDS_SECONDS)
        in_vain = False
        if session is not None and (waited or session.log):
            # Before the first answer nothing that a model wrote has run.
            answered = any(exchange.status == 200 for exchange in session.log)
            in_vain = not answered or sum(session.used) - before - waited < limits.seconds / 2
        asked, log = (None, []) if session is None else (len(session.log), session.log)
        last = log[-1].finish if log else "stop"
        return ProgramRun(running.result() if running.done() else None, asked, last, in_vain)
    finally:
        await give_up(running, failing, watching)  # the first ends the program and all it started
        spend(-waited)
