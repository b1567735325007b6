"""Pi: a header, then entries that form a tree by `id` and `parentId`. The conversation is the last entry with its
ancestors; the rest are ways that the user went back from. Files of the first version have no ids and no branches.
"""

import re
from collections.abc import Iterable
from typing import Any

from etude.programs.transcripts.listener import Branches, Listener
from etude.programs.transcripts.values import table, tables, text, texts

_SKILL = '<skill name="'
_EXITED = re.compile(r"\n*Command exited with code (\d{1,9})\s*\Z")


def tell(listener: Listener, records: Iterable[dict[str, Any]]) -> None:
    """What happened, by the entries of a session."""
    branches, known = Branches(), set[str]()
    for place, entry in enumerate(records):
        listener.seen(entry.get("timestamp"), entry.get("cwd"))
        if entry.get("type") == "session":
            continue
        # An entry without a parent it could name follows the one before it: its line may be broken.
        id, parent = text(entry.get("id")) or f"#{place}", entry.get("parentId", "")
        follows = text(parent) if text(parent) in known else branches.last
        follows = branches.START if parent is None else follows
        known.add(id)
        branches.add(id, follows, prompt=table(entry.get("message")).get("role") == "user")
        _tell(listener, entry, id)
    listener.take_back(branches.left())


def _tell(listener: Listener, entry: dict[str, Any], id: str) -> None:
    kind = entry.get("type")
    if kind == "compaction":
        listener.skipped["compaction"] += 1
    elif kind in ("branch_summary", "custom_message"):
        listener.skipped["meta"] += 1
    elif kind == "message":
        message = table(entry.get("message"))
        role = message.get("role")
        if role == "user":
            _user(listener, entry, message, id)
        elif role == "assistant":
            _assistant(listener, message)
        elif role == "toolResult":
            _result(listener, message)
        elif role == "compactionSummary":
            listener.skipped["compaction"] += 1
        elif role is not None:
            # Commands that the user ran, the system prompt, and what extensions add.
            listener.skipped["meta"] += 1


def _user(listener: Listener, entry: dict[str, Any], message: dict[str, Any], id: str) -> None:
    prompt = "\n".join(texts(message.get("content")))
    if prompt.startswith(_SKILL):
        # `/skill:name what to do` puts the skill before what the user typed.
        begin, _, behind = prompt.partition("</skill>")
        listener.skill(begin.removeprefix(_SKILL).partition('"')[0])
        prompt = behind.strip()
    if prompt.strip():
        listener.ask(prompt, entry.get("timestamp") or message.get("timestamp"), id=id)
    else:
        listener.skipped["meta"] += 1
        listener.pause()


def _assistant(listener: Listener, message: dict[str, Any]) -> None:
    listener.say("\n".join(texts(message.get("content"))))
    for block in tables(message.get("content")):
        if block.get("type") == "toolCall":
            listener.call(block.get("id"), block.get("name"), block.get("arguments"))
    if message.get("stopReason") in ("error", "aborted"):
        listener.stop()


def _result(listener: Listener, message: dict[str, Any]) -> None:
    id, said, failed = message.get("toolCallId"), "\n".join(texts(message.get("content"))), message.get("isError")
    code: int | None = None
    if listener.tool(id) == "bash":
        ending = _EXITED.search(said)
        code = int(ending[1]) if ending else 0 if failed is False else None
    listener.result(id, said, failed, code)
