"""Runs as a whole: in what state they are, what they came to, how they go on."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from etude.config import TrainConfig, load_config
from etude.config.sections import AgentSection
from etude.errors import ConfigError, DataError, EtudeError
from etude.records import EditFate, Record
from etude.records.summary import Interval, NoSkill, OfTarget, Settle, ShipVerdict, SkillScores, Summary
from etude.records.tasks import Metric
from etude.store.journal import SqliteJournal
from etude.store.projections.cost import read_totals
from etude.store.projections.log import Log
from etude.store.spend import SpendTotals
from etude.store.views import EVENTS, JOURNAL, SUMMARY, RunView, StepView, read_events, read_run

_LIMIT = re.compile(r"limits\.(calls|tokens|usd) = \S+ is reached")

State = Literal["finished", "stopped", "running", "unfinished", "evaluations", "damaged"]
"""`stopped`: it ended early and said why; `unfinished`: it was killed; `evaluations`: skills were scored in the
folder, no run was trained."""


class RunState(Record):
    """How a run stands. What could not be read, or is not known yet, is None."""

    name: str
    path: str
    state: State
    why: str = ""
    """Why it stopped, or what cannot be read."""
    steps: int = 0
    """Steps done."""
    planned_steps: int | None = None
    """None also when that depends on what happens."""
    val: float | None = None
    """Mean validation score of the best skill, in [0, 1]."""
    test: float | None = None
    """Mean test score of the best skill, in [0, 1]."""
    simulated: bool | None = None
    calls: int | None = None
    """Model requests sent, over all processes; of a finished run those until its end."""
    usd: float | None = None
    """US dollars billed; None when a price is unknown."""
    changed: float
    """When something happened in it last, in seconds since 1970."""
    resume: str | None = None
    """The command that resumes it."""
    raise_limit: str | None = None
    """The setting that `resume` needs a larger value of, as in `limits.calls`."""


class RunLine(RunState):
    """What a list says about a run."""

    bytes: int
    """Disk use."""


class DecisionRow(Record):
    """A step, slow update or tidying in a list."""

    name: str
    """As in `3` or `slow update 1`."""
    place: str
    """Its folder within that of the run, as in `steps/0003`."""
    step: int
    action: Literal["accepted", "rejected", "skipped"] | None
    """None while it is under way."""
    best: bool
    reason: str
    edits: dict[EditFate, int]
    """How many edits had which fate."""
    skill_tokens: int | None


class RunPage(RunState):
    """A run with its verdict and what it used."""

    verdict: ShipVerdict | None = None
    metric: Metric = "hard"
    initial: SkillScores | None = None
    """None before the run has written a summary."""
    best: SkillScores | None = None
    test_gain: Interval | None = None
    targets: tuple[OfTarget, ...] = ()
    """Each of several targets with the initial (A) and the best skill (B)."""
    no_skill: NoSkill | None = None
    settle: Settle | None = None
    withheld: str = ""
    withheld_why: str = ""
    noise: str = ""
    """How noisy attempts are, where that is much."""
    outdated: bool = False
    """The scores are those of the time when it last stopped; it was continued since."""
    tokens: int | None = None
    stage: str = ""
    """The stage that it is in, while it is running."""
    step: int = 0
    """The step of that stage."""
    started: str = ""
    """When it was last started, UTC."""
    at: str = ""
    """When something was last told, UTC."""
    warnings: tuple[str, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()


class Decision(NamedTuple):
    """A step or slow update of a run."""

    name: str
    """As in `3` or `slow update 1`."""
    step: int
    """The step it belongs to: its own number, or that of the last step before it."""
    place: str
    """Its folder within that of the run."""
    view: StepView


def read_line(path: Path, program: str = "etude") -> RunLine:
    """A run as a list shows it, also one that cannot be read. `program` is how the command is called."""
    known = {"name": path.resolve().name, "path": str(path), "bytes": _disk_use(path), "changed": _changed(path)}
    try:
        view = read_run(path)
        summary = summary_of(view)
    except EtudeError as error:
        return RunLine.model_validate({**known, "state": "damaged", "why": error.message})
    return RunLine.model_validate(known | _told(view, summary, program))


def run_page(log: Log, program: str = "etude") -> RunPage:
    """A run as a page shows it. Raises DataError: there is no run, or one of its files is damaged."""
    view = read_run(log.path)
    summary = summary_of(view)
    known = {"name": view.name, "path": view.path, "changed": _changed(log.path)}
    found: dict[str, Any] = known | _told(view, summary, program)
    if summary is not None:
        same = ("verdict", "metric", "initial", "best", "test_gain", "no_skill", "settle")
        found |= {name: getattr(summary, name) for name in (*same, "targets", "withheld", "withheld_why")}
        found["noise"] = "" if summary.noise is None else summary.noise.note
    begun = log.last.get("run_started", {})
    ends = [str(event["at"]) for event in log.last.values() if "at" in event]
    stage, step = (log.stage if view.running else None) or ("", 0)
    spent, _ = _spent(log.path)
    tokens = None if spent is None else spent.total_tokens
    if summary is not None and found["state"] == "finished":
        tokens = sum(usage.total for usage in summary.cost.tokens.values())
    found |= {
        "outdated": view.outdated,
        "simulated": bool(begun.get("simulated")) if summary is None and begun else found["simulated"],
        "tokens": tokens,
        "stage": stage,
        "step": step,
        "started": begun.get("at", ""),
        "at": max(ends, default=""),
        "warnings": tuple(log.warnings),
        "decisions": tuple(_row(decision) for decision in decisions(view, log)),
    }
    return RunPage.model_validate(found)


def summary_of(run: RunView) -> Summary | None:
    """The summary of a run; None before it has written one. Raises DataError: it is damaged."""
    if run.summary is None:
        return None
    try:
        return Summary.model_validate(run.summary)
    except ValidationError as error:
        raise DataError(
            f"{str(Path(run.path) / SUMMARY)!r} is damaged: {error.errors()[0]['msg']}",
            hint="run `train` again with the same settings: it writes the file again, all answers are cached",
        ) from None


def planned(run: RunView) -> int | None:
    """Steps of the whole run; None when that depends on what happens, or was not said yet."""
    for event in read_events(run.path, "run_started"):
        steps = event.get("steps")
        return steps if isinstance(steps, int) and steps > 0 else None
    return None


def decisions(run: RunView, log: Log | None = None) -> Iterator[Decision]:
    """Steps, each with the slow updates that were made after it."""
    updates = {step.number: step for step in run.epochs if step.action is not None}
    if updates and log is None:
        log = Log(run.path)
        log.read()
    after = {} if log is None else log.slow_updates

    def slow_update(epoch: int, step: int) -> Decision:
        return Decision(f"slow update {epoch}", step, f"epochs/{epoch:02d}", updates.pop(epoch))

    for step in run.steps:
        yield Decision(str(step.number), step.number, f"steps/{step.number:04d}", step)
        for epoch in [epoch for epoch in updates if after.get(epoch) == step.number]:
            yield slow_update(epoch, step.number)
    for epoch in [*updates]:
        yield slow_update(epoch, len(run.steps))


def resume_command(run: RunView, program: str = "etude") -> str | None:
    """The command that resumes a run; None when the run folder does not say it, or it is not needed."""
    if not run.resumable:
        return None
    path = Path(run.path) / "config.yaml"
    try:
        config = load_config(path)
    except ConfigError:
        return None
    if objects_of(run, config):
        return None
    named = Path(config.run.folder) / config.run.name
    return f"{program} train {path}" if os.path.realpath(named) == os.path.realpath(run.path) else None


def objects_of(run: RunView, config: TrainConfig) -> str:
    """What a run was given as objects of Python, so that its settings do not say it: `tasks`, `agent` or nothing."""
    if config.env.name != "dataset":
        return ""
    journal = SqliteJournal(Path(run.path, JOURNAL), read_only=True)
    try:
        identity: Any = journal.identity or {}
    finally:
        journal.close()
    if not config.env.model_extra or identity.get("env", {}).get("name", "dataset") != "dataset":
        return "tasks"
    if config.targets:  # those with objects are refused
        return ""
    agent = identity.get("agent", {}).get("name", config.agent.name)
    return "agent" if config.agent == AgentSection() and agent != config.agent.name else ""


def reached_limit(stopped: str | None) -> str:
    """The setting to raise before resuming, as in `limits.calls`, by the reason of a stop as in a summary or a
    `StopRun`; empty when the run did not stop because of one."""
    found = _LIMIT.match(stopped or "")
    return f"limits.{found[1]}" if found else ""


def _told(view: RunView, summary: Summary | None, program: str) -> dict[str, Any]:
    spent, unreadable = _spent(Path(view.path))
    stopped = None if summary is None or view.outdated else summary.stopped
    best = SkillScores(skill="", hash="") if summary is None else summary.best
    state = _state(view, stopped)
    # What is sent after the end, as by `evaluate`, is not the run's.
    cost = summary.cost if summary is not None and state == "finished" else None
    calls, usd = (None, None) if spent is None else (spent.total_calls, spent.usd)
    return {
        "state": state,
        "why": unreadable or ("" if view.running or stopped is None else stopped),
        "steps": sum(step.action is not None for step in view.steps),
        "planned_steps": planned(view),
        "val": None if best.val is None else best.val.mean,
        "test": None if best.test is None else best.test.mean,
        "simulated": None if summary is None else summary.simulated,
        "calls": calls if cost is None else cost.target_calls + cost.optimizer_calls + cost.judge_calls,
        "usd": usd if cost is None else cost.usd,
        "resume": resume_command(view, program),
        "raise_limit": None if view.running else reached_limit(stopped) or None,
    }


def _row(decision: Decision) -> DecisionRow:
    step = decision.view
    return DecisionRow(
        name=decision.name,
        place=decision.place,
        step=decision.step,
        action=step.action,
        best=step.best,
        reason=step.reason,
        edits=step.edits,
        skill_tokens=step.skill_tokens,
    )


def _state(view: RunView, stopped: str | None) -> State:
    if view.running:
        return "running"
    if view.evaluations_only:
        return "evaluations"
    if view.resumable:
        return "unfinished" if stopped is None else "stopped"
    return "finished"


def _spent(path: Path) -> tuple[SpendTotals | None, str]:
    """What the run used; else why it cannot be read."""
    try:
        return read_totals(path), ""
    except EtudeError as error:
        return None, error.message


def _disk_use(path: Path) -> int:
    """Bytes of all files, without following links."""
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_symlink() or file.is_file())


def _changed(path: Path) -> float:
    """Looking at a run can touch its lock and its journal, but not its events."""
    events = path / EVENTS
    return (events if events.exists() else path / JOURNAL).stat().st_mtime
