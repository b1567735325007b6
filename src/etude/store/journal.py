"""The journal: what was paid for or decided is a fact, and a fact is never paid for again."""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from etude.errors import IdentityError, StopRun
from etude.protocols import Journal
from etude.records import canonical
from etude.redaction.redactor import Redactor
from etude.store.database import FACT, Database, intact
from etude.store.identity import differences

T = TypeVar("T")

DECISION = "decision"
"""The kind of facts that belong to one run only and that a fork does not take over."""

_LONGEST_KEY_SHOWN = 2_048
_SHOWN_HASH = 16
_noted: ContextVar[dict[str, str] | None] = ContextVar("noted", default=None)


@contextmanager
def facts_noted() -> Generator[dict[str, str]]:
    """The facts that are read or made inside: the name of each, and a digest of its value."""
    facts: dict[str, str] = {}
    token = _noted.set(facts)
    try:
        yield facts
    finally:
        _noted.reset(token)


class SqliteJournal(Journal):
    """Facts in an SQLite file. One process writes; others may read at the same time (`read_only`). Raises as
    `Database`.

    Each fact is compared with its digest when it is read. One that was changed is as good as none: the work is done
    once more, and the first of them is told of with `warn`.

    A fact is on disk before `once` returns it, in the form in which every later reader gets it: as JSON, without
    secrets, and with U+FFFD where a text held half of a surrogate pair."""

    def __init__(self, path: Path | str, *, redactor: Redactor | None = None, read_only: bool = False) -> None:
        self.database = Database(Path(path), read_only=read_only)
        self.sealed = False
        """No work is done but to decide: a fact that is missing stops the run."""
        self.warn: Callable[[str, str], None] = lambda text, hint: None
        """Called with a warning and what to do, at most once."""
        self._warned = False
        self._redactor = redactor or Redactor()
        self._exact = self._redactor.exact
        self._under_way: dict[str, asyncio.Future[BaseException | None]] = {}
        self._adapters: dict[Any, TypeAdapter[Any]] = {}

    async def once(self, kind: str, key: Any, type: type[T], work: Callable[[], Awaitable[T]]) -> T:
        """The fact under (`kind`, `key`), else the result of `work`, remembered.

        Work asked for several times at once is done by the first asker; when it raises, all get the exception. When
        the first asker is cancelled, another one does the work itself.
        """
        shown = canonical(key)
        key_hash = _hash(kind, shown)
        while (under_way := self._under_way.get(key_hash)) is not None:
            await asyncio.wait({under_way})
            error = under_way.result()
            if error is not None:
                raise error
        stored = self._value(kind, key_hash)
        if stored is not None:
            _note(kind, key_hash, stored)
            return self._load(kind, type, stored)
        if self.sealed and kind != DECISION:
            raise StopRun(
                f"the journal lacks a fact of kind {kind!r} that the run needs",
                hint="run the same training again: it pays for what is missing",
            )
        under_way = self._under_way[key_hash] = asyncio.get_running_loop().create_future()
        try:
            started = time.monotonic()
            token = _noted.set(None)  # what the work reads is part of this fact
            try:
                result = await work()
            finally:
                _noted.reset(token)
            made = self._dump(type, result)
            fact = self._adapter(type).validate_json(made)
            self._remember(kind, key_hash, shown, made, time.monotonic() - started)
            _note(kind, key_hash, made.encode())
            return fact
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            under_way.set_result(error)
            raise
        finally:
            del self._under_way[key_hash]
            if not under_way.done():
                under_way.set_result(None)

    def get(self, kind: str, key: Any, type: type[T]) -> T | None:
        """The fact under (`kind`, `key`), None if there is none."""
        stored = self._value(kind, _hash(kind, canonical(key)))
        return None if stored is None else self._load(kind, type, stored)

    def copy_to(self, path: Path) -> None:
        """Write all of it to a new file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.database.rows("VACUUM INTO ?", (str(path),))

    def digest_of(self, name: str) -> str | None:
        """The digest of a fact's value, by a name that `facts_noted` gave; None if there is no such fact."""
        kind, _, start = name.partition(" ")
        rows = self.database.rows(
            "SELECT CAST(value AS BLOB) FROM facts WHERE kind = ? AND key_hash BETWEEN ? AND ?",
            (kind, start, f"{start}g"),
        )
        return _digest(kind, rows[0][0]) if rows else None

    def damaged(self) -> list[str]:
        """The names of facts whose value is not the one that was written."""
        rows = self.database.rows(f"SELECT {FACT} FROM facts ORDER BY created")
        return [_name(*row[:2]) for row in rows if not intact("facts", row)]

    def counts(self) -> dict[str, int]:
        """How many facts there are of each kind."""
        return dict(self.database.rows("SELECT kind, COUNT(*) FROM facts GROUP BY kind ORDER BY kind"))

    @property
    def identity(self) -> dict[str, JsonValue] | None:
        """The settings this journal was made with, None before `claim_identity`."""
        rows = self.database.guarded("meta", "name = 'identity'")
        return json.loads(rows[0][1]) if rows else None

    def claim_identity(
        self,
        identity: dict[str, JsonValue],
        settings: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]] = lambda: ({}, {}),
    ) -> None:
        """Store what decides the result; on later runs, check that it is still the same. As long as there is no fact
        nothing depends on it, and another takes its place.
        `settings` gives those of then and of now.
        Raises IdentityError: it differs; names in words what."""
        claimed = cast(dict[str, JsonValue], self._redactor.redact_value(json.loads(canonical(identity))))
        known = self.identity
        if known is None or not self.database.rows("SELECT 1 FROM facts LIMIT 1"):
            with self.database.write():
                self.database.put("meta", "identity", canonical(claimed))
            return
        if canonical(known) == canonical(claimed):
            return
        folder = self.database.path.parent
        lines = "\n  ".join(differences(known, claimed, settings()))
        raise IdentityError(
            f"run {folder.name!r} in {str(folder)!r} was made with other settings:\n  {lines}",
            hint="use the old settings, or give another `run.name`; a fork of this run (`fork`) has its answers",
        )

    def fork_from(self, parent: Path | str) -> None:
        """Copy the facts of another journal, without its decisions, its identity and what it spent.
        Raises DataError: there is no such journal."""
        source = Database(Path(parent), read_only=True)
        try:
            source.check()
        finally:
            source.close()
        self.database.rows("ATTACH ? AS parent", (source.uri,))
        try:
            with self.database.write() as connection:
                mine = "INSERT OR IGNORE INTO main.facts SELECT * FROM parent.facts WHERE kind <> ?"
                connection.execute(mine, (DECISION,))
                self.database.put("meta", "forked_from", str(parent))
        finally:
            self.database.rows("DETACH parent")

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def _value(self, kind: str, key_hash: str) -> bytes | None:
        rows = self.database.rows(f"SELECT {FACT} FROM facts WHERE kind = ? AND key_hash = ?", (kind, key_hash))
        if not rows:
            return None
        if intact("facts", rows[0]):
            return cast(bytes, rows[0][3])
        if not self._warned:
            self._warned = True
            self.warn(
                f"the fact {_name(kind, key_hash)!r} was changed in journal {str(self.database.path)!r}",
                "what was changed is not used, and paid for again; `etude verify` finds lines that rest on it",
            )
        return None

    def _remember(self, kind: str, key_hash: str, shown: str, value: str, seconds: float) -> None:
        key = self._redactor.redact_json(shown) if len(shown) <= _LONGEST_KEY_SHOWN else None
        created = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self.database.write():
            self.database.put("facts", kind, key_hash, key, value, seconds, created)

    def _adapter(self, type: type[T]) -> TypeAdapter[T]:
        adapter = self._adapters.get(type)
        if adapter is None:
            adapter = self._adapters[type] = TypeAdapter(type)
        return cast("TypeAdapter[T]", adapter)

    def _dump(self, type: type[T], value: T) -> str:
        adapter = self._adapter(type)
        try:
            text = adapter.dump_json(value, warnings="error").decode()
        except PydanticSerializationError:
            # Python strings can hold half of a surrogate pair, UTF-8 cannot. Anything else raises here once more.
            data = adapter.dump_python(value, mode="json", warnings="error")
            text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self._exact.redact_json(text)

    def _load(self, kind: str, type: type[T], text: bytes) -> T:
        try:
            return self._adapter(type).validate_json(text)
        except ValidationError as error:
            raise IdentityError(
                f"a fact of kind {kind!r} in journal {str(self.database.path)!r} cannot be read: {error}",
                hint="use the version of etude that made it, or another `run.name`",
            ) from error


def _hash(kind: str, key: str) -> str:
    """`digest([kind, key])` of a key that is canonical JSON already: keys are long and needed twice."""
    return hashlib.sha256(f"[{canonical(kind)},{key}]".encode("utf-8", "surrogatepass")).hexdigest()


def _note(kind: str, key_hash: str, value: bytes) -> None:
    facts = _noted.get()
    if facts is not None and kind != DECISION:
        facts[_name(kind, key_hash)] = _digest(kind, value)


def _name(kind: str, key_hash: str) -> str:
    return f"{kind} {key_hash[:_SHOWN_HASH]}"


def _digest(kind: str, value: bytes) -> str:
    """Of a fact's value, without what depends on the clock."""
    if kind == "trajectory":
        value = re.sub(rb'"(?:seconds|usd)":[^,}]*', b"", value)
    return hashlib.sha256(value).hexdigest()[:_SHOWN_HASH]
