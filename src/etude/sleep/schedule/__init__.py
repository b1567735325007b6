"""Nights without anybody there: systemd timers, launchd agents, crontabs."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from etude.errors import EtudeError, InputError, did_you_mean
from etude.sleep.schedule.base import Called, Job, Piece, Run, Scheduler, job_name, program_runner
from etude.sleep.schedule.cron import Cron
from etude.sleep.schedule.launchd import Launchd
from etude.sleep.schedule.systemd import Systemd

__all__ = [
    "SCHEDULERS",
    "Called",
    "Cron",
    "Job",
    "Launchd",
    "Piece",
    "Run",
    "Scheduler",
    "Systemd",
    "Unscheduled",
    "by_hand",
    "job_name",
    "program_runner",
    "schedule",
    "scheduler_for",
    "unschedule",
]

SCHEDULERS: Mapping[str, type[Scheduler]] = {kind.name: kind for kind in (Systemd, Launchd, Cron)}
_PROGRAMS = {"systemd": "systemctl", "launchd": "launchctl", "cron": "crontab"}
_BOOTED = Path("/run/systemd/system")


def scheduler_for(
    job: Job,
    platform: str,
    which: Callable[[str], str | None],
    *,
    wanted: str = "auto",
    booted: Path = _BOOTED,
    needed: bool = True,
) -> type[Scheduler]:
    """The scheduler for a job on this machine: the system's own, else cron.

    Args:
        platform: as in `sys.platform`.
        which: finds a program, as `shutil.which`.
        wanted: `systemd`, `launchd` or `cron`; `auto` takes the first that is there.
        booted: the folder that is there when systemd runs the machine: its programs may be there without it.
        needed: its program has to be there. To only show a job it has not: where none is, it is the first choice.

    Raises:
        InputError: no scheduler has the wanted name; there is none, or not the one that is wanted.
    """
    if wanted != "auto" and wanted not in SCHEDULERS:
        raise InputError(f"unknown scheduler {wanted!r}", hint=did_you_mean(wanted, ["auto", *SCHEDULERS]))
    own = {"darwin": ["launchd"], "linux": ["systemd"] if booted.is_dir() else []}.get(platform, [])
    candidates = [*own, "cron"] if wanted == "auto" else [wanted]
    for name in candidates:
        if which(_PROGRAMS[name]) is not None:
            return SCHEDULERS[name]
    if not needed:
        return SCHEDULERS[candidates[0]]
    missing = " and ".join(_PROGRAMS[name] for name in candidates)
    raise InputError(
        f"no scheduler: {missing} not found",
        hint=f"have this run every night at {job.hour:02}:{job.minute:02}: {by_hand(job)}",
    )


def by_hand(job: Job) -> str:
    """The job as one line for a shell. The values of its variables are for the reader to add."""
    variables = f"PATH={shlex.quote(job.path)} HOME={shlex.quote(job.home)}"
    line = f"cd {shlex.quote(job.folder)} && {variables} {shlex.join(job.command)} >> {shlex.quote(job.log)} 2>&1"
    return f"{line}  # and set {', '.join(job.variables)}" if job.variables else line


def schedule(job: Job, scheduler: Scheduler) -> None:
    """Install a job, and take it out of the other schedulers: one job has one script.

    Raises:
        InputError: as `Scheduler.install`.
        EtudeError: as `Scheduler.install`; another scheduler has the job, and its program refused.
    """
    scheduler.install(job)
    for kind in SCHEDULERS.values():
        other = kind(scheduler.jobs, scheduler.home, scheduler.environ, scheduler.run)
        if other.name != scheduler.name and _has(other, job.name):
            other.withdraw(job.name)


class Unscheduled(NamedTuple):
    """What was removed of a job."""

    schedulers: tuple[str, ...]
    """Names of those that had it."""
    files: tuple[Path, ...]
    """Its script and the values of its variables."""


def unschedule(
    name: str, jobs: Path, home: Path, environ: Mapping[str, str], run: Run | None = None, *, only: str | None = None
) -> Unscheduled:
    """Remove a job from all schedulers, or from the one that is named. Its files go unless another one still has it,
    also those that are left of a job that was taken out by hand: there may be a key in them.

    Raises:
        InputError: no job can have that name.
        EtudeError: a program of the system refused. What could be removed is gone even so.
    """
    removed: list[str] = []
    failed: EtudeError | None = None
    kept = False
    there = [kind(jobs, home, environ, run) for kind in SCHEDULERS.values()]
    for one in there:
        if only not in (None, one.name):
            kept = kept or _has(one, name)
            continue
        try:
            removed += [one.name] if one.withdraw(name) else []
        except EtudeError as error:
            failed = failed or error
    files = () if kept else there[0].delete_files(name)
    if failed is not None:
        gone = [*removed, *map(str, files)]
        raise EtudeError(f"{failed.message}; removed: {', '.join(gone) or 'nothing'}", hint=failed.hint) from failed
    return Unscheduled(tuple(removed), files)


def _has(scheduler: Scheduler, name: str) -> bool:
    """Whether a scheduler has the job; one that cannot be asked has none."""
    try:
        return name in scheduler.installed()
    except EtudeError:
        return False
