"""A night that nobody watches: it waits for the network, and says at the next command how it ended."""

import argparse
import os
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import elsewhere
from etude.cli.sleep.verbs import DEFAULT_SLEEP_CONFIG
from etude.cli.terminal import output
from etude.cli.terminal.news import news_folder
from etude.errors import OutageStop
from etude.files import private_folder, write_atomically
from etude.sleep.page import page
from etude.sleep.report import NightReport
from etude.sleep.schedule import job_name

T = TypeVar("T")

WAITS = (5, 10, 20, 40, *[60] * 5)
"""Minutes between tries: six hours and a quarter in all. The next night is a day later."""


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
        text, verb = page(find_nights(args).night(report.night))[0], "show"
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
