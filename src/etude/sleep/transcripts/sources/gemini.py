"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`; older versions, such as 0.21, wrote one JSON
object to a `.json`. `GEMINI_CLI_HOME` moves the home folder. Sessions of subagents, in folders below `chats`, are
left out.

Lines are messages, written again under their `id` when results of tools come in, and `{"$set": ...}` and
`{"$rewindTo": id}`. `$set.messages` is what the model remembers from then on: after a failure or a compression it
lacks what was said, so that only what it adds at its end is news.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.lines import (
    files_under,
    found_in,
    head,
    items,
    program_folder,
    read_object,
    table,
    text,
)
from etude.sleep.transcripts.sources.qwen import answered, has_failed, parts_text, typed
from etude.sleep.transcripts.sources.session_builder import LONGEST_PATH, SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_PATHS = ("file_path", "absolute_path", "dir_path", "path")
_ID = re.compile(r'"sessionId"\s*:\s*"([^"\\]+)"')
_LONG_FILE = 64 * 2**20
"""Bytes. Longer files of one JSON object are not read."""


class GeminiCliTranscripts(Source):
    """Transcripts of Gemini CLI."""

    name = "gemini-cli"

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        root = program_folder(home, environ, "GEMINI_CLI_HOME") / ".gemini" / "tmp"
        return found_in(
            self.name,
            (
                (_id(path), path, state)
                for suffix in (".json", ".jsonl")
                for path, state in files_under(root, suffix, depth=2)
                if path.parent.name == "chats" and path.name.startswith("session-")
            ),
        )

    def _read(self, found: Found) -> Reading:
        path = Path(found.path)
        conversation = SessionBuilder(found)
        log = _Log()
        lines = conversation.records() if path.suffix == ".jsonl" else _whole(path)
        for record in lines:
            log.take(record)
        if log.about.get("kind", "main") != "main":
            conversation.skipped["subagent"] += 1
            return conversation.reading()
        for key in ("startTime", "lastUpdated"):
            conversation.seen(log.about.get(key))
        for message in log.messages.values():
            _tell(conversation, message)
        if conversation.prompts:
            conversation.seen(None, _project(path, log))
        conversation.skipped["taken back"] += log.taken_back
        return conversation.reading()


class _Log:
    """The messages that the lines of a file come to, in order, by id."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {}
        self.messages: dict[str, dict[str, Any]] = {}
        self.taken_back = 0

    def take(self, record: dict[str, Any]) -> None:
        rewind = record.get("$rewindTo")
        if isinstance(rewind, str):
            while rewind in self.messages:
                _, message = self.messages.popitem()
                self.taken_back += message.get("type") == "user"
        elif isinstance(record.get("id"), str):
            self._put(record)
        else:
            patch = table(record.get("$set")) if "$set" in record else record
            begun = self.about.get("startTime", patch.get("startTime"))
            self.about |= {key: value for key, value in patch.items() if key != "messages"} | {"startTime": begun}
            self._remember([table(message) for message in items(patch.get("messages"))])

    def _put(self, message: dict[str, Any]) -> None:
        id = text(message.get("id"))
        known = self.messages.get(id)
        if known is not None:
            # Told again: without its tool calls when it is remembered only, and with the time of telling.
            message = {**message, "timestamp": known.get("timestamp")}
            if "toolCalls" in known and "toolCalls" not in message:
                return
        self.messages[id] = message

    def _remember(self, messages: Sequence[dict[str, Any]]) -> None:
        last = max((place for place, one in enumerate(messages) if text(one.get("id")) in self.messages), default=-1)
        if last < 0 and self.messages:
            return
        for message in messages[last + 1 :]:
            self._put(message)


def _whole(path: Path) -> Iterator[dict[str, Any]]:
    """The one object of a file. Raises OSError when there is none."""
    record = read_object(path, _LONG_FILE)
    if record is None:
        raise OSError(0, f"it is not a JSON object of at most {_LONG_FILE} bytes")
    yield record


def _tell(conversation: SessionBuilder, message: dict[str, Any]) -> None:
    at = message.get("timestamp")
    conversation.seen(at)
    content = message.get("content")
    if message.get("type") == "user":
        given = [table(table(part).get("functionResponse")) for part in items(content)]
        for response in given:
            conversation.result(response.get("id"), answered(response))
        prompt = typed(message.get("displayContent", content))
        if prompt.lstrip().startswith("<state_snapshot>"):
            conversation.skipped["compaction"] += 1
            conversation.pause()
        elif prompt.strip():
            conversation.ask(prompt, at)
        elif not any(given):
            conversation.skipped["meta"] += 1
    elif message.get("type") == "gemini":
        calls = [table(call) for call in items(message.get("toolCalls"))]
        calls = calls or [table(table(part).get("functionCall")) for part in items(content)]
        conversation.say(parts_text(content))
        for call in filter(None, calls):
            conversation.call(call.get("id"), call.get("name"), call.get("args"))
            if call.get("name") == "activate_skill":
                conversation.skill(table(call.get("args")).get("name"))
            _result(conversation, call)


def _result(conversation: SessionBuilder, call: dict[str, Any]) -> None:
    responses = [table(table(part).get("functionResponse")) for part in items(call.get("result"))]
    given = [answered(response) for response in responses if response]
    result = given[0] if len(given) == 1 else given or None
    conversation.result(call.get("id"), result, has_failed(call.get("name"), call.get("status"), result))


def _id(path: Path) -> str:
    """The id in the head of the file; the name of a file has only the beginning of it."""
    found = _ID.search(head(path))
    return found[1] if found else path.stem


def _project(path: Path, log: _Log) -> str:
    """The folder the session was in. Newer versions name it in a file next to `chats`; older ones give its SHA-256
    only: it is looked for among the folders that the program knows and those that tools were called with."""
    folder = path.parent.parent
    if root := head(folder / ".project_root").strip():
        return root
    wanted = log.about.get("projectHash", folder.name)
    known: dict[str, Any] = {}
    with suppress(OSError):
        known = table(table(read_object(folder.parent.parent / "projects.json")).get("projects"))
    calls = (table(call) for message in log.messages.values() for call in items(message.get("toolCalls")))
    used = (text(table(call.get("args")).get(key)) for call in calls for key in _PATHS)
    short = (PurePosixPath(text(each)) for each in (*known, *used) if len(each) <= LONGEST_PATH)
    folders = (str(each) for place in short for each in (place, *place.parents))
    return next((each for each in folders if hashlib.sha256(each.encode()).hexdigest() == wanted), "")
