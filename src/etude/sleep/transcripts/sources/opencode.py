"""OpenCode: a database, since version 1.2; it takes over what older versions have written to files."""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from etude.programs.transcripts.opencode import MessageRow, tell
from etude.programs.transcripts.values import moment, object_of, text
from etude.sleep.transcripts.sessions import Reading, UnreadSession
from etude.sleep.transcripts.sources.lines import LONG_LINE, program_folder
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source
from etude.sleep.transcripts.sources.sqlite import DatabaseCopy, rows

_DATA = f"CASE WHEN length(data) <= {LONG_LINE} THEN data END AS data"
_OLD = "storage"
"""The folder of versions that had no database."""
_SESSION = ("id", "parent_id", "directory", "revert", "permission", "time_created", "time_updated")


class OpenCodeTranscripts(Source):
    """`opencode.db` below `$XDG_DATA_HOME/opencode`."""

    name: ClassVar[str] = "opencode"

    def __init__(self) -> None:
        self._copy = DatabaseCopy()

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[UnreadSession]:
        data = program_folder(home, environ, "XDG_DATA_HOME", ".local", "share") / "opencode"
        path = data / (environ.get("OPENCODE_DB") or "opencode.db")
        if not path.exists() and (data / _OLD / "session").is_dir():
            return [UnreadSession(source=self.name, id=_OLD, path=str(data / _OLD), revision="")]
        try:
            with self._copy.opened(path) as database:
                return list(_sessions(database, str(path)))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:  # reading it says why
            return [UnreadSession(source=self.name, id=str(path), path=str(path), revision="")]

    def _read(self, found: UnreadSession) -> Reading:
        if found.id == _OLD:
            return Reading(
                problem=f"{found.path!r} is of a version before 1.2: a newer one, once started, takes it over"
            )
        with self._copy.opened(Path(found.path)) as database:
            if not found.revision:
                list(_sessions(database, found.path))
            return _from_database(database, found, SessionBuilder(found))


def _sessions(database: sqlite3.Connection, path: str) -> Iterator[UnreadSession]:
    """The sessions of a database, without those with an empty id."""
    query = "SELECT session_id, count(*), max(time_updated) FROM part GROUP BY session_id"
    last = {text(id): (count, latest) for id, count, latest in database.execute(query)}
    for row in rows(database, "session", _SESSION, "WHERE parent_id IS NULL"):
        id, changed = text(row["id"]), row["time_updated"]
        count, latest = last.get(id, (0, 0))
        if id:
            revision = f"{changed}:{count}:{latest}"
            yield UnreadSession(source="opencode", id=id, path=path, revision=revision, changed=moment(changed))


def _from_database(database: sqlite3.Connection, found: UnreadSession, conversation: SessionBuilder) -> Reading:
    session = next(rows(database, "session", _SESSION, "WHERE id = ?", found.id), None)
    if session is None:
        return Reading(problem="the session is gone")
    if session["parent_id"] is not None:
        return Reading(skipped={"subagent": 1})
    (children,) = database.execute("SELECT count(*) FROM session WHERE parent_id = ?", (found.id,)).fetchone()
    conversation.skipped["subagent"] += int(children)
    folder = text(session["directory"])
    conversation.seen(session["time_created"], folder if os.path.isabs(folder) else "")
    conversation.seen(session["time_updated"])
    parts: dict[str, list[dict[str, Any]]] = {}
    query = f"SELECT message_id, {_DATA} FROM part WHERE session_id = ? ORDER BY id"
    for message, data in database.execute(query, (found.id,)):
        part = _counted(data, conversation.skipped)
        if part is not None:
            parts.setdefault(text(message), []).append(part)
    query = f"SELECT id, {_DATA} FROM message WHERE session_id = ? ORDER BY time_created, id"
    messages: list[MessageRow] = []
    for id, data in database.execute(query, (found.id,)):
        message = _counted(data, conversation.skipped)
        if message is not None:
            messages.append(MessageRow(text(id), message, parts.get(text(id), [])))
    tell(conversation, messages, _json(session["revert"]).get("messageID"), _json_list(session["permission"]))
    return conversation.reading()


def _counted(data: object, skipped: Counter[str]) -> dict[str, Any] | None:
    """The object in a column; None and counted where there is none."""
    found = object_of(data if isinstance(data, bytes) else text(data).encode())
    if found is None:
        skipped["long line" if data is None else "broken line"] += 1
    return found


def _json(value: object) -> dict[str, Any]:
    return object_of(text(value).encode()) or {}


def _json_list(value: object) -> object:
    return (object_of(b'{"list": ' + text(value).encode() + b"}") or {}).get("list")
