"""Copilot Chat in VS Code. Written after a description of its files, not tried on any of its own."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, cast
from urllib.parse import unquote, urlsplit

from etude.programs.transcripts.values import items, table, text
from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.lines import files_under, found_in, read_object
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_EXTENSION = "github.copilot-chat"
_EDITIONS = ("Code", "Code - Insiders")
_STOPPED = (2, 3)
_COMPLETE = 1


class VSCodeCopilotTranscripts(Source):
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
        conversation = SessionBuilder(found)
        state: Any = {}
        for operation in conversation.records():
            try:
                state = _applied(operation, state)
            except (LookupError, TypeError):
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


def _applied(operation: dict[str, Any], state: Any) -> Any:
    """The state after an operation: 0 is a new state; at a path, 1 sets a value, 2 adds to a list, from an index on
    when there is one, and 3 deletes. Raises LookupError or TypeError: it does not fit the state."""
    kind, path = operation.get("kind"), items(operation.get("k"))
    if kind == 0:
        return operation["v"]
    holder = state
    for key in path[:-1]:
        holder = holder[key]
    if kind == 1:
        holder[path[-1]] = operation.get("v")
    elif kind == 2:
        values, start = holder[path[-1]], operation.get("i")
        if not isinstance(values, list):
            raise TypeError("nothing can be added to what is no list")
        values[len(cast(list[Any], values)) if start is None else start :] = items(operation.get("v"))
    elif kind == 3:
        del holder[path[-1]]
    else:
        raise LookupError("there is no such operation")
    return state


def _tell(request: dict[str, Any], conversation: SessionBuilder) -> None:
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


def _answered(parts: list[Any], conversation: SessionBuilder) -> None:
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


def _used(part: dict[str, Any], conversation: SessionBuilder) -> None:
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
