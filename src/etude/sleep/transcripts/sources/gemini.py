"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`. `GEMINI_CLI_HOME` moves the home folder.
Sessions of subagents, in folders below `chats`, are left out; so are those of versions such as 0.21, each one JSON
object in a `.json`, which are counted.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from etude.programs.transcripts.gemini import GeminiLog, tell
from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.lines import files_under, found_in, head, program_folder
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_ID = re.compile(r'"sessionId"\s*:\s*"([^"\\]+)"')


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
        if path.suffix == ".json":
            return Reading(skipped={"of an old version": 1})
        conversation = SessionBuilder(found)
        log = GeminiLog(conversation.records())
        if log.about.get("kind", "main") != "main":
            conversation.skipped["subagent"] += 1
            return conversation.reading()
        tell(conversation, log)
        if conversation.prompts:
            conversation.seen(None, head(path.parent.parent / ".project_root").strip())
        return conversation.reading()


def _id(path: Path) -> str:
    """The id in the head of the file; the name of a file has only the beginning of it."""
    found = _ID.search(head(path))
    return found[1] if found else path.stem
