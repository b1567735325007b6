"""Pi: `~/.pi/agent/sessions/<folder>/<time>_<session>.jsonl`; `PI_CODING_AGENT_DIR` moves `~/.pi/agent`.

A header, then entries that form a tree by `id` and `parentId`. The conversation is the last entry with its ancestors;
the rest are ways that the user went back from. Files of the first version have no ids and no branches.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.lines import files_under, found_in, items, program_folder, table, texts
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_SKILL = '<skill name="'


class PiTranscripts(Source):
    """Transcripts of Pi."""

    name = "pi"

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        root = program_folder(home, environ, "PI_CODING_AGENT_DIR", ".pi", "agent") / "sessions"
        files = files_under(root, ".jsonl", depth=1)
        return found_in(self.name, ((path.stem.rpartition("_")[2], path, state) for path, state in files))

    def _read(self, found: Found) -> Reading:
        conversation = SessionBuilder(found)
        entries = list(conversation.records())
        for entry in entries:
            conversation.seen(entry.get("timestamp"), entry.get("cwd"))
        for entry in _branch(entries):
            _tell(conversation, entry)
        return conversation.reading()


def _branch(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last entry with its ancestors, the oldest first.

    An entry without a parent it could name follows the one before it: its line may be broken, and the first version
    of the format has no parents. `null` is the parent of a first entry.
    """
    body = [entry for entry in entries if entry.get("type") != "session"]
    places: dict[str, int] = {}
    for place, entry in enumerate(body):
        if isinstance(id := entry.get("id"), str):
            places.setdefault(id, place)
    branch: list[dict[str, Any]] = []
    place = len(body) - 1
    while place >= 0:
        entry = body[place]
        branch.append(entry)
        parent = entry.get("parentId", "")
        if parent is None:
            break
        known = places.get(parent) if isinstance(parent, str) else None
        # A parent comes before its children, so that this ends.
        place = known if known is not None and known < place else place - 1
    return branch[::-1]


def _tell(conversation: SessionBuilder, entry: dict[str, Any]) -> None:
    kind = entry.get("type")
    if kind == "compaction":
        conversation.skipped["compaction"] += 1
    elif kind in ("branch_summary", "custom_message"):
        conversation.skipped["meta"] += 1
    elif kind == "message":
        message = table(entry.get("message"))
        role = message.get("role")
        if role == "user":
            _user(conversation, entry, message)
        elif role == "assistant":
            _assistant(conversation, message)
        elif role == "toolResult":
            conversation.result(
                message.get("toolCallId"), "\n".join(texts(message.get("content"))), message.get("isError")
            )
        elif role == "compactionSummary":
            conversation.skipped["compaction"] += 1
        elif role is not None:
            # Commands that the user ran, the system prompt, and what extensions add.
            conversation.skipped["meta"] += 1


def _user(conversation: SessionBuilder, entry: dict[str, Any], message: dict[str, Any]) -> None:
    prompt = "\n".join(texts(message.get("content")))
    if prompt.startswith(_SKILL):
        # `/skill:name what to do` puts the skill before what the user typed.
        begin, _, behind = prompt.partition("</skill>")
        conversation.skill(begin.removeprefix(_SKILL).partition('"')[0])
        prompt = behind.strip()
    if prompt.strip():
        conversation.ask(prompt, entry.get("timestamp") or message.get("timestamp"))
    else:
        conversation.skipped["meta"] += 1
        conversation.pause()


def _assistant(conversation: SessionBuilder, message: dict[str, Any]) -> None:
    conversation.say("\n".join(texts(message.get("content"))))
    for block in map(table, items(message.get("content"))):
        if block.get("type") == "toolCall":
            conversation.call(block.get("id"), block.get("name"), block.get("arguments"))
    if message.get("stopReason") in ("error", "aborted"):
        conversation.stop()
