"""Qwen Code: `~/.qwen/projects/<folder>/chats/<session>.jsonl`; `QWEN_RUNTIME_DIR` or `QWEN_HOME` moves `~/.qwen`.

One record a line: `user`, `assistant`, `tool_result` with parts in the form of Gemini, and `system` notes.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.lines import (
    files_under,
    found_in,
    items,
    once,
    program_folder,
    table,
    text,
    without_notes,
)
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_NOTES = frozenset({"system-reminder", "session_context", "task-notification"})
_FAILED = {"success": False, "error": True, "cancelled": True}
_EXIT = re.compile(r"^Exit Code: (\d+)", re.MULTILINE)
_REFERENCED = "\n--- Content from referenced files ---"


class QwenCodeTranscripts(Source):
    """Transcripts of Qwen Code."""

    name = "qwen-code"

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        folder = program_folder(home, environ, "QWEN_HOME", ".qwen")
        root = program_folder(folder, environ, "QWEN_RUNTIME_DIR") / "projects"
        files = files_under(root, ".jsonl", depth=2)
        return found_in(self.name, ((path.stem, path, state) for path, state in files if path.parent.name == "chats"))

    def _read(self, found: Found) -> Reading:
        conversation = SessionBuilder(found)
        for record in once(conversation.records()):
            _tell(conversation, record)
        return conversation.reading()


def _tell(conversation: SessionBuilder, record: dict[str, Any]) -> None:
    if record.get("isSidechain") is True:
        conversation.skipped["sidechain"] += 1
        return
    at = record.get("timestamp")
    conversation.seen(at, record.get("cwd"))
    kind = record.get("type")
    parts = table(record.get("message")).get("parts")
    if kind == "system" and record.get("subtype") == "chat_compression":
        conversation.skipped["compaction"] += 1
    elif kind == "user":
        _user(conversation, record, parts, at)
    elif kind == "assistant":
        conversation.say(parts_text(parts))
        for called in [table(table(part).get("functionCall")) for part in items(parts)]:
            if called:
                conversation.call(called.get("id"), called.get("name"), called.get("args"))
                if called.get("name") == "skill":
                    conversation.skill(table(called.get("args")).get("skill"))
    elif kind == "tool_result":
        status = table(record.get("toolCallResult")).get("status")
        for part in items(parts):
            given = table(table(part).get("functionResponse"))
            result = answered(given)
            conversation.result(given.get("id"), result, has_failed(given.get("name"), status, result))


def _user(conversation: SessionBuilder, record: dict[str, Any], parts: Any, at: Any) -> None:
    prompt = typed(parts)
    if prompt.strip() and record.get("provenance", "real_user") == "real_user":
        conversation.ask(prompt, at)
    else:
        conversation.skipped["meta"] += 1


def typed(parts: Any) -> str:
    """What the user typed: without notes, and without the files that the program put behind it for each `@path`."""
    return without_notes(parts_text(parts).partition(_REFERENCED)[0], _NOTES)


def parts_text(parts: Any) -> str:
    """The text of parts in the form of Gemini, thoughts left out."""
    if isinstance(parts, str):
        return text(parts)
    pieces = [table(part) for part in items(parts)]
    return "".join(text(part.get("text")) for part in pieces if part.get("thought") is not True)


def has_failed(tool: Any, status: Any, result: Any) -> bool | None:
    """Whether a tool failed; None where it is not said. A shell command that ended with an error is a success to
    older versions, whose result names the code."""
    codes = _EXIT.findall(result) if tool == "run_shell_command" and isinstance(result, str) else ()
    if codes and codes[-1] != "0":
        return True
    return _FAILED.get(status) if isinstance(status, str) else None


def answered(response: dict[str, Any]) -> Any:
    """What a `functionResponse` gives back: its output or its error, else all of it."""
    given = table(response.get("response"))
    return given.get("output", given.get("error", response.get("response")))
