"""Copilot CLI: the events of each session and, for sessions without any, the store of questions and answers."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.base import Source
from etude.sleep.transcripts.sources.conversation import Conversation
from etude.sleep.transcripts.sources.lines import (
    files_under,
    found_in,
    items,
    program_folder,
    table,
    text,
)
from etude.sleep.transcripts.sources.sqlite import Databases, rows

_EVENTS = "events.jsonl"
_SESSION = ("id", "cwd", "created_at", "updated_at")
_TURN = ("user_message", "assistant_response", "timestamp")


class CopilotCli(Source):
    """`session-state/*/events.jsonl` and `session-store.db`, below `$COPILOT_HOME` or `~/.copilot`."""

    name: ClassVar[str] = "copilot-cli"

    def __init__(self) -> None:
        self._databases = Databases()

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        folder = program_folder(home, environ, "COPILOT_HOME", ".copilot")
        files = [
            (path.parent.name, path, state)
            for path, state in files_under(folder / "session-state", _EVENTS, 1)
            if path.name == _EVENTS and path.parent.name != "session-state"
        ]
        found = {each.id: each for each in self._databases.found(self.name, folder / "session-store.db", _sessions)}
        # The events tell of tools, failures and skills; the store does not.
        found |= {each.id: each for each in found_in(self.name, files)}
        return list(found.values())

    def _read(self, found: Found) -> Reading:
        if problem := self._databases.problem(found):
            return Reading(problem=problem)
        conversation = Conversation(found)
        if found.path.endswith(_EVENTS):
            for event in conversation.records():
                _tell(event, conversation)
            return conversation.reading()
        with self._databases.opened(Path(found.path)) as database:
            return _from_store(database, found, conversation)


def _sessions(database: sqlite3.Connection) -> Iterator[tuple[str, str, object]]:
    counts = dict(database.execute("SELECT session_id, count(*) FROM turns GROUP BY session_id"))
    for row in rows(database, "sessions", _SESSION, ""):
        yield text(row["id"]), f"{row['updated_at']}:{counts.get(row['id'], 0)}", row["updated_at"]


def _tell(event: dict[str, Any], conversation: Conversation) -> None:
    data = table(event.get("data"))
    kind = event.get("type")
    at = event.get("timestamp")
    conversation.seen(at, table(data.get("context")).get("cwd"))
    if data.get("parentToolCallId") is not None or event.get("agentId") is not None:
        conversation.skipped["subagent"] += 1
    elif kind == "user.message":
        if data.get("source") not in (None, "", "user"):
            conversation.skipped["meta"] += 1
        elif text(data.get("content")):
            meanwhile = data.get("delivery") not in (None, "idle")
            conversation.ask(text(data.get("content")), at, meanwhile=meanwhile)
        else:
            conversation.skipped["empty"] += 1
    elif kind == "assistant.message":
        conversation.say(data.get("content"))
        for request in map(table, items(data.get("toolRequests"))):
            conversation.call(request.get("toolCallId"), request.get("name"), request.get("arguments"))
    elif kind == "tool.execution_complete":
        _used(data, conversation)
    elif kind == "skill.invoked":
        conversation.skill(data.get("name"))
    elif kind in ("abort", "session.error"):
        conversation.stop()
    elif kind == "session.compaction_complete":
        conversation.skipped["compaction"] += 1


def _used(data: dict[str, Any], conversation: Conversation) -> None:
    succeeded = data.get("success")
    code = table(data.get("shellExecution")).get("exitCode")
    failed = succeeded is False or (isinstance(code, int) and code != 0)
    result = table(data.get("result")).get("content")
    if result is None:
        result = table(data.get("error")).get("message")
    conversation.result(data.get("toolCallId"), result, failed if isinstance(succeeded, bool) else None)


def _from_store(database: sqlite3.Connection, found: Found, conversation: Conversation) -> Reading:
    session = next(rows(database, "sessions", _SESSION, "WHERE id = ?", found.id), None)
    if session is None:
        return Reading(problem="the session is gone")
    conversation.seen(session["created_at"], session["cwd"])
    conversation.seen(session["updated_at"])
    for row in rows(database, "turns", _TURN, "WHERE session_id = ? ORDER BY turn_index", found.id):
        if text(row["user_message"]):
            conversation.ask(text(row["user_message"]), row["timestamp"])
            conversation.say(row["assistant_response"])
        else:
            conversation.skipped["empty"] += 1
    return conversation.reading()
