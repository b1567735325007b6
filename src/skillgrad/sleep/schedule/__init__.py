"""Nights without anybody there: systemd timers, launchd agents, crontabs."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from skillgrad.errors import InputError, did_you_mean
from skillgrad.sleep.schedule.base import Called, Job, Piece, Run, Scheduler, job_name, program_runner
from skillgrad.sleep.schedule.cron import Cron
from skillgrad.sleep.schedule.launchd import Launchd
from skillgrad.sleep.schedule.systemd import Systemd

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
    "by_hand",
    "job_name",
    "program_runner",
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
) -> type[Scheduler]:
    """The scheduler for a job on this machine: the system's own, else cron.

    Args:
        platform: as in `sys.platform`.
        which: finds a program, as `shutil.which`.
        wanted: `systemd`, `launchd` or `cron`; `auto` takes the first that is there.
        booted: the folder that is there when systemd runs the machine: its programs may be there without it.

    Raises:
        InputError: there is none, or not the one that is wanted.
    """
    if wanted != "auto" and wanted not in SCHEDULERS:
        raise InputError(f"unknown scheduler {wanted!r}", hint=did_you_mean(wanted, ["auto", *SCHEDULERS]))
    own = {"darwin": ["launchd"], "linux": ["systemd"] if booted.is_dir() else []}.get(platform, [])
    candidates = [*own, "cron"] if wanted == "auto" else [wanted]
    for name in candidates:
        if which(_PROGRAMS[name]) is not None:
            return SCHEDULERS[name]
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


def unschedule(
    name: str, jobs: Path, home: Path, environ: Mapping[str, str], run: Run | None = None
) -> tuple[str, ...]:
    """Remove a job from whichever schedulers have it; their names, none when it was nowhere.

    Raises:
        SkillgradError: a program of the system refused.
    """
    there = [kind(jobs, home, environ, run) for kind in SCHEDULERS.values()]
    return tuple(scheduler.name for scheduler in there if name in scheduler.installed() and scheduler.remove(name))
