"""One run of an agent program, watched from the gateway, and what it counts as: from what the program and the gateway
say, never from its exit code alone."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from etude.concurrency import give_up
from etude.errors import EtudeError, OutageStop
from etude.gateway import GatewaySession
from etude.programs.program import Launch, Report, last_words
from etude.programs.trouble import after_reset, outdated
from etude.programs.trouble import trouble as kind_of
from etude.records.messages import Finish
from etude.records.said import cut_off_at
from etude.records.tasks import REFUSED
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


LATE = "not done within agent.limits.seconds"
"""How a failure begins that is a matter of time."""


class ProgramFailed(EtudeError):
    """An agent program could not do its work, for a reason that says nothing about the skill."""


class AgentTraits(NamedTuple):
    """What holds for every attempt of an agent."""

    agent: str
    silent: bool
    """The program may do its work without a model."""
    limits: Limits
    limit: int
    """The most tokens that a reply of the model may have."""


def verdict(ran: ProgramRun, report: Report, traits: AgentTraits, trouble: str) -> str:
    """Why the attempt failed by the agent's own fault; empty when it was completed. `trouble` is why the model's last
    request came to nothing, empty when it did not.

    Raises:
        ProgramFailed: it is void: the program crashed, or asked no model, or waited for one in vain.
        OutageStop: the program's own login, model or version is refused, and will be in every attempt, or the plan
            of that login is used up.
    """
    finished, idle = ran.finished, ran.asked == 0 and not traits.silent
    assert finished is not None  # it runs to its end when nothing stops it
    if finished.timed_out:
        late = f"{LATE} = {traits.limits.seconds:g}"
        if ran.in_vain:
            failed = f", which had failed: {trouble}" if trouble else ""
            raise ProgramFailed(f"{late}: it waited for the model{failed}")
        if idle:  # a busy machine: the skill was never read
            raise ProgramFailed(f"{late}: agent {traits.agent!r} had asked no model yet")
        return late
    if finished.over:
        return f"went over its {finished.over} ({_limits(traits.limits)})"
    if report.out_of_steps:
        return "the step limit was reached"
    # Programs make errors of these, but the model answered.
    if ran.last_finish == "refusal":
        return REFUSED
    if ran.last_finish == "length" and report.error:
        return cut_off_at(traits.limit)
    if report.error:
        gave_up = f"agent {traits.agent!r} gave up: {report.error}"
        if _too_old(ran, report.error):
            raise _outdated(gave_up)
        kind = kind_of(report.error) if ran.asked is None else "other"
        if kind == "used up":
            raise OutageStop(gave_up, hint=after_reset(report.error))
        if kind == "refused":
            raise OutageStop(gave_up, hint="look at the program's own login, model and version, then run this again")
        raise ProgramFailed(gave_up)
    if not report.ended:
        broke_off = f"agent {traits.agent!r} broke off, {_end(finished)}"
        raise _outdated(broke_off) if _too_old(ran, last_words(finished)) else ProgramFailed(broke_off)
    if idle:
        raise ProgramFailed(f"agent {traits.agent!r} asked no model, {_end(finished)}")
    return ""


def _too_old(ran: ProgramRun, words: str) -> bool:
    """Whether the program said so itself: what a model or a command wrote does not count."""
    return not ran.asked and outdated(words)


def _outdated(problem: str) -> OutageStop:
    return OutageStop(problem, hint="update the program, then run this again; `etude doctor` says its version")


def _limits(limits: Limits) -> str:
    names = ("memory_mb", "processes", "disk_mb")
    return ", ".join(f"agent.limits.{name} = {getattr(limits, name)}" for name in names)


def _end(finished: Finished) -> str:
    end = f"signal {finished.signal}" if finished.signal is not None else f"exit code {finished.code}"
    words = last_words(finished)
    return f"{end}: {words}" if words else end
