"""Programs that write a file of records for each session."""

import math
import os
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from etude.programs.transcripts import claude_code, codex, copilot_cli, gemini, pi, qwen
from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.values import number
from etude.sleep.transcripts.sessions import Reading, UnreadSession
from etude.sleep.transcripts.sources.lines import (
    LONG_LINE,
    files_under,
    found_in,
    head,
    open_regular,
    program_folder,
    records,
)
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_Place = tuple[Path, str, int]
_File = tuple[str, Path, os.stat_result | None]
_EVENTS = "events.jsonl"
_TYPED = "logs.json"
_SESSION_ID = re.compile(r'"sessionId"\s*:\s*"([^"\\]+)"')
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

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[UnreadSession]:
        return found_in(self.name, self.files(home, environ))

    def files(self, home: Path, environ: Mapping[str, str]) -> list[_File]:
        """All files, with their sessions and as they are."""
        places = self.places(home, environ)
        there = ((root, *file) for root, suffix, depth in places for file in files_under(root, suffix, depth))
        return [(self.id_of(path, root), path, state) for root, path, state in there]

    def _read(self, found: UnreadSession) -> Reading:
        conversation = SessionBuilder(found)
        self.tell(conversation, conversation.records())
        return conversation.reading()


class TypedInTerminal(RecordFiles):
    """A program that keeps a list of what was typed at its terminal. A session that is not in it was told what to do
    by other programs."""

    @abstractmethod
    def typed(self, path: Path, project: str) -> Path:
        """The list for the session of a file."""

    def _read(self, found: UnreadSession) -> Reading:
        reading = super()._read(found)
        typed = reading.session and _sessions_in(self.typed(Path(found.path), reading.session.project))
        if reading.session is None or typed is None or found.id in typed:
            return reading
        turns = tuple(turn.model_copy(update={"scripted": True}) for turn in reading.session.turns)
        return reading.model_copy(update={"session": reading.session.model_copy(update={"turns": turns})})


class ClaudeCodeTranscripts(RecordFiles):
    """`~/.claude/projects/<folder>/<session>.jsonl`; `CLAUDE_CONFIG_DIR` moves `~/.claude`. Sessions of subagents
    (`agent-*.jsonl`, folders `subagents`) are left out."""

    name = "claude-code"
    tell = staticmethod(claude_code.tell)

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[_Place]:
        return [(program_folder(home, environ, "CLAUDE_CONFIG_DIR", ".claude") / "projects", ".jsonl", 1)]

    def id_of(self, path: Path, root: Path) -> str:
        return "" if path.parent == root or path.name.startswith("agent-") else path.stem


class QwenCodeTranscripts(TypedInTerminal):
    """`~/.qwen/projects/<folder>/chats/<session>.jsonl`; `QWEN_RUNTIME_DIR` or `QWEN_HOME` moves `~/.qwen`."""

    name = "qwen-code"
    tell = staticmethod(qwen.tell)

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[_Place]:
        folder = program_folder(home, environ, "QWEN_HOME", ".qwen")
        return [(program_folder(folder, environ, "QWEN_RUNTIME_DIR") / "projects", ".jsonl", 2)]

    def id_of(self, path: Path, root: Path) -> str:
        return path.stem if path.parent.name == "chats" else ""

    def typed(self, path: Path, project: str) -> Path:
        return path.parents[3] / "tmp" / sha256(project.encode()).hexdigest() / _TYPED


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


class GeminiCliTranscripts(TypedInTerminal):
    """`~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`; `GEMINI_CLI_HOME` moves the home folder. Sessions of
    subagents, in folders below `chats`, are left out; those of versions such as 0.21, each one JSON object in a
    `.json`, are counted."""

    name = "gemini-cli"

    @staticmethod
    def tell(listener: Listener, records: Iterable[dict[str, Any]]) -> None:
        log = gemini.GeminiLog(records)
        if log.about.get("kind", "main") != "main":
            listener.skipped["subagent"] += 1
        else:
            gemini.tell(listener, log)

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[tuple[Path, str, int]]:
        root = program_folder(home, environ, "GEMINI_CLI_HOME") / ".gemini" / "tmp"
        return [(root, suffix, 2) for suffix in (".json", ".jsonl")]

    def files(self, home: Path, environ: Mapping[str, str]) -> list[_File]:
        """Of a session the longest file: going on with one begins another, to which nothing need be added."""
        found = sorted(super().files(home, environ), key=lambda file: file[2].st_size if file[2] else 0)
        return list({file[0] or str(file[1]): file for file in found}.values())

    def id_of(self, path: Path, root: Path) -> str:
        """The id in the head of the file; the name of a file has only the beginning of it."""
        if path.parent.name != "chats" or not path.name.startswith("session-"):
            return ""
        found = _SESSION_ID.search(head(path))
        return found[1] if found else path.stem

    def typed(self, path: Path, project: str) -> Path:
        return path.parent.parent / _TYPED

    def _read(self, found: UnreadSession) -> Reading:
        path = Path(found.path)
        if path.suffix == ".json":
            return Reading(skipped={"of an old version": 1})
        reading, root = super()._read(found), head(path.parent.parent / ".project_root").strip()
        if reading.session is None or not root or reading.session.project:
            return reading
        return reading.model_copy(update={"session": reading.session.model_copy(update={"project": root})})


