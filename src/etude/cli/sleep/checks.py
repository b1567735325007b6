"""What `doctor` checks of the settings of a night."""

import os
from collections.abc import Iterator
from pathlib import Path

from etude.cli.doctor.checks import Check, check_parts, unwritable
from etude.cli.sleep.schedule import machine_of
from etude.cli.sleep.text import paused_since, task_notes
from etude.errors import ConfigError, EtudeError
from etude.sleep.config import SleepConfig
from etude.sleep.improve.documents import check_tasks
from etude.sleep.pause import paused
from etude.sleep.places import document_paths, read_document
from etude.sleep.schedule import installed, job_name
from etude.sleep.state import SleepState
from etude.sleep.tasks.files import replay
from etude.sleep.tasks.gather import Surroundings, from_file, sources_of, state_of

__all__ = ["check_night"]

_EACH = "`etude sleep harvest` shows each source"


def check_night(config: SleepConfig) -> list[Check]:
    """Everything that the settings of a night name: models, tasks or transcripts, documents, the state folder, a
    pause and the schedule. Asks no model and writes nothing."""
    around = Surroundings()
    checks = check_parts(config)
    if not Path(config.sleep.project).is_dir():
        error = ConfigError(
            f"sleep.project = {config.sleep.project!r} is no folder", hint="name the project's folder"
        )
        return [*checks, Check.wrong("project", error)]
    checks += [_tasks(config)] if config.sleep.tasks is not None else _transcripts(config, around)
    return [*checks, *_documents(config), *_state(config, around), _schedule(config, around)]


def _tasks(config: SleepConfig) -> Check:
    try:
        tasks = replay(Path(str(config.sleep.tasks))).tasks
        divided = from_file(config).tasks
        check_tasks(config, divided)
    except EtudeError as error:
        return Check.wrong("tasks", error)
    if notes := task_notes(divided):
        return Check.note("tasks", "\n".join(notes), f"mend {config.sleep.tasks}")
    return Check.ok("tasks", f"{len(tasks)} in {config.sleep.tasks}")


def _transcripts(config: SleepConfig, around: Surroundings) -> Iterator[Check]:
    """How many sessions there are, of any age and project."""
    home, environ = around.transcripts(config.sleep.home)
    try:
        there = [(source, source.find(home, environ)) for source in sources_of(config)]
    except EtudeError as error:
        yield Check.wrong("transcripts", error)
        return
    except OSError as error:
        yield Check.note("transcripts", f"they cannot be read: {error}", _EACH)
        return
    for source, each in [(source, each) for source, some in there for each in some if not each.revision]:
        yield Check.note("transcripts", f"{each.path!r}: {source.read(each).problem}", _EACH)
    counts = {source.name: sum(bool(each.revision) for each in some) for source, some in there}
    found = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    if found:
        yield Check.ok("transcripts", f"sessions in {str(home)!r}: {found}")
    lacking = [name for name, count in counts.items() if not count]
    if not found or (config.sleep.sources and lacking):
        text = f"no session of {', '.join(lacking)} in {str(home)!r}"
        yield Check.note("transcripts", text, _EACH)


def _documents(config: SleepConfig) -> Iterator[Check]:
    """The skill and the memory file that a night would improve; both are read in any case."""
    named = [Path(path) for path in config.sleep.named_paths]
    for kind, path in document_paths(config.sleep).items():
        try:
            document = read_document(path, kind, Path(config.sleep.project), named)
        except EtudeError as error:
            yield Check.wrong(kind, error)
            continue
        size = "not there yet" if document.data is None else f"{len(document.text):,} characters"
        yield Check.ok(kind, f"{path}: {size}")


def _state(config: SleepConfig, around: Surroundings) -> list[Check]:
    try:
        state = state_of(config, around)
        state.check()
    except EtudeError as error:
        return [Check.wrong("state", error)]
    nights = len(state.numbers())
    there = Check.ok("state", f"{state.folder}: {nights} night{'' if nights == 1 else 's'}")
    looked = unwritable("state", state.folder, "set sleep.state to another folder") or [there]
    return [*looked, *_pause(state, around)]


def _pause(state: SleepState, around: Surroundings) -> Iterator[Check]:
    """A pause that holds: no night begins while it does."""
    try:
        note = paused(state, around.now())
    except EtudeError as error:
        yield Check.wrong("pause", error)
        return
    if note is not None:
        yield Check.note("pause", paused_since(note), "`etude sleep resume` ends it")


def _schedule(config: SleepConfig, around: Surroundings) -> Check:
    there = installed(job_name(Path(os.path.realpath(config.sleep.project))), machine_of(around))
    if there:
        return Check.ok("schedule", f"every night by {' and '.join(there)}")
    return Check.note("schedule", "nights are not scheduled", "`etude sleep schedule` does it")
