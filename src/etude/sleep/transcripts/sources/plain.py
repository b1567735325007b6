"""Transcripts of any agent, converted by the user: `.jsonl` files in a format of our own, in UTF-8.

A line is a session:

    {"id": "a1", "project": "/home/me/shop", "turns": [TURN, ...], "skills": [...]}

A turn has `prompt`, and may have `answer`, `at` (ISO 8601; UTC if it has no offset), `interrupted` (true or false),
and `tools`, each `{"name": "...", "arguments": ..., "result": ..., "failed": true or false}`. Lines with the same
`id` are one session, in the order of the lines; without an id it is called `<file>:<n>`, n counting the lines that
can be read from 1. Unknown keys are allowed and left out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from etude.errors import ConfigError
from etude.programs.transcripts.values import items, table, text
from etude.sleep.transcripts.sessions import Reading, UnreadSession
from etude.sleep.transcripts.sources.lines import files_under, found_in, records
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_DEPTH = 8


class _File(NamedTuple):
    """What is in a file."""

    sessions: dict[str, list[dict[str, Any]]]
    """The lines of each, by id."""
    skipped: Counter[str]
    """What cannot be read, for the first session to tell."""


class PlainTranscripts(Source):
    """Transcripts in the format of this module, in a file, or in the `.jsonl` files of a folder."""

    name = "jsonl"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = "", "", _File({}, Counter())

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[UnreadSession]:
        """As in `Source`; reads the files, because one may hold many sessions.

        Raises:
            ConfigError: there is no file or folder at the path.
        """
        if self._path.is_dir():
            files = list(files_under(self._path, ".jsonl", _DEPTH))
        elif self._path.is_file():
            path = self._path.resolve()
            files = [(path, path.stat())]
        else:
            raise ConfigError(
                f"{str(self._path)!r} is neither a file nor a folder",
                hint="name a .jsonl file, or a folder that has such files",
            )
        read = ((path, state, self._ids(path) if state else [""]) for path, state in files)
        return found_in(self.name, ((id, path, state) for path, state, ids in read for id in ids))

    def _ids(self, path: Path) -> Sequence[str]:
        """The sessions of a file."""
        try:
            return list(self._content(path).sessions)
        except OSError:  # reading it says why it cannot be read
            return [path.stem]

    def _read(self, found: UnreadSession) -> Reading:
        sessions, skipped = self._content(Path(found.path))
        if found.id not in sessions:
            return Reading(problem=f"has no session {found.id!r} any more")
        conversation = SessionBuilder(found)
        conversation.skipped.update(skipped if found.id == next(iter(sessions)) else ())
        for record in sessions[found.id]:
            conversation.seen(None, record.get("project"))
            for skill in items(record.get("skills")):
                conversation.skill(skill)
            for turn in items(record["turns"]):
                _tell(conversation, table(turn))
        return conversation.reading()

    def _content(self, path: Path) -> _File:
        """What is in a file. The last one is kept: all its sessions are read one after the other.

        Raises OSError when the file cannot be read.
        """
        state = path.stat()
        revision = f"{state.st_ino}:{state.st_size}:{state.st_mtime_ns}"
        if self._last[:2] == (str(path), revision):
            return self._last[2]
        found = _File({}, Counter())
        for number, record in enumerate(records(path, found.skipped), start=1):
            if "turns" not in record:
                found.skipped["broken line"] += 1
            else:
                found.sessions.setdefault(text(record.get("id")) or f"{path.stem}:{number}", []).append(record)
        if found.skipped and not found.sessions:
            found.sessions[path.stem] = []
        self._last = str(path), revision, found
        return found


def _tell(conversation: SessionBuilder, turn: dict[str, Any]) -> None:
    prompt = text(turn.get("prompt"))
    if not prompt.strip():
        conversation.skipped["broken turn"] += 1
        return
    at = turn.get("at")
    conversation.seen(at)
    conversation.ask(prompt, at)
    for number, tool in enumerate(map(table, items(turn.get("tools")))):
        id = f"{conversation.prompts}:{number}"
        conversation.call(id, tool.get("name"), tool.get("arguments"))
        conversation.result(id, tool.get("result"), tool.get("failed"))
    conversation.say(turn.get("answer"))
    conversation.done()
    if turn.get("interrupted") is True:
        conversation.stop()