class CodexTranscripts(RecordFiles):
    """`~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` and `~/.codex/archived_sessions`; `CODEX_HOME`
    moves `~/.codex`. The program packs old ones (`.jsonl.zst`).

    A fork has the turns of its parent again, or says before which record of its parent's file it begins: then they
    are read from there. So does a file `...-<session>_<later>.jsonl` that goes on with the same session from an
    earlier turn: those behind were taken back."""

    name = "codex"
    tell = staticmethod(codex.tell)

    def __init__(self) -> None:
        self._paths: dict[str, list[Path]] = {}

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterable[_Place]:
        root = program_folder(home, environ, "CODEX_HOME", ".codex")
        folders = ((root / "sessions", 3), (root / "archived_sessions", 0))
        return [(folder, suffix, depth) for suffix in (".jsonl.zst", ".jsonl") for folder, depth in folders]

    def id_of(self, path: Path, root: Path) -> str:
        return codex.ids_of(path)[0]

    def files(self, home: Path, environ: Mapping[str, str]) -> list[_File]:
        files = sorted(super().files(home, environ), key=lambda file: _rank(file[1]))
        self._paths = {}
        for id, path, _ in files:
            self._paths.setdefault(id, []).append(path)
        return [file for file in files if _rank(file[1]) == _rank(self._paths[file[0]][-1])]

    def _read(self, found: UnreadSession) -> Reading:
        path = Path(found.path)
        if path.suffix == ".zst":
            return Reading(problem="it is packed: `unzstd --keep` beside it has it read")
        conversation, copied = SessionBuilder(found), 0
        for earlier, end in self._earlier(path, math.inf, _MOST_PARENTS):
            own, behind = codex.ids_of(earlier)[0] == found.id, SessionBuilder(found)
            self.tell(conversation, (each for each in _records(earlier) if _ordinal(each) < end))
            self.tell(behind, (each for each in _records(earlier) if own and _ordinal(each) >= end))
            conversation.skipped["taken back"] += behind.prompts
            conversation.pause()
            if not own:
                copied = conversation.prompts
                conversation.skipped.clear()
        self.tell(conversation, conversation.records())
        return conversation.reading().model_copy(update={"copied": copied})

    def _earlier(self, path: Path, end: float, most: int) -> Iterator[tuple[Path, float]]:
        """The files that one begins with, the first one first, and the record before which each of them ends."""
        session, at = codex.base_of(next(_records(path), dict[str, Any]()))
        there = [each for each in self._paths.get(session, ()) if codex.ids_of(each)[1] < codex.ids_of(path)[1]]
        if there and most:
            before, end = there[-1], min(at, end)
            yield from self._earlier(before, end, most - 1)
            yield before, end


def _rank(path: Path) -> tuple[bool, str]:
    """Of several files of a session the one that ranks highest is how it stands."""
    return path.suffix != ".zst", codex.ids_of(path)[1]


def _sessions_in(typed: Path) -> frozenset[str] | None:
    """The sessions in a list of what was typed; None where there is no such list."""
    try:
        return _read_list(typed, os.stat(typed).st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=16)
def _read_list(path: Path, changed: int) -> frozenset[str] | None:
    del changed
    with open_regular(path) as file:
        said = file.read(LONG_LINE).decode("utf-8", "replace").strip()
    return frozenset(_SESSION_ID.findall(said)) if said[:1] == "[" and said[-1:] == "]" else None


def _ordinal(record: dict[str, Any]) -> int:
    return number(record.get("ordinal")) or 0


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a parent; none where it cannot be read."""
    try:
        yield from records(path, Counter())
    except OSError:
        return
