"""The run folder: its lock, its journal and the views that people read.

    config.yaml  journal.db  events.jsonl  summary.json  initial/<skill>/SKILL.md  best/<skill>/SKILL.md
    skills/0000.md   steps/0003/{rollout,patches,merged,selected,update,gate}.json, candidate.md, candidate.diff
    epochs/02/{slow_update,meta_skill}.json

Everything but the journal can be written again from it.
"""

import errno
import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import Any, Self

from pydantic_core import to_jsonable_python

from etude.config import RunSection
from etude.errors import ConfigError, DataError, InputError, LockedError, StopRun
from etude.events import Event, RunFinished
from etude.files import (
    private_file,
    private_folder,
    remove_leftovers,
    take_lock,
    unversioned_folder,
    unwritable,
    write_atomically,
)
from etude.records import Skill
from etude.redaction.redactor import Redactor
from etude.skill import save_skill
from etude.skill.diff import unified_diff
from etude.skill.folder import INITIAL, initial_skill
from etude.store.journal import SqliteJournal
from etude.store.views import EVENTS, JOURNAL, LOCK, holds_work, lost_journal, missing_run, trained_in

# Views probe the lock for an instant; a run that starts at that instant must not take them for another run.
_GRACE_SECONDS = 0.25
_LINE = json.JSONEncoder(ensure_ascii=False)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No space, no quota, or a file beyond its limit: another folder on the same disk does not help."""
MOST_NAME_BYTES = 100
"""Of the name of a run. File names have 255: `-seed12`, `-seeds.json` and what trackers add come behind it."""


def _now() -> datetime:
    return datetime.now(UTC)


class JsonlSink:
    """Appends events to a file, one JSON line each, with the UTC time as `at`. A line that a killed process left
    unfinished is closed first.

    When the disk fails, it stops writing and keeps the reason in `failure`: an event log must not end a run.
    """

    def __init__(self, path: Path, *, redactor: Redactor | None = None, now: Callable[[], datetime] = _now) -> None:
        self.failure: OSError | None = None
        self._redactor = redactor or Redactor()
        self._now = now
        self._file = open(path, "ab", opener=private_file)  # noqa: SIM115 - `close` closes it
        if self._file.tell() and not _ends_line(path):
            self._write(b"\n")

    def emit(self, event: Event) -> None:
        """Append one event."""
        at = self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = _LINE.encode({"at": at, **event.model_dump(mode="json")})
        self._write(self._redactor.redact_json(line).encode(errors="backslashreplace") + b"\n")

    def close(self) -> None:
        """Close the file; later events are left out."""
        try:
            self._file.close()
        except OSError as error:
            self.failure = error

    def _write(self, data: bytes) -> None:
        if self.failure is not None or self._file.closed:
            return
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            self.failure = error


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


class RunFolder:
    """A run folder, locked for this process. Use `open`, and as a context manager.

    It is for its owner only. What it writes passes its redactor; files are replaced in one move, so that a reader
    never sees half of one.
    """

    def __init__(self, path: Path, *, redactor: Redactor | None = None) -> None:
        """Lock the folder `path`, which exists, and open its journal. Raises LockedError: another process works in
        the folder; IdentityError: the journal has an unknown format version; DataError: the journal is damaged,
        or it is missing or empty beside what a run came to."""
        self.path = path
        self._real = path.resolve()
        self.name = path.name
        self.redactor = redactor or Redactor()
        self._new = False
        with ExitStack() as held:
            in_use = LockedError(
                f"run folder {str(path)!r} is in use by another process",
                hint="wait until that one has ended, or give `run.name` another value",
            )
            held.callback(take_lock(path / LOCK, in_use, wait_seconds=_GRACE_SECONDS).release)
            remove_leftovers(path)
            self._check_journal_is_there()
            self.journal = SqliteJournal(path / JOURNAL, redactor=self.redactor)
            held.callback(self.journal.close)
            self._check_journal_holds_facts()
            self.events = JsonlSink(path / EVENTS, redactor=self.redactor)
            held.callback(self.events.close)
            self._held = held.pop_all()

    @classmethod
    def open(cls, section: RunSection, *, fork: str | None = None, redactor: Redactor | None = None) -> Self:
        """Create or reopen the run folder of a config. `fork` names a run in the same folder: a fresh run starts over
        its facts; a run that has begun already continues from its own. Unless another redactor is given, the secrets
        of this process's environment are kept out of the folder.

        Raises ConfigError: a name is not a plain folder name, or the folder cannot be created or written to;
        DataError: there is no run to fork from; LockedError: another process works in the folder; StopRun: the disk
        is full."""
        folder = Path(section.folder)
        path = folder / plain_name(section.name, "run.name")
        parent = None if fork is None else folder / plain_name(fork, "fork") / JOURNAL
        if parent is not None and parent.parent == path:
            raise ConfigError(
                f"fork = {fork!r} is this run itself: a fork is a new run over its answers",
                hint="give the new one another `run.name`",
            )
        if parent is not None and not parent.exists():
            raise missing_run(parent.parent)
        try:
            new = not path.exists()
            unversioned_folder(folder)
            private_folder(path)
            run = cls(path, redactor=redactor or Redactor(os.environ))
            run._new = new
        except OSError as error:
            if error.errno in _FULL:
                raise unwritable(path, error) from error
            raise ConfigError(
                f"run folder {str(path)!r} cannot be used: {error.strerror}", hint="change `run.folder`"
            ) from error
        try:
            if parent is not None and run.journal.identity is None:
                run.journal.fork_from(parent)
        except BaseException:
            run.close()
            raise
        return run

    def write_json(self, relative: str, value: Any) -> Path:
        """Write JSON data, records in it included; equal values give equal bytes. Raises DataError: `relative` leads
        out of the run folder; StopRun: the file cannot be written, as when the disk is full."""
        text = _pretty(to_jsonable_python(value, context={"view": True}))
        redacted = self.redactor.redact_json(text)
        return self._write(relative, (text if redacted == text else _pretty(json.loads(redacted))) + "\n")

    def write_text(self, relative: str, text: str) -> Path:
        """Write a text as UTF-8. Raises DataError: `relative` leads out of the run folder; StopRun: the file cannot
        be written, as when the disk is full."""
        return self._write(relative, self.redactor.redact(text))

    def write_skill(self, number: int, text: str) -> Path:
        """Write `skills/<number>.md`; 0 is the initial skill."""
        return self._write(f"skills/{number:04d}.md", self.redactor.exact.redact(text))

    def write_candidate(self, place: str, before: str, after: str) -> Path:
        """Write `candidate.md`, and `candidate.diff` against the skill it would replace, to the folder of a step or
        an epoch, as in `steps/0003`."""
        diff = unified_diff(before, after, "current", "candidate")
        self._write(f"{place}/candidate.diff", self.redactor.exact.redact(diff))
        return self._write(f"{place}/candidate.md", self.redactor.exact.redact(after))

    def write_best(self, skill: Skill) -> Path:
        """Write a skill with its files to `best/<skill>/`; returns that folder.
        Raises SkillError: the name of the skill or of a file leads out of that folder."""
        return self._save(skill, "best")

    def keep_initial(self, skill: Skill) -> None:
        """Write the skill that the run begins with to `initial/<skill>/`, once.
        Raises SkillError: as `write_best`."""
        if initial_skill(self.path) is None:
            self._save(skill, INITIAL)

    def _save(self, skill: Skill, place: str) -> Path:
        exact = skill.with_text(self.redactor.exact.redact(skill.text))
        try:
            return save_skill(exact, self.path / place, private=True).parent
        except OSError as error:
            raise unwritable(self.path / place, error) from error

    def close(self) -> None:
        """Close the journal and the event log, and give the folder free. Closing twice does no harm."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if isinstance(error, StopRun) and self.journal.identity is None:  # a run that was trained has a summary
            self.events.emit(RunFinished(stopped=error.message, summary=""))
        # What is refused before anything was done leaves no folder behind that it has made.
        refused = kind is not None and issubclass(kind, InputError) and self._new
        if refused and self.journal.identity is None and not self.journal.counts():
            rmtree(self.path, ignore_errors=True)
        self.close()

    def _check_journal_is_there(self) -> None:
        journal = self.path / JOURNAL
        lacks = not journal.exists() or not journal.stat().st_size
        if lacks and (trained_in(self.path) or holds_work(self.path)):
            raise lost_journal(self.path, "is missing" if not journal.exists() else "is empty")

    def _check_journal_holds_facts(self) -> None:
        """Without them it would look like a new run, which pays again and may come to something else."""
        unnamed = trained_in(self.path) and self.journal.identity is None
        if unnamed or (holds_work(self.path) and not self.journal.counts()):
            raise lost_journal(self.path, "lacks what it held")

    def _write(self, relative: str, text: str) -> Path:
        path = self.path / relative
        if self._real not in path.resolve().parents:
            raise DataError(
                f"{relative!r} leads out of the run folder {str(self.path)!r}",
                hint="give the skill a name without '/'",
            )
        try:
            private_folder(path.parent)
            write_atomically(path, text.encode(errors="backslashreplace"))
        except OSError as error:
            raise unwritable(path, error) from error
        return path


def _pretty(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=True)


def plain_name(name: str, setting: str) -> str:
    """The name. Raises ConfigError: it cannot be that of a folder in another one, here or on another system."""
    why = _why_not(name)
    if why:
        raise ConfigError(
            f"{setting} = {name!r:.200} is not a plain folder name: {why}",
            hint="use letters, digits, '-' and '_', as in 'my-run'",
        )
    return name


def _why_not(name: str) -> str:
    """What is wrong with the name of a run; empty when nothing is."""
    if not name.strip() or name in (".", ".."):
        return "it names nothing"
    if any(letter in "/\\" for letter in name):
        return "it has a '/' or a '\\'"
    if any(letter in "~$`*?" for letter in name):
        return "a shell reads it as something else"
    if not name.isprintable():
        return "it has a character that cannot be seen"
    if len(name.encode()) > MOST_NAME_BYTES:
        return f"it has {len(name.encode())} bytes, {MOST_NAME_BYTES} are allowed"
    if name.startswith("-"):
        return "it begins with a dash, as options do"
    return "it begins or ends with a space, or ends with a dot" if name != name.strip() or name.endswith(".") else ""
