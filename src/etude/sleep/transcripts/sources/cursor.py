"""Cursor. Written after a description of its files, not tried on any of its own."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from etude.programs.transcripts.values import items, table, text, texts
from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.lines import files_under, found_in, read_object
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_OPEN, _CLOSE = "<user_query>", "</user_query>"


class CursorTranscripts(Source):
    """`~/.cursor/projects/<workspace>/agent-transcripts/<session>/*.jsonl`."""

    name: ClassVar[str] = "cursor"
    verified: ClassVar[bool] = False

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        root = home / ".cursor" / "projects"
        files = [
            (path.stem, path, state)
            for path, state in files_under(root, ".jsonl", 3)
            # Deeper ones are of agents that an agent started.
            if len(path.parts) == len(root.parts) + 4 and path.parts[-3] == "agent-transcripts"
        ]
        return found_in(self.name, files)

    def _read(self, found: Found) -> Reading:
        conversation = SessionBuilder(found)
        # The lines have no times: all that is known is when the last one was written.
        conversation.seen(found.changed, _workspace(Path(found.path).parents[2]))
        for record in conversation.records():
            _tell(record, conversation)
        reading = conversation.reading()
        if reading.session is None:
            return reading
        return reading.model_copy(update={"session": reading.session.model_copy(update={"started": None})})


def _tell(record: dict[str, Any], conversation: SessionBuilder) -> None:
    if record.get("type") == "turn_ended":
        if record.get("status") in ("error", "aborted", "cancelled"):
            conversation.stop()
        else:
            conversation.done()
        return
    content = table(record.get("message")).get("content")
    written = [said for said in texts(content) if said]
    if record.get("role") == "user":
        if written:
            conversation.ask(_query("\n\n".join(written)), None)
    elif record.get("role") == "assistant":
        for said in written:
            conversation.say(said)
        for block in map(table, items(content)):
            if block.get("type") == "tool_use":
                conversation.call(block.get("id"), block.get("name"), block.get("input"))


def _query(said: str) -> str:
    """What the user wrote, without what the program put before it."""
    _, opened, rest = said.partition(_OPEN)
    if not opened or not rest.rstrip().endswith(_CLOSE):
        return said
    return rest.rstrip().removesuffix(_CLOSE).strip("\n")


def _workspace(folder: Path) -> str:
    """The folder that was worked in: as the program wrote it down, else the one on this machine that its name was
    made from; empty where there is none."""
    written = ""
    with suppress(OSError):
        written = text(table(read_object(folder / ".workspace-trusted")).get("workspacePath"))
    return written or _named_by(_dashed(folder.name), "/")


def _dashed(name: str) -> str:
    return re.sub("[^A-Za-z0-9]+", "-", name).strip("-")


def _named_by(dashed: str, folder: str) -> str:
    """The folder below `folder` whose path with dashes for all but letters and digits is `dashed`."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = _dashed(entry.name)
        begins = name and f"{dashed}-".startswith(f"{name}-")
        if begins and entry.is_dir() and os.access(entry.path, os.R_OK | os.X_OK):
            rest = dashed[len(name) + 1 :]
            if found := _named_by(rest, entry.path) if rest else text(entry.path):
                return found
    return ""
