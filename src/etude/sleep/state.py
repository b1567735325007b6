"""Where sleep keeps what it must know tomorrow: the ledger, a folder for each night, the tasks of past nights.

    <state>/ledger.json  nights/0001/  nights/0002/ ...  archive.jsonl

Every project has a folder of its own, so that nothing of one reaches the skills of another. All of it is readable by
its owner only: it holds what was said to agents.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from etude.errors import ConfigError, DataError
from etude.files import private_folder, unwritable, write_atomically
from etude.records import Record
from etude.sleep.config import SleepConfig
from etude.user_state import user_state

REPORT = "night.json"
"""The file in the folder of a night that says how it stands."""
R = TypeVar("R", bound=Record)

_LONGEST_SLUG = 40
_NIGHT = re.compile(r"\d{4,9}")


@dataclass(frozen=True)
class Surroundings:
    """What a night depends on in addition to its settings."""

    home: Path = field(default_factory=Path.home)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    """The clock, in UTC."""


class SleepState:
    """The state of one project. Nothing is made before `make`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "ledger.json"
        self.nights = folder / "nights"
        self.archive = folder / "archive.jsonl"
        """Tasks of past nights, one a line."""
        self.pause = folder / "paused"
        """While it is there, no night begins."""

    def make(self) -> None:
        """Make the folders that are missing, and close the state to all but its owner."""
        self._make(self.folder)
        self._make(self.nights)

    def numbers(self) -> list[int]:
        """The nights there are, in order."""
        if not self.nights.is_dir():
            return []
        return sorted(int(entry.name) for entry in self.nights.iterdir() if _NIGHT.fullmatch(entry.name))

    def night(self, number: int) -> Path:
        """The folder of a night, which need not exist."""
        return self.nights / f"{number:04d}"

    def write(self, path: Path, text: str) -> None:
        """Write a file of the state as UTF-8, in one move and for its owner only, and make its folder."""
        self._make(path.parent)
        write_private(path, text)

    def keep(self, path: Path, record: Record) -> None:
        """The same with a record, for `read_kept`."""
        self.write(path, as_json(record))

    def _make(self, folder: Path) -> None:
        try:
            private_folder(folder)
        except OSError as error:
            raise ConfigError(
                f"sleep state {str(folder)!r} cannot be used: {error.strerror}",
                hint="put a folder of your own there, or set XDG_STATE_HOME to another one",
            ) from error


def state_of(config: SleepConfig, around: Surroundings) -> SleepState:
    """Where the project's nights are. Raises ConfigError: there is no such project."""
    project = Path(config.sleep.project)
    if not project.is_dir():
        raise ConfigError(
            f"sleep.project = {config.sleep.project!r} is not a folder", hint="name the project's folder"
        )
    return state_in(project, around)


def state_in(project: Path, around: Surroundings) -> SleepState:
    """The same for a project that exists: in `<name>-<hash of the real path>` in `sleep` in the state of the user."""
    real = os.path.realpath(project)
    slug = re.sub(r"[^a-z0-9]+", "-", os.path.basename(real).lower())[:_LONGEST_SLUG].strip("-") or "root"
    number = hashlib.sha256(os.fsencode(real)).hexdigest()[:10]
    return SleepState(user_state(around.environ, around.home) / "sleep" / f"{slug}-{number}")


def write_private(path: Path, text: str) -> None:
    """Write a file as UTF-8, in one move and for its owner only."""
    try:
        write_atomically(path, text.encode(errors="backslashreplace"), durable=True)
    except OSError as error:
        raise unwritable(path, error) from error


def as_json(record: Record) -> str:
    """What a file of the state holds."""
    return record.model_dump_json(indent=1) + "\n"


def read_kept(path: Path, kind: type[R], hint: str = "restore it, or remove it") -> R | None:
    """A record that an earlier process has kept in the state; None when there is none."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {why_unreadable(error)}", hint=hint) from error


def why_unreadable(error: OSError | ValidationError) -> str:
    """What is wrong with a file of the state, in one line and without what is in the file."""
    if isinstance(error, OSError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]
