"""Timers of systemd, in the user's own service manager."""

import re
from pathlib import Path
from typing import ClassVar

from etude.sleep.schedule.base import MARK, Job, Piece, Scheduler

__all__ = ["Systemd"]

_WANTS = "timers.target.wants"


class Systemd(Scheduler):
    """A timer and a service for each job, in `$XDG_CONFIG_HOME/systemd/user`."""

    name: ClassVar[str] = "systemd"
    note: ClassVar[str] = (
        "a night that was missed is caught up; timers run while you are logged in, or always after "
        "`loginctl enable-linger`"
    )

    @property
    def units(self) -> Path:
        """The folder of the user's units."""
        given = self.environ.get("XDG_CONFIG_HOME", "")
        return (Path(given) if given.startswith("/") else self.home / ".config") / "systemd" / "user"

    def installed(self) -> tuple[str, ...]:
        found = self.units.glob(f"{MARK}*.timer")
        return tuple(sorted(path.name.removeprefix(MARK).removesuffix(".timer") for path in found))

    def _entries(self, job: Job) -> tuple[Piece, ...]:
        service = [
            "[Unit]",
            f"Description=A night of etude sleep ({job.name})",
            "",
            "[Service]",
            "Type=oneshot",
            f"ExecStart=/bin/sh {_word(str(self.script_file(job.name)))}",
        ]
        timer = [
            "[Unit]",
            f"Description=Every night: etude sleep ({job.name})",
            "",
            "[Timer]",
            f"OnCalendar=*-*-* {job.hour:02}:{job.minute:02}:00",
            "Persistent=true",
            "",
            "[Install]",
            "WantedBy=timers.target",
        ]
        return tuple(
            Piece(where=str(self._unit(job.name, kind)), text="\n".join(lines) + "\n")
            for kind, lines in (("service", service), ("timer", timer))
        )

    def _activate(self, job: Job, entries: tuple[Piece, ...]) -> None:
        self.call("systemctl", "--user", "daemon-reload")
        self.call("systemctl", "--user", "enable", "--now", f"{MARK}{job.name}.timer")

    def _deactivate(self, name: str) -> None:
        try:
            self.call("systemctl", "--user", "disable", "--now", f"{MARK}{name}.timer")
        finally:
            # The link is what `enable` made: it stays where `disable` could not be called.
            link = self.units / _WANTS / f"{MARK}{name}.timer"
            for path in (self._unit(name, "timer"), self._unit(name, "service"), link):
                path.unlink(missing_ok=True)
        self.call("systemctl", "--user", "daemon-reload")

    def _unit(self, name: str, kind: str) -> Path:
        return self.units / f"{MARK}{name}.{kind}"


def _word(word: str) -> str:
    """A word of a command as systemd reads it: quotes, and neither specifiers nor variables."""
    escaped = re.sub(r'(["\\])', r"\\\1", word).replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
