"""What `doctor` checks of the settings of a night."""

import os
from pathlib import Path

from etude.cli.doctor.checks import check_parts, check_writable
from etude.cli.doctor.findings import DoctorReport
from etude.cli.sleep.text import pause_line, task_notes
from etude.errors import ConfigError
from etude.sleep.config import SleepConfig
from etude.sleep.improve.groups import check_tasks
from etude.sleep.live_documents import document_paths, read_document
from etude.sleep.pause import paused
from etude.sleep.schedule import installed, job_name
from etude.sleep.state import Surroundings, state_of
from etude.sleep.tasks.files import replay
from etude.sleep.tasks.gather import from_file, sources_of

_EACH = "`etude sleep show --sessions` shows each source"


def check_night(config: SleepConfig, found: DoctorReport) -> None:
    """Everything that the settings of a night name: models, tasks or transcripts, documents, the state folder, a
    pause and the schedule. Asks no model and writes nothing."""
    around, project = Surroundings(), Path(config.sleep.project)
    check_parts(config, found)
    with found.checking("project"):
        if not project.is_dir():
            text = f"sleep.project = {config.sleep.project!r} is not a folder"
            raise ConfigError(text, hint="name the project's folder")
        with found.checking("transcripts" if config.sleep.tasks is None else "tasks"):
            (_transcripts if config.sleep.tasks is None else _tasks)(config, around, found)
        named = [Path(path) for path in config.sleep.named_paths]
        for kind, path in document_paths(config.sleep, around).items():
            with found.checking(kind):
                document = read_document(path, kind, project, named)
                size = "not there yet" if document.data is None else f"{len(document.text):,} characters"
                found.ok(kind, f"{path}: {size}")
        with found.checking("state"):
            _state(config, around, found)
        if installed(job_name(Path(os.path.realpath(project)))):
            found.ok("schedule", "every night by cron")
        else:
            found.note("schedule", "nights are not scheduled", "`etude sleep schedule` schedules them")


def _tasks(config: SleepConfig, around: Surroundings, found: DoctorReport) -> None:
    tasks = replay(Path(str(config.sleep.tasks))).tasks
    divided = from_file(config).tasks
    check_tasks(config, divided, around)
    if notes := task_notes(divided):
        found.note("tasks", "\n".join(notes), f"edit {config.sleep.tasks}")
    else:
        found.ok("tasks", f"{len(tasks)} in {config.sleep.tasks}")


def _transcripts(config: SleepConfig, around: Surroundings, found: DoctorReport) -> None:
    """How many sessions there are, of any age and project."""
    shown: list[str] = []
    lacking: list[str] = []
    for source in sources_of(config):
        try:
            there = source.find(around.home, around.environ)
        except OSError as error:
            found.note("transcripts", f"{source.name}: they cannot be read: {error}", _EACH)
            continue
        for each in there:
            if not each.revision:
                found.note("transcripts", f"{each.path!r}: {source.read(each).problem}", _EACH)
        count = sum(bool(each.revision) for each in there)
        (shown if count else lacking).append(f"{source.name} {count:,}" if count else source.name)
    if shown:
        found.ok("transcripts", f"sessions in {str(around.home)!r}: {', '.join(shown)}")
    if lacking and (not shown or config.sleep.sources):
        found.note("transcripts", f"no session of {', '.join(lacking)} in {str(around.home)!r}", _EACH)


def _state(config: SleepConfig, around: Surroundings, found: DoctorReport) -> None:
    state = state_of(config, around)
    state.check()
    check_writable(state.folder, "set sleep.state to another folder")
    nights = len(state.numbers())
    found.ok("state", f"{state.folder}: {nights} night{'' if nights == 1 else 's'}")
    since = paused(state)
    if since is not None:
        found.note("pause", pause_line(since), "`etude sleep schedule --resume` ends it")
