"""What an attempt by an agent program counts as: from what the program and the gateway say, never from its exit code
alone."""

from typing import NamedTuple

from etude.agents.program_run import ProgramRun
from etude.errors import EtudeError, OutageStop
from etude.programs.program import Report, last_words
from etude.programs.trouble import after_reset, outdated
from etude.programs.trouble import trouble as kind_of
from etude.records.said import cut_off_at
from etude.records.tasks import REFUSED
from etude.sandbox import Finished, Limits

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
