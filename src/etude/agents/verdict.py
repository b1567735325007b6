"""What an attempt by an agent program counts as: from what the program and the gateway say, never from its exit code
alone."""

from dataclasses import dataclass

from etude.errors import EtudeError, OutageStop
from etude.programs.program import Report, last_words
from etude.programs.trouble import after_reset, outdated, trouble
from etude.records.said import cut_off_at
from etude.sandbox import Finished, Limits

LATE = "not done within agent.limits.seconds"
"""How a failure begins that is a matter of time."""


class ProgramFailed(EtudeError):
    """An agent program could not do its work, for a reason that says nothing about the skill."""


@dataclass(frozen=True)
class AttemptEvidence:
    """How an attempt went."""

    agent: str
    finished: Finished
    report: Report
    asked: int | None
    """Requests that reached the gateway, None without one."""
    in_vain: bool
    """As of a `ProgramRun`."""
    trouble: str
    """Why the model's last request came to nothing; empty when it did not."""
    last_finish: str
    """How the last reply of the model ended."""
    silent: bool
    """The program may do its work without a model."""
    limits: Limits
    limit: int
    """The most tokens that a reply of the model may have."""


def verdict(seen: AttemptEvidence) -> str:
    """Why the attempt failed by the agent's own fault; empty when it was completed.

    Raises:
        ProgramFailed: it is void: the program crashed, or asked no model, or waited for one in vain.
        OutageStop: the program's own login, model or version is refused, and will be in every attempt, or the plan
            of that login is used up.
    """
    finished, report = seen.finished, seen.report
    if finished.timed_out:
        late = f"{LATE} = {seen.limits.seconds:g}"
        if seen.in_vain:
            failed = f", which had failed: {seen.trouble}" if seen.trouble else ""
            raise ProgramFailed(f"{late}: it waited for the model{failed}")
        if seen.asked == 0 and not seen.silent:  # a busy machine: the skill was never read
            raise ProgramFailed(f"{late}: agent {seen.agent!r} had asked no model yet")
        return late
    if finished.over:
        return f"went over its {finished.over} ({_limits(seen.limits)})"
    if report.out_of_steps:
        return "the step limit was reached"
    # Programs make errors of these, but the model answered.
    if seen.last_finish == "refusal":
        return "the model refused"
    if seen.last_finish == "length" and (report.error or not report.answer.strip()):
        return cut_off_at(seen.limit)
    if report.error:
        gave_up = f"agent {seen.agent!r} gave up: {report.error}"
        if _too_old(seen, report.error):
            raise _outdated(gave_up)
        kind = trouble(report.error) if seen.asked is None else "other"
        if kind == "used up":
            raise OutageStop(gave_up, hint=after_reset(report.error))
        if kind == "refused":
            raise OutageStop(gave_up, hint="look at the program's own login, model and version, then run this again")
        raise ProgramFailed(gave_up)
    if not report.ended:
        broke_off = f"agent {seen.agent!r} broke off, {_end(finished)}"
        raise _outdated(broke_off) if _too_old(seen, last_words(finished)) else ProgramFailed(broke_off)
    if seen.asked == 0 and not seen.silent:
        raise ProgramFailed(f"agent {seen.agent!r} asked no model, {_end(finished)}")
    return "" if report.answer.strip() else "the answer was empty"


def _too_old(seen: AttemptEvidence, words: str) -> bool:
    """Whether the program said so itself: what a model or a command wrote does not count."""
    return not seen.asked and outdated(words)


def _outdated(problem: str) -> OutageStop:
    return OutageStop(problem, hint="update the program, then run this again; `etude doctor` says its version")


def _limits(limits: Limits) -> str:
    names = ("memory_mb", "processes", "disk_mb")
    return ", ".join(f"agent.limits.{name} = {getattr(limits, name)}" for name in names)


def _end(finished: Finished) -> str:
    end = f"signal {finished.signal}" if finished.signal is not None else f"exit code {finished.code}"
    words = last_words(finished)
    return f"{end}: {words}" if words else end
