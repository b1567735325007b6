"""Programs that write a file of records for each session."""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import stat_result
from pathlib import Path
from typing import Any

from etude.programs.transcripts import claude_code, codex, copilot_cli, pi, qwen
from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.values import number, table, text
from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.lines import files_under, found_in, program_folder, records
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_File = tuple[str, Path, stat_result]
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
    def files(self, home: Path, environ: Mapping[str, str]) -> Iterable[_File]:
        """Session, path and state of each file."""

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        return found_in(self.name, self.files(home, environ))

    def _read(self, found: Found) -> Reading:
        conversation = SessionBuilder(found)
        self.tell(conversation, conversation.records())
        return conversation.reading()


class ClaudeCodeTranscripts(RecordFiles):
    """`~/.claude/projects/<folder>/<session>.jsonl`; `CLAUDE_CONFIG_DIR` moves `~/.claude`. Sessions of subagents
    (`agent-*.jsonl`, folders `subagents`) are left out."""

    name = "claude-code"
    tell = staticmethod(claude_code.tell)

    def files(self, home: Path, environ: Mapping[str, str]) -> Iterator[_File]:
        root = program_folder(home, environ, "CLAUDE_CONFIG_DIR", ".claude") / "projects"
        for path, state in files_under(root, ".jsonl", depth=1):
            if path.parent != root and not path.name.startswith("agent-"):
                yield path.stem, path, state


class QwenCodeTranscripts(RecordFiles):
    """`~/.qwen/projects/<folder>/chats/<session>.jsonl`; `QWEN_RUNTIME_DIR` or `QWEN_HOME` moves `~/.qwen`."""

    name = "qwen-code"
    tell = staticmethod(qwen.tell)

    def files(self, home: Path, environ: Mapping[str, str]) -> Iterator[_File]:
        folder = program_folder(home, environ, "QWEN_HOME", ".qwen")
        root = program_folder(folder, environ, "QWEN_RUNTIME_DIR") / "projects"
        for path, state in files_under(root, ".jsonl", depth=2):
            if path.parent.name == "chats":
                yield path.stem, path, state


class PiTranscripts(RecordFiles):
    """`~/.pi/agent/sessions/<folder>/<time>_<session>.jsonl`; `PI_CODING_AGENT_DIR` moves `~/.pi/agent`."""

    name = "pi"
    tell = staticmethod(pi.tell)

    def files(self, home: Path, environ: Mapping[str, str]) -> Iterator[_File]:
        root = program_folder(home, environ, "PI_CODING_AGENT_DIR", ".pi", "agent") / "sessions"
        for path, state in files_under(root, ".jsonl", depth=1):
            yield path.stem.rpartition("_")[2], path, state


class CopilotCliTranscripts(RecordFiles):
    """`session-state/*/events.jsonl`, below `$COPILOT_HOME` or `~/.copilot`."""

    name = "copilot-cli"
    tell = staticmethod(copilot_cli.tell)

    def files(self, home: Path, environ: Mapping[str, str]) -> Iterator[_File]:
        folder = program_folder(home, environ, "COPILOT_HOME", ".copilot") / "session-state"
        for path, state in files_under(folder, _EVENTS, 1):
            if path.name == _EVENTS and path.parent != folder:
                yield path.parent.name, path, state


class CodexTranscripts(RecordFiles):
    """`~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` and `~/.codex/archived_sessions`; `CODEX_HOME`
    moves `~/.codex`. The program packs old ones (`.jsonl.zst`).

    A fork has the turns of its parent again, or says up to which record of its parent's file they are its own: then
    they are read from there."""

    name = "codex"
    tell = staticmethod(codex.tell)

    def __init__(self) -> None:
        self._paths: dict[str, Path] = {}

    def files(self, home: Path, environ: Mapping[str, str]) -> Iterator[_File]:
        root = program_folder(home, environ, "CODEX_HOME", ".codex")
        for suffix in (".jsonl.zst", ".jsonl"):
            for folder, depth in (("sessions", 3), ("archived_sessions", 0)):
                for path, state in files_under(root / folder, suffix, depth):
                    stem = path.name.removesuffix(suffix)
                    named = _NAME.search(stem)
                    id = named[1] if named else stem
                    self._paths[id] = path
                    yield id, path, state

    def _read(self, found: Found) -> Reading:
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
