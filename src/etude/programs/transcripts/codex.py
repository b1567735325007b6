"""Codex: lines are `{"timestamp", "type", "payload"}`. All is said twice: as `response_item` (what the model saw, the
same in all versions) and as `event_msg` (what the screen showed). Items are read, and of events only what items lack:
how commands ended and how the turn did.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.pasted import plan_of_agent
from etude.programs.transcripts.values import items, number, object_of, shown, table, tables, text, without_notes

_NOTES = frozenset(
    re.findall(
        r"[\w-]+",
        "INSTRUCTIONS apps_instructions codex_internal_context environment_context hook_prompt permissions "
        "skills_instructions subagent_notification user_instructions user_shell_command",
    )
)
_AGENTS = "# AGENTS.md instructions"
_ATTACHED = re.compile(r"\s*# [^\n]+:\n[\s\S]*?^## My request for Codex:", re.MULTILINE)
"""What an editor or the desktop program puts before what was typed: open tabs, files, comments."""
_PLAN = re.compile(r"\s*(?:PLEASE IMPLEMENT THIS PLAN:|A previous agent produced the plan below[^\n]*)\n+(?=\S)")
"""What the program says for the user who accepts a plan; the plan stands below."""
_SKILL = re.compile(r"\A<skill>\s*<name>([^<]*)</name>")
_EXIT = re.compile(r"(?:Process exited with code|Exit code:) (-?\d+)")
_OUTPUT = "\nOutput:\n"
_QUESTIONS = "request_user_input"
_NOTE = "user_note: "
_ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = re.compile(rf"({_ID})(?:_({_ID}))?\Z")


def tell(listener: Listener, records: Iterable[dict[str, Any]]) -> None:
    """What happened, by the lines of a session. What a subagent did is left out."""
    scripted = False
    for record in records:
        kind, payload = opened(record)
        at = record.get("timestamp")
        listener.seen(at)
        if kind == "session_meta":
            listener.seen(payload.get("timestamp"), payload.get("cwd"))
            by_codex = {"subagent", "internal"} & table(payload.get("source")).keys()
            if by_codex or payload.get("thread_source") in ("subagent", "memory_consolidation"):
                listener.skipped["subagent"] += 1
                break
            listener.forked(payload.get("forked_from_id"))
            scripted = scripted or payload.get("source") in ("exec", "mcp")
        elif kind == "turn_context":
            listener.seen(None, payload.get("cwd"))
        elif kind == "compacted":
            listener.skipped["compaction"] += 1
        elif kind == "response_item":
            _item(listener, payload, at, scripted)
        elif kind == "event_msg":
            _event(listener, payload)


def opened(record: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The type of a line and what it says; the first versions wrote items without an envelope."""
    return (record.get("type"), table(record["payload"])) if "payload" in record else ("response_item", record)


def ids_of(path: Path) -> tuple[str, str]:
    """The session of a file, and what tells the file from earlier ones of it: ids that are made later sort later."""
    stem = path.name.partition(".jsonl")[0]
    named = _NAME.search(stem)
    return (named[1], named[2] or named[1]) if named else (stem, stem)


def base_of(record: dict[str, Any]) -> tuple[str, int]:
    """The session that one goes on from, by its first record, and the record of that before which it does; empty
    where it begins by itself."""
    base = table(opened(record)[1].get("history_base"))
    end = number(base.get("end_ordinal_exclusive"))
    return (text(base.get("thread_id")), end) if end is not None else ("", 0)


def _item(listener: Listener, item: dict[str, Any], at: Any, scripted: bool) -> None:
    kind = text(item.get("type"))
    if kind == "message" and item.get("role") == "user":
        _user(listener, item, at, scripted)
    elif kind == "message" and item.get("role") == "assistant":
        listener.say(shown(item.get("content")))
    elif kind.endswith("_call_output"):
        _result(listener, item, at)
    elif kind.endswith("_call"):
        arguments = item.get("arguments", item.get("input", item.get("action")))
        if isinstance(arguments, str):
            arguments = object_of(arguments.encode("utf-8", "replace")) or arguments
        listener.call(item.get("call_id", item.get("id")), item.get("name", kind.removesuffix("_call")), arguments)


