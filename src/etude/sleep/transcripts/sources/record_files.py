"""Programs that write a file of records for each session."""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from etude.programs.transcripts import claude_code, codex, copilot_cli, pi, qwen
from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.values import number, table, text
from etude.sleep.transcripts.sessions import Reading, SessionRef
from etude.sleep.transcripts.sources.lines import files_under, found_in, program_folder, records
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_Place = tuple[Path, str, int]
_EVENTS = "events.jsonl"
_NAME = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z")
_MOST_PARENTS = 100


class RecordFiles(Source):
    """A program whose sessions are files of JSON lines."""

    @staticmethod
    @abstractmethod
    def tell(listener: Listener, records: Iterable[dict[str, Any]]) -> None:
        """Read the program's records."""

    @abstractmethod
    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[_Place]:
        """Folders, what the names of files in them end with, and how many folders below may hold some."""

    @abstractmethod
    def id_of(self, path: Path, root: Path) -> str:
        """The session of a file in one of these folders; empty where it is none."""

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[SessionRef]:
        places = self.places(home, environ)
        files = ((root, *file) for root, suffix, depth in places for file in files_under(root, suffix, depth))
        return found_in(self.name, ((self.id_of(path, root), path, state) for root, path, state in files))

    def _read(self, found: SessionRef) -> Reading:
        conversation = SessionBuilder(found)
        self.tell(conversation, conversation.records())
        return conversation.reading()


class ClaudeCodeTranscripts(RecordFiles):
    """`~/.claude/projects/<folder>/<session>.jsonl`; `CLAUDE_CONFIG_DIR` moves `~/.claude`. Sessions of subagents
    (`agent-*.jsonl`, folders `subagents`) are left out."""

    name = "claude-code"
    tell = staticmethod(claude_code.tell)

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[_Place]:
        return [(program_folder(home, environ, "CLAUDE_CONFIG_DIR", ".claude") / "projects", ".jsonl", 1)]

    def id_of(self, path: Path, root: Path) -> str:
        return "" if path.parent == root or path.name.startswith("agent-") else path.stem


class QwenCodeTranscripts(RecordFiles):
    """`~/.qwen/projects/<folder>/chats/<session>.jsonl`; `QWEN_RUNTIME_DIR` or `QWEN_HOME` moves `~/.qwen`."""

    name = "qwen-code"
    tell = staticmethod(qwen.tell)

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[_Place]:
        folder = program_folder(home, environ, "QWEN_HOME", ".qwen")
        return [(program_folder(folder, environ, "QWEN_RUNTIME_DIR") / "projects", ".jsonl", 2)]

    def id_of(self, path: Path, root: Path) -> str:
        return path.stem if path.parent.name == "chats" else ""


class PiTranscripts(RecordFiles):
    """`~/.pi/agent/sessions/<folder>/<time>_<session>.jsonl`; `PI_CODING_AGENT_DIR` moves `~/.pi/agent`."""

    name = "pi"
    tell = staticmethod(pi.tell)

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[_Place]:
        return [(program_folder(home, environ, "PI_CODING_AGENT_DIR", ".pi", "agent") / "sessions", ".jsonl", 1)]

    def id_of(self, path: Path, root: Path) -> str:
        return path.stem.rpartition("_")[2]


class CopilotCliTranscripts(RecordFiles):
    """`session-state/*/events.jsonl`, below `$COPILOT_HOME` or `~/.copilot`."""

    name = "copilot-cli"
    tell = staticmethod(copilot_cli.tell)

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[_Place]:
        return [(program_folder(home, environ, "COPILOT_HOME", ".copilot") / "session-state", _EVENTS, 1)]

    def id_of(self, path: Path, root: Path) -> str:
        return path.parent.name if path.name == _EVENTS and path.parent != root else ""


class CodexTranscripts(RecordFiles):
    """`~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` and `~/.codex/archived_sessions`; `CODEX_HOME`
    moves `~/.codex`. The program packs old ones (`.jsonl.zst`).

    A fork has the turns of its parent again, or says up to which record of its parent's file they are its own: then
    they are read from there."""

    name = "codex"
    tell = staticmethod(codex.tell)

    def __init__(self) -> None:
        self._paths: dict[str, Path] = {}

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[_Place]:
        root = program_folder(home, environ, "CODEX_HOME", ".codex")
        folders = ((root / "sessions", 3), (root / "archived_sessions", 0))
        return [(folder, suffix, depth) for suffix in (".jsonl.zst", ".jsonl") for folder, depth in folders]

    def id_of(self, path: Path, root: Path) -> str:
        stem = path.name.partition(".jsonl")[0]
        named = _NAME.search(stem)
        return named[1] if named else stem

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[SessionRef]:
        found = super().find(home, environ)
        self._paths = {each.id: Path(each.path) for each in found}
        return found

    def _read(self, found: SessionRef) -> Reading:
        path = Path(found.path)
        if path.suffix == ".zst":
            return Reading(problem="it is packed: `unzstd --keep` beside it has it read", skipped={"packed": 1})
        conversation = SessionBuilder(found)
        self.tell(conversation, self._inherited(_meta(path), _MOST_PARENTS))
        copied = conversation.prompts
        conversation.pause()
        conversation.skipped.clear()
        self.tell(conversation, conversation.records())
        return conversation.reading().model_copy(update={"copied": copied})

    def _inherited(self, meta: dict[str, Any], most: int) -> Iterator[dict[str, Any]]:
        """Records of the parent that a fork refers to, and of its parents."""
        base = table(meta.get("history_base"))
        path, end = self._paths.get(text(base.get("thread_id"))), number(base.get("end_ordinal_exclusive"))
        if path is None or end is None or not most:
            return
        yield from self._inherited(_meta(path), most - 1)
        for record in _records(path):
            if (number(record.get("ordinal")) or 0) < end:
                yield record


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a parent; none where it cannot be read."""
    try:
        yield from records(path, Counter())
    except OSError:
        return


def _meta(path: Path) -> dict[str, Any]:
    """What a session says of itself first."""
    kind, payload = codex.opened(next(_records(path), dict[str, Any]()))
    return payload if kind == "session_meta" else {}
