"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`; older versions, such as 0.21, wrote one JSON
object to a `.json`. `GEMINI_CLI_HOME` moves the home folder. Sessions of subagents, in folders below `chats`, are
left out.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from etude.programs.transcripts.gemini import GeminiLog, tell
from etude.programs.transcripts.values import table, tables, text
from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.lines import files_under, found_in, head, program_folder, read_object
from etude.sleep.transcripts.sources.session_builder import LONGEST_PATH, SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_PATHS = ("file_path", "absolute_path", "dir_path", "path")
_ID = re.compile(r'"sessionId"\s*:\s*"([^"\\]+)"')
_LONG_FILE = 64 * 2**20
"""Bytes. Longer files of one JSON object are not read."""


class GeminiCliTranscripts(Source):
    """Transcripts of Gemini CLI."""

    name = "gemini-cli"

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        root = program_folder(home, environ, "GEMINI_CLI_HOME") / ".gemini" / "tmp"
        return found_in(
            self.name,
            (
                (_id(path), path, state)
                for suffix in (".json", ".jsonl")
                for path, state in files_under(root, suffix, depth=2)
                if path.parent.name == "chats" and path.name.startswith("session-")
            ),
        )

    def _read(self, found: Found) -> Reading:
        path = Path(found.path)
        conversation = SessionBuilder(found)
        log = GeminiLog(conversation.records() if path.suffix == ".jsonl" else _whole(path))
        if log.about.get("kind", "main") != "main":
            conversation.skipped["subagent"] += 1
            return conversation.reading()
        tell(conversation, log)
        if conversation.prompts:
            conversation.seen(None, _project(path, log))
        return conversation.reading()


def _whole(path: Path) -> Iterator[dict[str, Any]]:
    """The one object of a file. Raises OSError when there is none."""
    record = read_object(path, _LONG_FILE)
    if record is None:
        raise OSError(0, f"it is not a JSON object of at most {_LONG_FILE} bytes")
    yield record


def _id(path: Path) -> str:
    """The id in the head of the file; the name of a file has only the beginning of it."""
    found = _ID.search(head(path))
    return found[1] if found else path.stem


def _project(path: Path, log: GeminiLog) -> str:
    """The folder the session was in. Newer versions name it in a file next to `chats`; older ones give its SHA-256
    only: it is looked for among the folders that the program knows and those that tools were called with."""
    folder = path.parent.parent
    if root := head(folder / ".project_root").strip():
        return root
    wanted = log.about.get("projectHash", folder.name)
    known: dict[str, Any] = {}
    with suppress(OSError):
        known = table(table(read_object(folder.parent.parent / "projects.json")).get("projects"))
    calls = (call for message in log.messages.values() for call in tables(message.get("toolCalls")))
    used = (text(table(call.get("args")).get(key)) for call in calls for key in _PATHS)
    short = (PurePosixPath(text(each)) for each in (*known, *used) if len(each) <= LONGEST_PATH)
    folders = (str(each) for place in short for each in (place, *place.parents))
    return next((each for each in folders if hashlib.sha256(each.encode()).hexdigest() == wanted), "")
