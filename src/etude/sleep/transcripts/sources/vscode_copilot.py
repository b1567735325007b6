"""Copilot Chat in VS Code. Written after a description of its files, not tried on any of its own."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, cast
from urllib.parse import unquote, urlsplit

from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.base import Source
from etude.sleep.transcripts.sources.conversation import Conversation
from etude.sleep.transcripts.sources.lines import files_under, found_in, items, read_object, table, text

_EXTENSION = "github.copilot-chat"
_EDITIONS = ("Code", "Code - Insiders")
_STOPPED = (2, 3)
_COMPLETE = 1


class VSCodeCopilot(Source):
    """`User/workspaceStorage/<id>/chatSessions/*.jsonl` of every edition; each file is a log of operations on one
    JSON value."""

    name: ClassVar[str] = "vscode-copilot"
    verified: ClassVar[bool] = False

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        files = [
            (path.stem, path, state)
            for root in _storages(home, environ)
            for path, state in files_under(root, ".jsonl", 2)
            if len(path.parts) == len(root.parts) + 3 and path.parent.name == "chatSessions"
        ]
        return found_in(self.name, files)

    def _read(self, found: Found) -> Reading:
        conversation = Conversation(found)
        state: Any = {}
        for operation in conversation.records():
            valid, state = _applied(operation, state)
            if not valid:
                conversation.skipped["broken line"] += 1
        session = table(state)
        conversation.seen(session.get("creationDate"), _project(Path(found.path).parents[1]))
        for request in map(table, items(session.get("requests"))):
            _tell(request, conversation)
        return conversation.reading()


def _storages(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    below = Path("User") / "workspaceStorage"
    portable = environ.get("VSCODE_PORTABLE", "")
    if os.path.isabs(portable):
        yield Path(portable) / "user-data" / below
    moved = environ.get("XDG_CONFIG_HOME", "")
    for folder in (
        Path(moved) if os.path.isabs(moved) else home / ".config",
        home / "Library" / "Application Support",
    ):
        for edition in _EDITIONS:
            yield folder / edition / below


def _applied(operation: dict[str, Any], state: Any) -> tuple[bool, Any]:
    """Whether the operation fits the state, and the state after it. 0 is a new state; at a path: 1 sets a value,
    2 adds to a list, from an index on when there is one, and 3 deletes."""
    kind, path = operation.get("kind"), items(operation.get("k"))
    if kind == 0:
        return "v" in operation, operation.get("v", state)
    if kind not in (1, 2, 3) or not path:
        return False, state
    holder = state
    for key in path[:-1]:
        holder = _at(holder, key)
    if kind == 2:
        return _extended(_at(holder, path[-1]), operation), state
    return _replaced(holder, path[-1], operation, delete=kind == 3), state


def _at(holder: Any, key: Any) -> Any:
    """The value under a key; None where there is none."""
    if isinstance(holder, dict) and isinstance(key, str):
        return cast(dict[str, Any], holder).get(key)
    if isinstance(holder, list) and _index(key, len(cast(list[Any], holder))):
        return cast(list[Any], holder)[key]
    return None


def _index(key: Any, length: int) -> bool:
    return isinstance(key, int) and not isinstance(key, bool) and 0 <= key < length


def _extended(target: Any, operation: dict[str, Any]) -> bool:
    start = operation.get("i")
    if not isinstance(target, list) or not isinstance(operation.get("v", []), list):
        return False
    values = cast(list[Any], target)
    if start is not None:
        if not _index(start, len(values) + 1):
            return False
        del values[start:]
    values += items(operation.get("v"))
    return True


def _replaced(holder: Any, key: Any, operation: dict[str, Any], *, delete: bool) -> bool:
    if isinstance(holder, dict) and isinstance(key, str):
        values = cast(dict[str, Any], holder)
        if delete:
            values.pop(key, None)
        else:
            values[key] = operation.get("v")
        return True
    if isinstance(holder, list) and _index(key, len(cast(list[Any], holder))):
        if delete:
            del holder[key]
        else:
            holder[key] = operation.get("v")
        return True
    return False


def _tell(request: dict[str, Any], conversation: Conversation) -> None:
    extension = table(request.get("agent")).get("extensionId")
    identifier = table(extension)
    named = text(extension) or text(identifier.get("_lower")) or text(identifier.get("value"))
    if named.lower() != _EXTENSION:
        conversation.skipped["other agent"] += 1
        return
    if request.get("isSystemInitiated"):
        conversation.skipped["meta"] += 1
        return
    prompt = text(table(request.get("message")).get("text"))
    if not prompt:
        conversation.skipped["empty"] += 1
        return
    at = request.get("timestamp")
    model = table(request.get("modelState"))
    conversation.ask(prompt, at)
    conversation.seen(at)
    conversation.seen(model.get("completedAt"))
    _answered(items(request.get("response")), conversation)
    if model.get("value") in _STOPPED or table(request.get("result")).get("errorDetails") is not None:
        conversation.stop()
    elif model.get("value") == _COMPLETE:
        conversation.done()


def _answered(parts: list[Any], conversation: Conversation) -> None:
    """Pieces of text that follow each other are one text."""
    said = ""
    for part in map(table, parts):
        kind = part.get("kind")
        if kind in (None, "markdownContent"):
            said += text(part.get("value"))
        elif kind == "toolInvocationSerialized":
            conversation.say(said)
            said = ""
            _used(part, conversation)
    conversation.say(said)


def _used(part: dict[str, Any], conversation: Conversation) -> None:
    details = table(part.get("resultDetails"))
    given = table(part.get("toolSpecificData"))
    conversation.call(part.get("toolCallId"), part.get("toolId"), details.get("input") or given.get("rawInput"))
    outputs = [text(output.get("value")) for output in map(table, items(details.get("output")))]
    if outputs:
        conversation.result(part.get("toolCallId"), "\n".join(outputs), details.get("isError") is True)


def _project(folder: Path) -> str:
    """The folder that was worked in: the workspace's, or the one with the file that lists several."""
    workspace: dict[str, Any] = {}
    with suppress(OSError):
        workspace = table(read_object(folder / "workspace.json"))
    if opened := _path(workspace.get("folder")):
        return opened
    listed = _path(workspace.get("workspace"))
    return os.path.dirname(listed) if listed else ""


def _path(uri: Any) -> str:
    """The path of a `file:` URI; empty for folders on other machines."""
    try:
        parts = urlsplit(text(uri))
    except ValueError:
        return ""
    path = text(unquote(parts.path))
    return path.rstrip("/") if parts.scheme == "file" and not parts.netloc and path != "/" else ""
