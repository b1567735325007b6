"""Agents of launchd, on macOS."""

import os
import plistlib
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from etude.sleep.schedule.base import CATCH_UP, MARK, Job, Piece, Run, Scheduler

__all__ = ["Launchd"]


_LATER = f".{CATCH_UP}"
"""Behind the name of a job, in which there is no dot: the agent that catches up."""


class Launchd(Scheduler):
    """Two property lists for each job, in `~/Library/LaunchAgents`: one for its time, one that catches up when the
    user logs in.

    Args:
        user: the number of the user whose session starts the jobs; this user's by default.
    """

    name: ClassVar[str] = "launchd"
    note: ClassVar[str] = (
        "a night that the computer slept through is caught up when it wakes, one that it was off for when you log "
        "in, unless one ran in the 24 hours before; it runs while you are logged in"
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
        found = (path.name.removeprefix(MARK).removesuffix(".plist") for path in self.agents.glob(f"{MARK}*.plist"))
        return tuple(sorted(name for name in found if not name.endswith(_LATER)))

    def _entries(self, job: Job) -> tuple[Piece, ...]:
        command = ["/bin/sh", str(self.script_file(job.name))]
        starts: dict[str, dict[str, object]] = {
            job.name: {
                "ProgramArguments": command,
                "StartCalendarInterval": {"Hour": job.hour, "Minute": job.minute},
            },
            job.name + _LATER: {"ProgramArguments": [*command, CATCH_UP], "RunAtLoad": True},
        }
        return tuple(
            Piece(
                where=str(self._list(name)),
                text=plistlib.dumps({"Label": MARK + name, "ProcessType": "Background", **start}).decode(),
            )
            for name, start in starts.items()
        )

    def _activate(self, job: Job, entries: tuple[Piece, ...]) -> None:
        self._leave(job.name)  # an agent that is there already would be an error
        # The agent that catches up is loaded by the next login: nothing is to be caught up yet.
        self.call("launchctl", "bootstrap", self._domain, str(self._list(job.name)))

    def _deactivate(self, name: str) -> None:
        for one in (name, name + _LATER):
            self._leave(one)
            self._list(one).unlink(missing_ok=True)

    def _leave(self, name: str) -> None:
        # It fails where the agent is not loaded, which is what is wanted.
        self.run(("launchctl", "bootout", f"{self._domain}/{MARK}{name}"), b"")

    def _list(self, name: str) -> Path:
        return self.agents / f"{MARK}{name}.plist"