def _user(listener: Listener, item: dict[str, Any], at: Any, scripted: bool) -> None:
    """A message of the role `user`. Newer versions tell of each part whether the user wrote it."""
    kinds = items(table(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds"))
    content = item.get("content")
    blocks = tables(content) or [{"text": content}]
    typed: list[str] = []
    for place, block in enumerate(blocks):
        kind = text(kinds[place]) if place < len(kinds) else ""
        part = text(block.get("text"))
        if part.startswith("<turn_aborted>"):
            listener.stop()
        elif skill := _SKILL.match(part):
            listener.skill(skill[1])
        elif not kind or kind.startswith("user.") or kind == "unknown":
            typed.append(_typed(part))
    prompt = "\n".join(part for part in typed if part.strip())
    if prompt:
        listener.ask(prompt, at, scripted=scripted)
    else:
        listener.skipped["meta"] += 1


def _typed(part: str) -> str:
    """What the user typed of a text: without instructions, surroundings and what the editor puts before it."""
    if part.startswith(_AGENTS):
        part = part.partition("</INSTRUCTIONS>")[2].strip()
    part = without_notes(part, _NOTES)
    attached = _ATTACHED.match(part)
    part = part[attached.end() :].strip() if attached else part
    plan = _PLAN.match(part)
    return f"{plan[0]}{plan_of_agent(part[plan.end() :])}" if plan else part


def _result(listener: Listener, item: dict[str, Any], at: Any) -> None:
    id, output = item.get("call_id", item.get("id")), item.get("output")
    failed: bool | None = None
    code: int | None = None
    if isinstance(output, dict):
        values = table(item.get("output"))
        failed = not values["success"] if isinstance(values.get("success"), bool) else None
        output = values.get("content", values)
    output = shown(output)
    if isinstance(output, str):
        output, code = _unwrapped(output)
    listener.result(id, output, failed, code)
    if listener.tool(id) == _QUESTIONS and isinstance(output, str):
        answers = table((object_of(output.encode("utf-8", "replace")) or {}).get("answers"))
        each = (text(answer) for one in answers.values() for answer in items(table(one).get("answers")))
        words = "\n".join(filter(None, (answer.removeprefix(_NOTE) for answer in each)))
        if words:
            listener.ask(words, at, meanwhile=True)


def _unwrapped(output: str) -> tuple[str, int | None]:
    """What a command printed and its exit code, out of what the model is shown: JSON, or a few lines before it."""
    wrapped = object_of(output.encode("utf-8", "replace")) if output.startswith("{") else None
    if wrapped is not None and "output" in wrapped:
        return text(wrapped["output"]), number(table(wrapped.get("metadata")).get("exit_code"))
    before, mark, printed = f"\n{output}".partition(_OUTPUT)
    code = _EXIT.search(before) if mark else None
    return (printed, int(code[1]) if code and len(code[1]) < 12 else None) if mark else (output, None)


def _event(listener: Listener, event: dict[str, Any]) -> None:
    kind, item = event.get("type"), table(event.get("item"))
    if kind == "item_completed" and item.get("type") == "CommandExecution":
        listener.result(item.get("id"), exit_code=number(item.get("exit_code")))
    elif kind == "exec_command_end":
        listener.result(event.get("call_id"), exit_code=number(event.get("exit_code")))
    elif kind == "patch_apply_end":
        listener.result(event.get("call_id"), failed=event.get("success") is False)
    elif kind == "turn_aborted":
        listener.stop()
    elif kind == "thread_rolled_back":
        listener.drop(number(event.get("num_turns")) or 0)
    elif kind in ("task_complete", "turn_complete"):
        if table(event.get("error")):
            listener.stop()
        elif event.get("last_agent_message") is not None:
            listener.done()
