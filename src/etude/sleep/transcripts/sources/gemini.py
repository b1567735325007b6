"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`. `GEMINI_CLI_HOME` moves the home folder.
Sessions of subagents, in folders below `chats`, are left out; so are those of versions such as 0.21, each one JSON
object in a `.json`, which are counted.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from etude.programs.transcripts.gemini import GeminiLog, tell
from etude.programs.transcripts.listener import Listener
from etude.sleep.transcripts.sessions import Reading, SessionRef
from etude.sleep.transcripts.sources.lines import head, program_folder
from etude.sleep.transcripts.sources.record_files import RecordFiles, SessionFile

_ID = re.compile(r'"sessionId"\s*:\s*"([^"\\]+)"')


class GeminiCliTranscripts(RecordFiles):
    """Transcripts of Gemini CLI."""

    name = "gemini-cli"

    @staticmethod
    def tell(listener: Listener, records: Iterable[dict[str, Any]]) -> None:
        log = GeminiLog(records)
        if log.about.get("kind", "main") != "main":
            listener.skipped["subagent"] += 1
        else:
            tell(listener, log)

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[tuple[Path, str, int]]:
        root = program_folder(home, environ, "GEMINI_CLI_HOME") / ".gemini" / "tmp"
        return [(root, suffix, 2) for suffix in (".json", ".jsonl")]

    def files(self, home: Path, environ: Mapping[str, str]) -> list[SessionFile]:
        """Of a session the longest file: going on with one begins another, to which nothing need be added."""
        found = sorted(super().files(home, environ), key=lambda file: file[2].st_size if file[2] else 0)
        return list({file[0] or str(file[1]): file for file in found}.values())

    def id_of(self, path: Path, root: Path) -> str:
        """The id in the head of the file; the name of a file has only the beginning of it."""
        if path.parent.name != "chats" or not path.name.startswith("session-"):
            return ""
        found = _ID.search(head(path))
        return found[1] if found else path.stem

    def _read(self, found: SessionRef) -> Reading:
        path = Path(found.path)
        if path.suffix == ".json":
            return Reading(skipped={"of an old version": 1})
        reading, root = super()._read(found), head(path.parent.parent / ".project_root").strip()
        if reading.session is None or not root or reading.session.project:
            return reading
        return reading.model_copy(update={"session": reading.session.model_copy(update={"project": root})})
