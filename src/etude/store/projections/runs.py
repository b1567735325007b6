"""Runs as a whole: in what state they are, what they came to, how they go on."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from etude.config import TrainConfig, load_config
from etude.config.sections import AgentSection
from etude.errors import ConfigError, EtudeError
from etude.readable import counted
from etude.records import Record, digest
from etude.records.answer import Answer, Interval, ShipVerdict
from etude.records.summary import SkillScores
from etude.skill.diff import unified_diff
from etude.store.journal import SqliteJournal
from etude.store.projections.cost import read_totals
from etude.store.projections.log import Log
from etude.store.spend import SpendTotals
from etude.store.views import EVENTS, JOURNAL, RunView, StepView, last_event, read_events, read_run, text_of
from etude.story import Milestone

_LIMIT = re.compile(r"limits\.(calls|tokens|usd) = \S+ is reached")

State = Literal["finished", "stopped", "running", "died", "evaluations", "damaged"]
"""`stopped`: it ended early and said why; `died`: its process ended and did not say why; `evaluations`: skills
were scored in the folder, no run was trained."""


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
    simulated: bool | None = None
    dry: bool = False
    """Its simulated models know none of the tasks: it has no scores."""
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
    verdict: ShipVerdict | None = None
    words: str = ""
    """The verdict, `no change` where the best skill is the initial one, or `dry run`; empty before there is one."""
    gain: Interval | None = None
    """On the test tasks."""
    initial: Interval | None = None
    """The score of the initial skill on the test tasks."""
    val: float | None = None
    """Mean validation score of the best skill, in [0, 1]."""
    test: float | None = None
    """Mean test score of the best skill, in [0, 1]."""
    group: str = ""
    """The same for runs whose test scores can be compared: the same tasks, scorer, agent and target."""
    target: str = ""
    """The model that attempts the tasks."""


class Decision(Record):
    """A step, slow update or tidying."""

    name: str
    """As in `3` or `slow update 1`."""
    step: int
    """The step it belongs to: its own number, or that of the last step before it."""
    place: str
    """Its folder within that of the run, as in `steps/0003`."""
    view: StepView


class RunPage(RunState):
    """A run: what it came to, how it stands, and what it did."""

    answer: Answer | None = None
    """None before the run has written a summary."""
    outdated: bool = False
    """The answer is that of the time when it last stopped; it was continued since."""
    diff: str = ""
    """What changed from the initial skill to the best one, or to that of the last step."""
    tokens: int | None = None
    learnt: str = ""
    """As in `18 of 60 training tasks solved`."""
    place: str = ""
    """Where it is, or was when its process died."""
    started: str = ""
    """When it was last started, UTC."""
    at: str = ""
    """When something was last told, UTC."""
    warnings: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()


class Mark(Record):
    """The score of a skill on a split."""

    split: Literal["validation", "test"]
    skill: Literal["initial", "best"]
    target_calls: int
    score: float


class Curve(Record):
    """How a run went, over the calls of its target: what a better skill cost. Empty for a dry run."""

    turns: tuple[Milestone, ...]
    marks: tuple[Mark, ...]
    """Those of the initial skill at the beginning, those of the best one at the last decision."""


def curve(log: Log) -> Curve:
    """The curve of a run so far. Raises DataError: its summary is damaged."""
    turns, view = log.story.turns, read_run(log.path)
    if log.story.dry:
        return Curve(turns=(), marks=())
    summary = None if view.outdated else view.summary
    found: list[Mark] = []
    if summary is not None and turns:
        places: tuple[tuple[Literal["initial", "best"], SkillScores, int], ...] = (
            ("initial", summary.initial, 0),
            ("best", summary.best, turns[-1].target_calls),
        )
        for skill, scores, calls in places:
            if scores.val is not None:
                found.append(Mark(split="validation", skill=skill, target_calls=calls, score=scores.val.mean))
            if scores.test is not None:
                found.append(Mark(split="test", skill=skill, target_calls=calls, score=scores.test.mean))
    return Curve(turns=turns, marks=tuple(found))


def read_lines(paths: Iterator[Path], program: str = "etude") -> tuple[RunLine, ...]:
    """Runs as a list shows them: those that can be compared stand together, the best test score first."""
    lines = sorted((read_line(path, program) for path in paths), key=lambda line: -line.changed)
    groups = list(dict.fromkeys(line.group for line in lines))

    def place(line: RunLine) -> tuple[int, float]:
        score = 1.0 if line.test is None else -line.test
        return groups.index(line.group), -2.0 if line.state == "running" else score

    return tuple(sorted(lines, key=place))


def read_line(path: Path, program: str = "etude") -> RunLine:
    """A run as a list shows it, also one that cannot be read. `program` is how the command is called."""
    known = {"name": path.resolve().name, "path": str(path), "bytes": _disk_use(path), "changed": _changed(path)}
    try:
        view = read_run(path)
        summary = view.summary
        found = known | _told(view, program)
        found["group"], found["target"] = _setting(path)
        if summary is not None and not found["group"]:
            found["why"] = found["why"] or "the journal lacks what it held: with what the scores can be compared"
    except EtudeError as error:
        return RunLine.model_validate({**known, "state": "damaged", "why": error.message})
    if summary is not None and not view.outdated:
        answer, best = summary.answer, summary.best
        words = answer.verdict or ("no change" if summary.same and best.val is not None else "")
        if answer.verdict and summary.claim == "these tasks":
            words = summary.said
        found |= {"verdict": answer.verdict, "words": "dry run" if summary.dry else words, "gain": answer.gain}
        if not summary.dry:
            found |= {"initial": summary.initial.test, "val": _mean(best.val), "test": _mean(best.test)}
    return RunLine.model_validate(found)


def run_page(log: Log, program: str = "etude") -> RunPage:
    """A run as a page shows it. Raises DataError: there is no run, or one of its files is damaged."""
    view, story = read_run(log.path), log.story
    summary, (spent, _) = view.summary, _spent(log.path)
    found: dict[str, Any] = {"name": view.name, "path": view.path, "changed": _changed(log.path)}
    found |= _told(view, program)
    tokens = None if spent is None else spent.total_tokens
    if summary is not None and found["state"] == "finished":
        tokens = sum(usage.total for usage in summary.cost.tokens.values())
    count = "" if story.shown is None else story.shown.so_far
    found |= {
        "answer": None if summary is None else summary.answer,
        "outdated": view.outdated,
        "diff": _diff(view),
        "tokens": tokens,
        "learnt": story.learnt,
        "place": f"{story.place} {count}".strip(),
        "started": log.started,
        "at": log.at,
        "warnings": tuple(story.warnings),
        "decisions": tuple(decisions(view, log)),
    }
    return RunPage.model_validate(found)


def _diff(view: RunView) -> str:
    if not view.skills:
        return ""
    name, label = view.skills[-1], f"step {int(Path(view.skills[-1]).stem)}"
    if view.summary is not None and not view.outdated:
        name, label = view.summary.best.skill, "best"
    initial, now = (text_of(Path(view.path, file)) for file in (view.skills[0], name))
    return "" if initial is None or now is None else unified_diff(initial, now, "initial", label)


def _begun(path: Path) -> dict[str, Any]:
    """What a run said when it began; empty when it has not."""
    return next((dict(event) for event in read_events(path, "run_started")), dict[str, Any]())


def decisions(run: RunView, log: Log | None = None) -> Iterator[Decision]:
    """Steps, each with the slow updates that were made after it."""
    updates = {step.number: step for step in run.epochs if step.action is not None}
    if updates and log is None:
        log = Log(run.path)
        log.read()
    after: Mapping[int, int] = {} if log is None else log.story.slow_updates

    def slow_update(epoch: int, step: int) -> Decision:
        name, place = f"slow update {epoch}", f"epochs/{epoch:02d}"
        return Decision(name=name, step=step, place=place, view=updates.pop(epoch))

    for step in run.steps:
        yield Decision(name=str(step.number), step=step.number, place=f"steps/{step.number:04d}", view=step)
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
    identity = _identity(Path(run.path))
    if not config.env.model_extra or identity.get("env", {}).get("name", "dataset") != "dataset":
        return "tasks"
    if config.targets:  # those with objects are refused
        return ""
    agent = identity.get("agent", {}).get("name", config.agent.name)
    return "agent" if config.agent == AgentSection() and agent != config.agent.name else ""


def trains_descriptions(run: RunView) -> bool:
    """Whether a run trained descriptions (`etude trigger --train`), and no skill."""
    return _identity(Path(run.path)).get("env", {}).get("name") == "triggers"


def reached_limit(stopped: str | None) -> str:
    """The setting to raise before resuming, as in `limits.calls`, by the reason of a stop as in a summary or a
    `StopRun`; empty when the run did not stop because of one."""
    found = _LIMIT.match(stopped or "")
    return f"limits.{found[1]}" if found else ""


def _told(view: RunView, program: str) -> dict[str, Any]:
    summary, (spent, unreadable) = view.summary, _spent(Path(view.path))
    stopped = None if summary is None or view.outdated else summary.stopped
    state, done = _state(view, stopped), sum(step.action is not None for step in view.steps)
    # What is sent after the end, as by `evaluate`, is not the run's.
    cost = summary.cost if summary is not None and state == "finished" else None
    calls, usd = (None, None) if spent is None else (spent.total_calls, spent.usd)
    said = f"its process ended after {counted(done, 'step')} and did not say why" if state == "died" else ""
    if state == "evaluations":
        said = str(last_event(view.path, "stage_started", "run_finished").get("stopped", ""))
    begun = _begun(Path(view.path))
    steps = begun.get("steps")  # 0 where that depends on what happens
    return {
        "state": state,
        "why": unreadable or said or ("" if view.running or stopped is None else stopped),
        "steps": done,
        "planned_steps": steps if isinstance(steps, int) and steps > 0 else None,
        "simulated": begun.get("simulated") if summary is None else summary.simulated,
        "dry": bool(begun.get("dry")) if summary is None else summary.dry,
        "calls": calls if cost is None else cost.target_calls + cost.optimizer_calls + cost.judge_calls,
        "usd": usd if cost is None else cost.usd,
        "resume": resume_command(view, program),
        "raise_limit": None if view.running else reached_limit(stopped) or None,
    }


def _setting(path: Path) -> tuple[str, str]:
    """What makes the scores of runs comparable, as a digest; and the target, in words."""
    identity = _identity(path)
    if not identity:
        return "", ""
    of = {name: identity.get(name) for name in ("env", "agent", "gate", "judge", "test")}
    of |= {"tasks": identity.get("data", {}).get("test"), "target": identity.get("models", {}).get("target")}
    return digest(of)[:8], str(_begun(path).get("models", {}).get("target", ""))


def _identity(path: Path) -> dict[str, Any]:
    with closing(SqliteJournal(path / JOURNAL, read_only=True)) as journal:
        return dict(journal.identity or {})


def _mean(interval: Interval | None) -> float | None:
    return None if interval is None else interval.mean


def _state(view: RunView, stopped: str | None) -> State:
    if view.running:
        return "running"
    if view.evaluations_only:
        return "evaluations"
    if view.resumable:
        return "died" if stopped is None else "stopped"
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
