"""A night that nobody watches: it waits for the network, and says how it ended, on the desktop and at the next
command."""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from etude.cli.sleep.text import elsewhere, page_of
from etude.cli.sleep.verbs import DEFAULT_SLEEP_CONFIG
from etude.cli.terminal import output
from etude.cli.terminal.news import news_folder
from etude.errors import OutageStop
from etude.files import private_folder, write_atomically
from etude.sleep.report import NightReport
from etude.sleep.schedule import job_name

T = TypeVar("T")

WAITS = (5, 10, 20, 40, *[60] * 5)
"""Minutes between tries: six hours and a quarter in all. The next night is a day later."""
_SECONDS = 5.0
"""How long the desktop may take."""
_ADDRESS = "DBUS_SESSION_BUS_ADDRESS"
_SCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")


def patiently(work: Callable[[], T], sleep: Callable[[float], None] = time.sleep) -> T:
    """Do the work, and again after a while where no model answers. What is paid for is not paid for again.
    Raises OutageStop: none has answered after the last wait, or one refuses; whatever `work` raises."""
    for minutes in WAITS:
        try:
            return work()
        except OutageStop as stop:
            if not stop.silent:
                raise
            output.note(f"{stop.message}\nthe night waits {minutes} minutes and tries again")
        sleep(60.0 * minutes)
    return work()


def tell_of(report: NightReport | None, args: argparse.Namespace) -> None:
    """Tell a person of a night that brought something, or of one that failed (None). Never fails, and quotes nothing
    that a transcript says."""
    if report is None:
        text, verb = "A night stopped before its end.", "status"
    elif report.status == "proposed":
        about = page_of(report) or [f"Night {report.night} proposes a change."]
        text, verb = about[0], "show"
    elif report.status == "adopted":
        text, verb = f"Night {report.night} changed what your agent reads.", "show"
    else:
        return
    folder = Path(os.path.realpath(os.curdir))
    usual = args.config is not None and Path(args.config) == folder / DEFAULT_SLEEP_CONFIG
    args = argparse.Namespace(**{**vars(args), "config": None if usual else args.config})
    command = f"cd {shlex.quote(str(folder))} && {output.program()} sleep {verb}{elsewhere(args)}"
    with suppress(OSError):
        private_folder(news_folder())
        write_atomically(news_folder() / job_name(folder), f"{text} See: {command}".encode(errors="replace"))
    notify(f"etude: {folder.name}", f"{text} See: etude sleep {verb}")


def notify(title: str, text: str, seconds: float = _SECONDS) -> None:
    """Show a notification where there is a desktop."""
    argv, environ = ["notify-send", "--app-name=etude", title, text], dict[str, str](os.environ)
    if sys.platform == "darwin":
        argv = ["osascript", *(word for line in _SCRIPT for word in ("-e", line)), title, text]
    elif not _session(environ):
        return
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        nothing = subprocess.DEVNULL
        subprocess.run(argv, env=environ, stdin=nothing, stdout=nothing, stderr=nothing, timeout=seconds, check=False)


def _session(environ: dict[str, str]) -> bool:
    """Whether there is a session of the desktop; schedulers do not say where it is, but it has a usual place."""
    bus = Path(f"/run/user/{os.getuid()}/bus")
    if _ADDRESS not in environ and bus.exists():
        environ[_ADDRESS] = f"unix:path={bus}"
    return _ADDRESS in environ
