"""Runs and skills by the names that people type."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from etude.cli.parsing.arguments import RUNS_FOLDER
from etude.cli.terminal import output
from etude.config import load_config
from etude.errors import ConfigError, DataError, SkillError
from etude.readable import some
from etude.records import Skill
from etude.records.provenance import Provenance
from etude.skill import load_skill
from etude.skill.folder import DESCRIBED, PROVENANCE, best_skill, has_provenance, place_of, skills_in
from etude.skill.parts import as_trained
from etude.store import RunView, read_run, run_names
from etude.store.projections.runs import decisions, reached_limit, trains_descriptions
from etude.store.views import JOURNAL, is_run, read_view, runs_in, skill_text, trained_in

RUNS = Path(RUNS_FOLDER)
_SHOWN = 3
"""Most skills that an error names."""
NONE = "none"
"""What is typed for no skill."""


class NamedSkill(NamedTuple):
    """A skill with the name it goes by."""

    label: str
    """As in `best (step 4)`, or a path."""
    skill: Skill
    step: int | None = None
    """After which step of its run it was the skill; 0 for the initial one, None for a path."""
    run: RunView | None = None

    @property
    def trained(self) -> bool:
        """Whether training tasks chose its lines."""
        return bool(self.step) or has_provenance(Path(self.label))


def note_choice(skills: Iterable[NamedSkill], split: str) -> None:
    """Say so where tasks that a skill was chosen by are to judge it."""
    if split in ("train", "val") and any(skill.trained for skill in skills):
        output.note(
            f"a trained skill does better on {split} tasks than on others, since such had a part in its choice: "
            "only --split test says what it is worth on tasks like these"
        )


def names_run(text: str) -> bool:
    """Whether that is the path of a run, or the name of one in ./runs."""
    return bool(text) and is_run(_place(text))


def find_run(name: str) -> RunView:
    """A run by its path, else by its name in ./runs.
    Raises DataError: there is no such run, or one of its files is damaged."""
    place = _place(name)
    if names_run(name):
        return read_run(place)
    run, colon, _ = name.rpartition(":")
    if colon and names_run(run):
        raise DataError(
            f"{name!r} is a skill of a run, not a run",
            hint=f"give {run!r} alone; `{output.program()} diff {run}` compares two of its skills",
        )
    raise DataError(f"there is no run in {str(place)!r}", hint=runs_in(place, place / RUNS, place.parent, RUNS))


def need_trained(run: RunView) -> RunView:
    """The run. Raises DataError: nothing was trained in its folder, and what to read instead."""
    if run.evaluations_only:
        pruned = Path(run.path) / "pruned/prune.json"
        said = f"it pruned a skill: {str(pruned)!r} says why each block went or stays"
        raise DataError(
            f"{run.path!r} holds evaluations only, no skill",
            hint=said if pruned.exists() else "skills are in the folders of runs that were trained",
        )
    return run


def last_run() -> str:
    """The run in ./runs that changed last, of those that were trained if any was. Raises DataError: there is none."""
    names = [name for name in run_names(RUNS) if trained_in(RUNS / name)] or run_names(RUNS)
    if not names:
        raise DataError(f"there is no run in {str(RUNS)!r}", hint="give the path of a run")
    journals = ((RUNS / name / JOURNAL, name) for name in names)
    return max((path.stat().st_mtime if path.exists() else 0.0, name) for path, name in journals)[1]


def find_arm(text: str) -> NamedSkill:
    """As `find_skill`, or no skill by the word `none`."""
    return without_skill() if text == NONE else find_skill(text)


def without_skill() -> NamedSkill:
    """No skill, by the name it has in a table."""
    return NamedSkill("no skill", load_skill(None))


def find_skill(text: str) -> NamedSkill:
    """A skill by its path, or as `RUN:initial`, `RUN:best` or `RUN:STEP`.
    Raises SkillError: the path holds no skill; DataError: there is no such run or step."""
    if os.path.lexists(text) and not is_run(Path(text)):
        return NamedSkill(text, load_skill(text))
    if names_run(text):
        raise SkillError(f"{text!r} is a run, not a skill", hint=f"did you mean {text + ':best'!r}?")
    run, colon, which = text.rpartition(":")
    if colon and _is_which(which):
        return trained_skill(find_run(run), which)._replace(label=text)
    raise SkillError(
        f"skill {text!r} does not exist",
        hint=f"give the path of a skill, or RUN:best, RUN:initial or RUN:STEP; {runs_in(RUNS)}",
    )


def trained_skill(run: RunView, which: str) -> NamedSkill:
    """As `skill_of`, to be used as a skill. Raises SkillError, too: the run trained descriptions, which are none."""
    return skill_of(of_skill(run), which)


def of_skill(run: RunView) -> RunView:
    """The run. Raises SkillError: it trained descriptions, no skill."""
    if trains_descriptions(run):
        places = some([str(place) for place in skills_in(Path(run.path) / DESCRIBED)], _SHOWN)
        raise SkillError(
            f"run {run.name!r} trained descriptions, no skill",
            hint=f"skills with them are in {places}; `etude trigger` measures them" if places else "none was changed",
        )
    return run


def skill_of(run: RunView, which: str) -> NamedSkill:
    """A skill of a run: `initial`, `best` or the number of a step; else the path of any skill.
    Raises SkillError: the path holds no skill; DataError: the run has no such step."""
    last = f"its last step so far is {int(Path(run.skills[-1]).stem)}" if run.skills else "no step has begun yet"
    if not _is_which(which):
        if not os.path.lexists(which):
            known = "initial, best, the number of a step, or the path of a skill"
            raise SkillError(f"run {run.name!r} has no skill {which!r}", hint=f"give {known}; {last}")
        return NamedSkill(which, load_skill(which))
    need_trained(run)
    if which == "best":
        text, step = _best(run)
        label = "best" if step is None else f"best (step {step})"
        return NamedSkill(label, _base(run).with_text(text), step, run)
    step = 0 if which == "initial" else int(which)
    name = f"skills/{step:04d}.md"
    if name not in run.skills:
        raise DataError(f"run {run.name!r} has no skill of step {step}", hint=f"{last}; 0 is the initial skill")
    return NamedSkill("initial" if step == 0 else f"step {step}", _base(run).with_text(_read(run, name)), step, run)


def carried_by(skill: str) -> Provenance | None:
    """The provenance next to a skill that was exported or pruned. Raises DataError: it is damaged."""
    path = Path(skill)
    return read_view(place_of(path) / PROVENANCE, Provenance) if path.exists() else None


def here(run: RunView) -> list[tuple[str, str]]:
    """Flags that name the folder of a run: it may have been moved since its settings were written."""
    path = Path(run.path)
    path = path if path.name not in ("", "..") else path.resolve()
    return [("run.folder", json.dumps(str(path.parent))), ("run.name", json.dumps(path.name))]


def larger(stopped: str | None) -> str:
    """What to say between `resume` and a command that repeats a limit: nothing, or which one to raise."""
    limit = reached_limit(stopped)
    return f" (with a larger --{limit})" if limit else ""


def _place(name: str) -> Path:
    path = Path(name)
    known = name and (path.is_dir() or os.sep in name)
    return path if known and not is_run(RUNS / name) else RUNS / name


def _is_which(text: str) -> bool:
    return text in ("initial", "best") or text.isdecimal()


def _best(run: RunView) -> tuple[str, int | None]:
    """The text of the best skill so far, and after which step it was the current one."""
    winners = [decision.place for decision in decisions(run) if decision.view.best]
    saved = best_skill(Path(run.path))
    if saved is not None and not run.running and not run.resumable:
        text = saved.text
    elif winners:
        text = _read(run, f"{winners[-1]}/candidate.md")
    else:
        text = skill_of(run, "initial").skill.text
    steps = (int(Path(name).stem) for name in run.skills if _read(run, name) == text)
    return text, next(steps, None)


def _base(run: RunView) -> Skill:
    """A skill with the run's name and files, which no step changes."""
    saved = best_skill(Path(run.path))
    if saved is not None:
        return saved
    path = Path(run.path) / "config.yaml"
    try:
        return as_trained(path.parent, load_skill(load_config(path, environ={}).skill.path))
    except (ConfigError, SkillError):
        return Skill(text="")  # it came from Python, or is not there any more


def _read(run: RunView, name: str) -> str:
    return skill_text(Path(run.path) / name)
