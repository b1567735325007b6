"""Agents of launchd, on macOS."""

import os
import plistlib
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from skillgrad.sleep.schedule.base import MARK, Job, Piece, Run, Scheduler

__all__ = ["Launchd"]


class Launchd(Scheduler):
    """A property list for each job, in `~/Library/LaunchAgents`.

    Args:
        user: the number of the user whose session starts the jobs; this user's by default.
    """

    name: ClassVar[str] = "launchd"
    note: ClassVar[str] = (
        "a night that the computer slept through is caught up when it wakes; it runs while you are logged in"
    )

    def __init__(
        self,
        jobs: Path,
        home: Path,
        environ: Mapping[str, str],
        run: Run | None = None,
        *,
        user: int | None = None,
    ) -> None:
        super().__init__(jobs, home, environ, run)
        self._domain = f"gui/{os.getuid() if user is None else user}"

    @property
    def agents(self) -> Path:
        """The folder of the user's agents."""
        return self.home / "Library" / "LaunchAgents"

    def installed(self) -> tuple[str, ...]:
        found = self.agents.glob(f"{MARK}*.plist")
        return tuple(sorted(path.name.removeprefix(MARK).removesuffix(".plist") for path in found))

    def _entries(self, job: Job) -> tuple[Piece, ...]:
        agent = {
            "Label": MARK + job.name,
            "ProgramArguments": ["/bin/sh", str(self.script_file(job.name))],
            "StartCalendarInterval": {"Hour": job.hour, "Minute": job.minute},
            "ProcessType": "Background",
        }
        return (Piece(where=str(self._list(job.name)), text=plistlib.dumps(agent).decode()),)

    def _activate(self, job: Job, entries: tuple[Piece, ...]) -> None:
        self._leave(job.name)  # an agent that is there already would be an error
        self.call("launchctl", "bootstrap", self._domain, str(self._list(job.name)))

    def _deactivate(self, name: str) -> None:
        self._leave(name)
        self._list(name).unlink()

    def _leave(self, name: str) -> None:
        # It fails where the agent is not loaded, which is what is wanted.
        self.run(("launchctl", "bootout", f"{self._domain}/{MARK}{name}"), b"")

    def _list(self, name: str) -> Path:
        return self.agents / f"{MARK}{name}.plist"
