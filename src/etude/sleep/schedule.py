"""A night every day, by the scheduler of the system: one line of a crontab, or one timer of systemd or launchd.

The whole job is one shell script that only its owner can read, since it holds the values of variables. The scheduler
only starts it, so quoting and secrets do not concern the scheduler.
"""

import hashlib
import os
import plistlib
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from etude.errors import EtudeError, InputError
from etude.files import write_atomically

__all__ = ["NOTES", "Job", "Machine", "Name", "choose", "install", "installed", "job_name", "remove", "render"]

Name = Literal["systemd", "launchd", "cron"]
_MARK = "etude-sleep-"
NOTES: Mapping[Name, str] = {
    "systemd": "a missed night is caught up; timers run while you are logged in, or always after "
    "`loginctl enable-linger`",
    "launchd": "a night that the computer slept through is caught up when it wakes; it runs while you are logged in",
    "cron": "a night that the computer was off or asleep for is not caught up",
}
"""What a user must know of each scheduler."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SECONDS = 60


class Job(NamedTuple):
    """What is run every night."""

    name: str
    """As from `job_name`."""
    command: tuple[str, ...]
    folder: str
    """Where it is started; absolute."""
    log: str
    """The file that its output is appended to; absolute."""
    variables: Mapping[str, str]
    """Its environment, PATH and HOME included: schedulers have a short one of their own."""
    hour: int
    minute: int


class Machine(NamedTuple):
    """Where jobs are written."""

    jobs: Path
    """The folder of their scripts."""
    home: Path
    environ: Mapping[str, str]

    def script(self, name: str) -> Path:
        """The script of a job."""
        return self.jobs.absolute() / f"{_MARK}{name}.sh"

    def entries(self, name: str, scheduler: Name) -> tuple[Path, ...]:
        """The files that a scheduler reads of a job; none for cron, which has a line in the crontab."""
        given = self.environ.get("XDG_CONFIG_HOME", "")
        units = (Path(given) if given.startswith("/") else self.home / ".config") / "systemd" / "user"
        agents = self.home / "Library" / "LaunchAgents"
        if scheduler == "systemd":
            return units / f"{_MARK}{name}.service", units / f"{_MARK}{name}.timer"
        return (agents / f"{_MARK}{name}.plist",) if scheduler == "launchd" else ()

    def call(self, *argv: str, stdin: bytes = b"") -> bytes:
        """The output of a program of the system.

        Raises:
            EtudeError: it failed.
        """
        environ = {**self.environ, "LC_ALL": "C"}
        try:
            done = subprocess.run(argv, input=stdin, capture_output=True, env=environ, timeout=_SECONDS, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            raise EtudeError(f"{shlex.join(argv)!r} failed: {error}", hint="choose another scheduler") from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip() or "it said nothing"
            raise EtudeError(f"{shlex.join(argv)!r} failed: {said}", hint=f"see whether {argv[0]} works for you")
        return done.stdout


def job_name(project: Path) -> str:
    """The name of a project's job: the name of its folder, and a hash of its path."""
    word = re.sub(r"[^a-z0-9]+", "-", project.name.lower()).strip("-")[:32].strip("-") or "project"
    return f"{word}-{hashlib.sha256(os.fsencode(str(project))).hexdigest()[:8]}"


def choose(platform: str, which: Callable[[str], str | None], booted: Path = Path("/run/systemd/system")) -> Name:
    """The scheduler of this machine: its own, else cron.

    Raises:
        InputError: there is none.
    """
    if platform == "darwin" and which("launchctl") is not None:
        return "launchd"
    if booted.is_dir() and which("systemctl") is not None:
        return "systemd"
    if which("crontab") is not None:
        return "cron"
    raise InputError("no scheduler was found", hint="`--with cron --print` shows what to run every night")


def render(job: Job, scheduler: Name, machine: Machine) -> dict[str, str]:
    """All that is written, by file; `crontab` for its line.

    Raises:
        InputError: a word or a value of a variable cannot be written down.
    """
    script = str(machine.script(job.name))
    for word in (*job.command, job.folder, job.log, script):
        if _CONTROL.search(word):
            raise InputError(f"{word!r} holds control characters or line breaks", hint="rename it, or leave it out")
    for name, value in job.variables.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or _CONTROL.search(value):  # a value may be secret
            raise InputError(f"variable {name!r} cannot be written into a script", hint="leave it out")
    lines = [
        "#!/bin/sh",
        f"# Every night at {job.hour:02}:{job.minute:02}. `etude sleep unschedule` removes it.",
        f"(umask 077; : >> {shlex.quote(job.log)}) || exit 1",
        f"exec >> {shlex.quote(job.log)} 2>&1 < /dev/null",
        f"cd {shlex.quote(job.folder)} || exit 1",
        *(f"export {name}={shlex.quote(value)}" for name, value in job.variables.items()),
        f"exec {shlex.join(job.command)}",
    ]
    places = [str(path) for path in machine.entries(job.name, scheduler)] or ["crontab"]
    return {script: "\n".join(lines) + "\n", **dict(zip(places, _entries(job, scheduler, script), strict=True))}


