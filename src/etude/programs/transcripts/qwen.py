"""Qwen Code: one record a line: `user`, `assistant`, `tool_result` with parts in the form of Gemini, and `system`
notes."""

import re
from collections.abc import Iterable
from typing import Any

from etude.programs.transcripts.listener import Branches, Listener
from etude.programs.transcripts.values import once, table, tables, text, without_notes

_NOTES = frozenset({"system-reminder", "session_context", "task-notification"})
_FAILED = {"success": False, "error": True, "cancelled": True}
_SHELL = "run_shell_command"
_EXIT = re.compile(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)
_GROUP = re.compile(r"^Process Group PGID: \d+\n", re.MULTILINE)
"""A number that differs from run to run, in what a command printed."""
_REFERENCED = "\n--- Content from referenced files ---"
_ANSWERS = "User has provided the following answers:\n\n"
_HEADER = re.compile(r"^\*\*[^*\n]*\*\*: ", re.MULTILINE)


def tell(listener: Listener, records: Iterable[dict[str, Any]]) -> None:
    """What happened, by the records of a session."""
    branches = Branches()
    for record in once(records):
        if record.get("isSidechain") is True:
            listener.skipped["sidechain"] += 1
            continue
        branches.add(text(record.get("uuid")), text(record.get("parentUuid")), prompt=record.get("type") == "user")
        _tell(listener, record)
    listener.take_back(branches.left())


def _tell(listener: Listener, record: dict[str, Any]) -> None:
    at = record.get("timestamp")
    listener.seen(at, record.get("cwd"))
    kind = record.get("type")
    parts = table(record.get("message")).get("parts")
    if kind == "system" and record.get("subtype") == "chat_compression":
        listener.skipped["compaction"] += 1
    elif kind == "user":
        prompt = typed(parts)
        if prompt.strip() and record.get("provenance", "real_user") == "real_user":
            listener.ask(prompt, at, id=text(record.get("uuid")))
        else:
            listener.skipped["meta"] += 1
    elif kind == "assistant":
        listener.say(parts_text(parts))
        for called in [table(part.get("functionCall")) for part in tables(parts)]:
            if called:
                listener.call(called.get("id"), called.get("name"), called.get("args"))
                if called.get("name") == "skill":
                    listener.skill(table(called.get("args")).get("skill"))
    elif kind == "tool_result":
        status = table(record.get("toolCallResult")).get("status")
        for part in tables(parts):
            _result(listener, table(part.get("functionResponse")), status, at)


def _result(listener: Listener, given: dict[str, Any], status: Any, at: Any) -> None:
    name, result = given.get("name"), answered(given)
    listener.result(given.get("id"), result, has_failed(status), code_of(name, status, result))
    if name == "ask_user_question" and isinstance(result, str) and result.startswith(_ANSWERS):
        listener.ask(_HEADER.sub("", result.removeprefix(_ANSWERS)), at, meanwhile=True)


def typed(parts: Any) -> str:
    """What the user typed: without notes, and without the files that the program put behind it for each `@path`."""
    return without_notes(parts_text(parts).partition(_REFERENCED)[0], _NOTES)


def parts_text(parts: Any) -> str:
    """The text of parts in the form of Gemini, thoughts left out."""
    if isinstance(parts, str):
        return text(parts)
    return "".join(text(part.get("text")) for part in tables(parts) if part.get("thought") is not True)


def has_failed(status: Any) -> bool | None:
    """Whether a tool failed; None where it is not said."""
    return _FAILED.get(status) if isinstance(status, str) else None


def code_of(tool: Any, status: Any, result: Any) -> int | None:
    """How a shell command ended, whose result names the code if it is not 0; None for other tools, and where it is
    not said."""
    if tool != _SHELL or not isinstance(result, str):
        return None
    codes = _EXIT.findall(result)
    return int(codes[-1]) if codes else 0 if status == "success" else None


def answered(response: dict[str, Any]) -> Any:
    """What a `functionResponse` gives back: its output or its error, else all of it."""
    given = table(response.get("response"))
    found = given.get("output", given.get("error", response.get("response")))
    return _GROUP.sub("", found) if isinstance(found, str) else found
