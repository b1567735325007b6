"""Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` and `~/.codex/archived_sessions`;
`CODEX_HOME` moves `~/.codex`.

Lines are `{"timestamp", "type", "payload"}`. All is said twice: as `response_item` (what the model saw,
the same in all versions) and as `event_msg` (what the screen showed). Items are read, and of events only what items
lack: how commands ended and how the turn did.
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
    object_of,
    program_folder,
    table,
    text,
    without_notes,
)
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_NAME = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z")
_NOTES = frozenset(
    re.findall(
        r"[\w-]+",
        "INSTRUCTIONS apps_instructions codex_internal_context environment_context hook_prompt permissions "
        "skills_instructions subagent_notification user_instructions user_shell_command",
    )
)
_AGENTS = "# AGENTS.md instructions"
_REQUEST = "## My request for Codex:"
_SKILL = re.compile(r"\A<skill>\s*<name>([^<]*)</name>")
_EXIT = re.compile(r"(?:Process exited with code|Exit code:) (-?\d+)")
_OUTPUT = "\nOutput:\n"


class CodexTranscripts(Source):
    """Transcripts of Codex CLI."""

    name = "codex"

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        root = program_folder(home, environ, "CODEX_HOME", ".codex")
        return found_in(
            self.name,
            (
                (named[1] if (named := _NAME.search(path.stem)) else path.stem, path, state)
                for folder, depth in (("sessions", 3), ("archived_sessions", 0))
                for path, state in files_under(root / folder, ".jsonl", depth)
            ),
        )

    def _read(self, found: Found) -> Reading:
        conversation = SessionBuilder(found)
        for record in conversation.records():
            kind, payload = _opened(record)
            at = record.get("timestamp")
            conversation.seen(at)
            if kind == "session_meta":
                conversation.seen(payload.get("timestamp"), payload.get("cwd"))
                if "subagent" in table(payload.get("source")) or payload.get("thread_source") == "subagent":
                    conversation.skipped["subagent"] += 1
                    break
            elif kind == "turn_context":
                conversation.seen(None, payload.get("cwd"))
            elif kind == "compacted":
                conversation.skipped["compaction"] += 1
            elif kind == "response_item":
                _item(conversation, payload, at)
            elif kind == "event_msg":
                _event(conversation, payload)
        return conversation.reading()


def _opened(record: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The type of a line and what it says; the first versions wrote items without an envelope."""
    return (record.get("type"), table(record["payload"])) if "payload" in record else ("response_item", record)


def _item(conversation: SessionBuilder, item: dict[str, Any], at: Any) -> None:
    kind = text(item.get("type"))
    if kind == "message" and item.get("role") == "user":
        _user(conversation, item, at)
    elif kind == "message" and item.get("role") == "assistant":
        conversation.say(_texts(item.get("content")))
    elif kind.endswith("_call_output"):
        _result(conversation, item)
    elif kind.endswith("_call"):
        arguments = item.get("arguments", item.get("input", item.get("action")))
        if isinstance(arguments, str):
            arguments = object_of(arguments.encode("utf-8", "replace")) or arguments
        conversation.call(
            item.get("call_id", item.get("id")), item.get("name", kind.removesuffix("_call")), arguments
        )


def _user(conversation: SessionBuilder, item: dict[str, Any], at: Any) -> None:
    """A message of the role `user`. Newer versions tell of each part whether the user wrote it."""
    kinds = items(table(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds"))
    content = item.get("content")
    blocks = [table(block) for block in items(content)] or [{"text": content}]
    typed: list[str] = []
    for place, block in enumerate(blocks):
        kind = text(kinds[place]) if place < len(kinds) else ""
        part = text(block.get("text"))
        if part.startswith("<turn_aborted>"):
            conversation.stop()
        elif skill := _SKILL.match(part):
            conversation.skill(skill[1])
        elif not kind or kind.startswith("user.") or kind == "unknown":
            typed.append(_typed(part))
    prompt = "\n".join(part for part in typed if part.strip())
    if prompt:
        conversation.ask(prompt, at)
    else:
        conversation.skipped["meta"] += 1


def _typed(part: str) -> str:
    """What the user typed of a text: without instructions, surroundings and what the editor puts before it."""
    if part.startswith(_AGENTS):
        part = part.partition("</INSTRUCTIONS>")[2].strip()
    part = without_notes(part, _NOTES)
    if part.startswith("# Context from my IDE setup:") and _REQUEST in part:
        part = part.partition(_REQUEST)[2].strip()
    return part


def _result(conversation: SessionBuilder, item: dict[str, Any]) -> None:
    output = item.get("output")
    failed: bool | None = None
    if isinstance(output, dict):
        values = table(item.get("output"))
        failed = not values["success"] if isinstance(values.get("success"), bool) else None
        output = values.get("content", values)
    if isinstance(output, list):
        output = _texts(item.get("output"))
    if isinstance(output, str):
        output, exit_code = _unwrapped(output)
        failed = failed if exit_code is None else exit_code != 0
    conversation.result(item.get("call_id", item.get("id")), output, failed)


def _unwrapped(output: str) -> tuple[str, int | None]:
    """What a command printed and its exit code, out of what the model is shown: JSON, or a few lines before it."""
    wrapped = object_of(output.encode("utf-8", "replace")) if output.startswith("{") else None
    if wrapped is not None and "output" in wrapped:
        code = table(wrapped.get("metadata")).get("exit_code")
        return text(wrapped["output"]), code if isinstance(code, int) else None
    before, mark, printed = f"\n{output}".partition(_OUTPUT)
    code = _EXIT.search(before) if mark else None
    return (printed, int(code[1]) if code and len(code[1]) < 12 else None) if mark else (output, None)


def _event(conversation: SessionBuilder, event: dict[str, Any]) -> None:
    kind, item = event.get("type"), table(event.get("item"))
    if kind == "item_completed" and item.get("type") == "CommandExecution":
        _ended(conversation, item.get("id"), item.get("exit_code"))
    elif kind == "exec_command_end":
        _ended(conversation, event.get("call_id"), event.get("exit_code"))
    elif kind == "patch_apply_end":
        conversation.result(event.get("call_id"), failed=event.get("success") is False)
    elif kind == "turn_aborted":
        conversation.stop()
    elif kind == "thread_rolled_back":
        turns = event.get("num_turns")
        conversation.drop(turns if isinstance(turns, int) else 0)
    elif kind in ("task_complete", "turn_complete"):
        if table(event.get("error")):
            conversation.stop()
        elif event.get("last_agent_message") is not None:
            conversation.done()


def _ended(conversation: SessionBuilder, id: Any, code: Any) -> None:
    conversation.result(id, failed=code != 0 if isinstance(code, int) else None)


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return text(content)
    return "\n".join(text(table(block).get("text")) for block in items(content) if "text" in table(block))