def _entries(job: Job, scheduler: Name, script: str) -> tuple[str, ...]:
    if scheduler == "cron":
        if "\\" in script:  # each cron reads it in its own way
            raise InputError(f"{script!r} cannot stand in a crontab", hint="set XDG_STATE_HOME to another folder")
        word = shlex.quote(script).replace("%", "\\%")
        return (f"{job.minute} {job.hour} * * * /bin/sh {word} # {_MARK}{job.name}\n",)
    if scheduler == "launchd":
        start = {"Hour": job.hour, "Minute": job.minute}
        entry = {"Label": _MARK + job.name, "ProgramArguments": ["/bin/sh", script], "StartCalendarInterval": start}
        return (plistlib.dumps({**entry, "ProcessType": "Background"}).decode(),)
    word = re.sub(r'(["\\])', r"\\\1", script).replace("%", "%%").replace("$", "$$")
    when = f"OnCalendar=*-*-* {job.hour:02}:{job.minute:02}:00\nPersistent=true"
    about = f"[Unit]\nDescription=A night of etude sleep ({job.name})\n\n"
    service = f'{about}[Service]\nType=oneshot\nExecStart=/bin/sh "{word}"\n'
    return service, f"{about}[Timer]\n{when}\n\n[Install]\nWantedBy=timers.target\n"


def install(job: Job, scheduler: Name, machine: Machine) -> None:
    """Run the job every night, in place of the one of its name, which stays as it was after an error.

    Raises:
        InputError: as `render`.
        EtudeError: a program of the system failed, or a file cannot be written.
    """
    texts = render(job, scheduler, machine)
    line = texts.pop("crontab", "")
    earlier = installed(job.name, machine)
    before = {path: path.read_bytes() if path.exists() else None for path in map(Path, texts)}
    try:
        _write({path: texts[str(path)].encode() for path in before})
        _start(job.name, scheduler, line, machine)
    except (EtudeError, OSError) as error:
        with suppress(EtudeError, OSError):
            _write(before)
            if scheduler not in earlier:
                _stop(job.name, [scheduler], machine)
            elif scheduler != "cron":
                _start(job.name, scheduler, "", machine)
        kept = "; the earlier schedule stays" if earlier else ""
        why, hint = (error.message, error.hint) if isinstance(error, EtudeError) else (error, "fix its permissions")
        raise EtudeError(f"the job cannot be installed: {why}{kept}", hint=hint) from error
    _stop(job.name, [one for one in earlier if one != scheduler], machine)


def _write(files: Mapping[Path, bytes | None]) -> None:
    """Write each file, or remove it where there is nothing to write."""
    for path, data in files.items():
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(path, data, mode=0o700)


def _start(name: str, scheduler: Name, line: str, machine: Machine) -> None:
    """Have a scheduler read the files of a job, or the line of it."""
    if scheduler == "cron":
        _edit_crontab(name, line, machine)
    elif scheduler == "systemd":
        machine.call("systemctl", "--user", "daemon-reload")
        machine.call("systemctl", "--user", "enable", f"{_MARK}{name}.timer")
        machine.call("systemctl", "--user", "restart", f"{_MARK}{name}.timer")
    else:
        with suppress(EtudeError):  # it was not loaded
            machine.call("launchctl", "bootout", f"gui/{os.getuid()}/{_MARK}{name}")
        machine.call("launchctl", "bootstrap", f"gui/{os.getuid()}", *map(str, machine.entries(name, scheduler)))


def installed(name: str, machine: Machine) -> tuple[Name, ...]:
    """The schedulers that have a job. One that cannot be asked has none."""
    found = [one for one in get_args(Name) if any(path.exists() for path in machine.entries(name, one))]
    with suppress(EtudeError):
        found += ["cron"] if _mark(name) in _crontab(machine) else []
    return tuple(found)


def remove(name: str, machine: Machine) -> tuple[Name, ...]:
    """Undo `install`; the schedulers that had the job. The log stays.

    Raises:
        EtudeError: a program of the system failed. What could be removed is gone.
    """
    found = installed(name, machine)
    try:
        _stop(name, found, machine)
    finally:  # the script may hold a key
        machine.script(name).unlink(missing_ok=True)
    return found


def _stop(name: str, schedulers: Sequence[Name], machine: Machine) -> None:
    """Take a job out of schedulers, its script excepted."""
    try:
        if "cron" in schedulers:
            _edit_crontab(name, "", machine)
        if "launchd" in schedulers:
            with suppress(EtudeError):  # it was not loaded
                machine.call("launchctl", "bootout", f"gui/{os.getuid()}/{_MARK}{name}")
        if "systemd" in schedulers:
            machine.call("systemctl", "--user", "disable", "--now", f"{_MARK}{name}.timer")
    finally:
        for path in (path for one in schedulers for path in machine.entries(name, one)):
            path.unlink(missing_ok=True)
            (path.parent / "timers.target.wants" / path.name).unlink(missing_ok=True)  # the link that `enable` made
    if "systemd" in schedulers:
        machine.call("systemctl", "--user", "daemon-reload")


def _mark(name: str) -> bytes:
    """What the line of a job in the crontab ends with."""
    return f" # {_MARK}{name}\n".encode()


def _crontab(machine: Machine) -> bytes:
    try:
        return machine.call("crontab", "-l")
    except EtudeError as error:  # any error but "there is none" must stop: writing would lose what is there
        if re.search("no crontab|no such file|not allowed", error.message, re.IGNORECASE):
            return b""
        raise


def _edit_crontab(name: str, line: str, machine: Machine) -> None:
    """Replace the line of a job. All other lines stay byte for byte."""
    lines = _crontab(machine).splitlines(keepends=True)
    kept = b"".join(one for one in lines if not one.endswith(_mark(name)))
    end = b"\n" if line and kept and not kept.endswith(b"\n") else b""
    machine.call("crontab", "-", stdin=kept + end + line.encode())
