"""A new project: where it may be written, and what is said about it."""

import os
import re
import shlex
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.scaffold.columns import Columns
from etude.cli.scaffold.look import TaskPreview, as_lines
from etude.cli.terminal import output
from etude.config import load_config
from etude.errors import ConfigError
from etude.models import build_model
from etude.records import Split


@dataclass(frozen=True)
class Project:
    """What was found and written."""

    config: Path
    skill: Path | None
    tasks: Mapping[Split, int]
    columns: Columns
    notes: Sequence[str]
    wrote: Sequence[Path]
    sampled: bool = False
    """There are more tasks than are used."""
    not_carried: Sequence[str] = ()
    """Settings of another program that were left out."""
    unused: Sequence[str] = ()
    """Columns that neither the agent nor the scorer sees."""
    built: str = ""
    """What tasks were built from; empty where columns are used as they are."""
    first: Sequence[TaskPreview] = ()
    """The first tasks, as they are asked and scored."""


def check_free(config: Path, force: bool) -> None:
    """Make sure that no project is overwritten by mistake.
    Raises ConfigError: there is one, and `force` is not set."""
    if config.exists() and not force:
        raise ConfigError(f"{str(config)!r} exists already", hint="give another --folder, or --force to overwrite it")


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Make the folder of a project; files that cannot be written are a ConfigError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise ConfigError(
            f"the project in {str(folder)!r} cannot be written: {error.strerror}", hint="give another --folder"
        ) from None


def from_folder(path: Path, folder: Path) -> str:
    """Relative where the file and the project are near each other, so that they can be moved together."""
    real = os.path.realpath(path)
    relative = os.path.relpath(real, os.path.realpath(folder))
    return real if relative.startswith(os.path.join("..", "..", "..")) else relative


def plain(name: str) -> str:
    """A file name as it may stand in front matter without quotes."""
    return re.sub(r"[^\w. -]+", "-", name).strip(" -.") or "the"


def report(project: Project, *, as_json: bool) -> None:
    """Say what was found, what was written and what to do next."""
    if not as_json:
        tell_found(project)
    tell_written(project, as_json=as_json)


def tell_found(project: Project) -> None:
    """Say what was found, before anything is written."""
    _print_found(project)
    for text in as_lines(list(project.first)):
        output.line(text)
    if project.not_carried:
        output.line(f"not carried over: {', '.join(project.not_carried)}")
    for note in project.notes:
        output.line(f"note    {note}")


def tell_written(project: Project, *, as_json: bool) -> None:
    """Say what was written and what to do next; as JSON, also what was found."""
    keys = _missing_keys(project.config)
    commands = _next_commands(project)
    columns = project.columns
    if as_json:
        found = {
            "config": str(project.config),
            "skill": None if project.skill is None else str(project.skill),
            "tasks": dict(project.tasks),
            "fields": dict(columns.fields),
            "template": columns.template,
            "built": project.built,
            "unused": list(project.unused),
            "scorer": columns.scorer,
            "first": [asdict(task) for task in project.first],
            "notes": [*project.notes, *keys],
            "next": commands,
        }
        output.json_result(found | ({"not_carried": list(project.not_carried)} if project.not_carried else {}))
        return
    for note in keys:
        output.line(f"note    {note}")
    output.line(f"wrote   {', '.join(map(str, project.wrote))}")
    output.line()
    output.line("next:")
    for command in commands:
        output.line(f"  {command}")


def _missing_keys(config_path: Path) -> list[str]:
    """What the models of the new project still need."""
    config = load_config(config_path)
    notes: list[str] = []
    for section in (config.target, config.optimizer, *([config.judge] if config.judge else [])):
        try:
            build_model(section)
        except ConfigError as error:
            text = f"{section.model}: {error.message}; {error.hint}"
            if text not in notes:
                notes.append(text)
    return notes


def _next_commands(project: Project) -> list[str]:
    """What to do next, what costs nothing first."""
    place = "" if project.config == Path(DEFAULT_CONFIG) else f" {shlex.quote(str(project.config))}"
    if not project.tasks["train"]:
        skill = shlex.quote(str(project.skill or "SKILL"))
        verbs = (f"doctor{place}", f"evaluate{place} --skill {skill}", f"compare none {skill}{place}")
        return [f"{output.program()} {verb}" for verb in verbs]
    simulated = "--target.model simulated:target --optimizer.model simulated:optimizer"
    verbs = (f"doctor{place}", f"train{place} --name dry-run {simulated}", f"plan{place}", f"train{place}")
    return [f"{output.program()} {verb}" for verb in verbs]


def _print_found(project: Project) -> None:
    columns = project.columns
    shown: Sequence[str] = [f"{name} = {column}" for name, column in columns.fields.items()]
    if columns.template:
        shown = [f"input = {columns.template!r}", *shown]
    total = sum(project.tasks.values())
    parts = ", ".join(f"{count} {split}" for split, count in project.tasks.items())
    output.line(f"tasks   {total}: {parts}" + (" (a sample of more)" if project.sampled else ""))
    output.line(f"built   {project.built}" if project.built else f"fields  {', '.join(shown)}")
    if project.unused:
        output.line(f"unused  {', '.join(project.unused)}")
    output.line(f"scorer  {columns.scorer}: {columns.why}")
