"""Runs and skills by the names that people type."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from skillgrad.cli import output
from skillgrad.cli.arguments import RUNS_FOLDER
from skillgrad.config import load_config
from skillgrad.errors import ConfigError, DataError, SkillError
from skillgrad.records import Skill, SkillFile
from skillgrad.skill import load_skill
from skillgrad.store import RunView, StepView, read_events, read_run
from skillgrad.store.views import JOURNAL
from skillgrad.summary import Summary

RUNS = Path(RUNS_FOLDER)

_DOCUMENT = "SKILL.md"


class NamedSkill(NamedTuple):
    """A skill with the name it goes by."""

    label: str
    """As in `best (step 4)`, or a path."""
    skill: Skill
    step: int | None = None
    """After which step of its run it was the skill; 0 for the initial one, None for a path."""
    run: RunView | None = None


class Decision(NamedTuple):
    """A step or slow update of a run."""

    name: str
    """As in `3` or `slow update 1`."""
    step: int
    """The step it belongs to: its own number, or that of the last step before it."""
    view: StepView


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    return (path / JOURNAL).exists()


def find_run(name: str) -> RunView:
    """A run by its path, else by its name in ./runs.

    Raises:
        DataError: there is no such run, or one of its files is damaged.
    """
    path = Path(name)
    known = path.is_dir() or os.sep in name
    return read_run(path if known and not is_run(RUNS / name) else RUNS / name)


def find_skill(text: str) -> NamedSkill:
    """A skill by its path, or as `RUN:initial`, `RUN:best` or `RUN:STEP`.

    Raises:
        SkillError: the path holds no skill.
        DataError: there is no such run or step.
    """
    run, colon, which = text.rpartition(":")
    if colon and not os.path.lexists(text) and (which in ("initial", "best") or which.isdecimal()):
        return skill_of(find_run(run), which)._replace(label=text)
    if not Path(text).exists() and is_run(RUNS / text):
        raise SkillError(f"{text!r} is a run, not a skill", hint=f"did you mean {text + ':best'!r}?")
    return NamedSkill(text, load_skill(text))


def skill_of(run: RunView, which: str) -> NamedSkill:
    """A skill of a run: `initial`, `best` or the number of a step; else the path of any skill.

    Raises:
        SkillError: the path holds no skill.
        DataError: the run has no such step.
    """
    if which == "best":
        text, step = _best(run)
        label = "best" if step is None else f"best (step {step})"
        return NamedSkill(label, _base(run).with_text(text), step, run)
    if which != "initial" and not which.isdecimal():
        return NamedSkill(which, load_skill(which))
    step = 0 if which == "initial" else int(which)
    name = f"skills/{step:04d}.md"
    if name not in run.skills:
        last = f"its last step so far is {int(Path(run.skills[-1]).stem)}" if run.skills else "no step has begun yet"
        raise DataError(f"run {run.name!r} has no skill of step {step}", hint=f"{last}; 0 is the initial skill")
    return NamedSkill("initial" if step == 0 else f"step {step}", _base(run).with_text(_read(run, name)), step, run)


def planned(run: RunView) -> tuple[int, int] | None:
    """(steps, epochs) of the whole run; None when it was not said."""
    for event in read_events(run.path):
        if event.get("kind") == "run_started":
            steps, epochs = event.get("steps"), event.get("epochs")
            return (steps, epochs) if isinstance(steps, int) and isinstance(epochs, int) else None
    return None


def decisions(run: RunView) -> Iterator[Decision]:
    """Steps, with the slow update of each epoch behind the epoch's last step."""
    plan = planned(run)
    size = None if plan is None else plan[0] // plan[1]
    updates = {step.number: step for step in run.epochs if step.action is not None}
    for step in run.steps:
        yield Decision(str(step.number), step.number, step)
        if size is not None and step.number % size == 0 and step.number // size in updates:
            epoch = step.number // size
            yield Decision(f"slow update {epoch}", step.number, updates.pop(epoch))
    yield from (Decision(f"slow update {number}", len(run.steps), step) for number, step in updates.items())


def resume_command(run: RunView) -> str | None:
    """The command that goes on with a run; None when it cannot be told from the run folder, or is not needed."""
    if not run.resumable:
        return None
    path = Path(run.path) / "config.yaml"
    try:
        config = load_config(path)
    except ConfigError:
        return None
    if config.env.name == "dataset" and not config.env.model_extra:
        return None  # tasks came from Python
    named = Path(config.run.folder) / config.run.name
    return f"{output.program()} train {path}" if os.path.realpath(named) == os.path.realpath(run.path) else None


def summary_of(run: RunView) -> Summary | None:
    """The summary of a run; None before it has written one.

    Raises:
        DataError: it is damaged.
    """
    if run.summary is None:
        return None
    try:
        return Summary.model_validate(run.summary)
    except ValidationError as error:
        raise DataError(
            f"{str(Path(run.path) / 'summary.json')!r} is damaged: {error.errors()[0]['msg']}",
            hint="train again with the same settings: it is written anew and nothing is paid twice",
        ) from None


def _best(run: RunView) -> tuple[str, int | None]:
    """The text of the best skill so far, and after which step it was the current one."""
    winners = {f"steps/{step.number:04d}": step for step in run.steps if step.best}
    winners |= {f"epochs/{step.number:02d}": step for step in run.epochs if step.best}
    saved = _saved(run)
    if saved is not None and not run.running and not run.resumable:
        text = saved.text
    elif winners:
        # Only a higher score makes a candidate the best skill, so the highest one is the last one.
        place = max(winners, key=lambda place: _or_zero(winners[place].candidate))
        text = _read(run, f"{place}/candidate.md")
    else:
        text = skill_of(run, "initial").skill.text
    steps = (int(Path(name).stem) for name in run.skills if _read(run, name) == text)
    return text, next(steps, None)


def _or_zero(score: float | None) -> float:
    return 0.0 if score is None else score


def _base(run: RunView) -> Skill:
    """A skill with the run's name and files, which no step changes."""
    saved = _saved(run)
    if saved is not None:
        return saved
    path = Path(run.path) / "config.yaml"
    try:
        return load_skill(load_config(path, environ={}).skill.path)
    except (ConfigError, SkillError):
        return Skill(text="")  # it came from Python, or is not there any more


def _saved(run: RunView) -> Skill | None:
    """The skill in `best/`, as the run last left it, however incomplete its front matter is."""
    document = next(iter(sorted(Path(run.path).glob(f"best/*/{_DOCUMENT}"))), None)
    if document is None:
        return None
    folder = document.parent
    files = {
        path.relative_to(folder).as_posix(): _file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path != document
    }
    return Skill(name=folder.name, text=document.read_bytes().decode(), files=files)


def _file(path: Path) -> SkillFile:
    return SkillFile(data=path.read_bytes(), executable=bool(path.stat().st_mode & stat.S_IXUSR))


def _read(run: RunView, name: str) -> str:
    return (Path(run.path) / name).read_bytes().decode()
