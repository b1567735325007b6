"""Tools of agent programs, recognised by name and schema: those that write a file, run a command, open a skill or
search."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from etude.records import Tool, ToolCall, digest
from etude.simulation.schemas import fill

_SHELLS = re.compile(
    r"^(?:local_)?(?:bash|shell|sh|terminal)$|^run(?:_shell)?_?command$|^run_terminal_cmd$|^exec(?:ute)?(?:_bash|_command)?$"
)
_WRITES = re.compile(r"^(?:write|create|save)(?:_?(?:file|text_file|new_file))?$|^file_(?:write|create)$")
_READS = re.compile(r"^(?:read|view|open|cat)(?:_?(?:file|text_file))?$")
_SEARCHES = re.compile(r"^(?:mcp__\w+__)?search$")
_SKILLS = frozenset(("skill", "activate_skill", "invoke_skill", "load_skill", "use_skill"))

_PATHS = ("path", "file_path", "filepath", "filename", "file", "absolute_path", "target_file")
_CONTENTS = ("content", "contents", "text", "file_text", "data", "body")
_COMMANDS = ("command", "cmd", "script", "commands")
_NAMES = ("skill", "name", "skill_name", "command")
_QUERIES = ("query", "q", "search", "question", "text", "keywords", "terms", "topic", "input")


def call_to_write(tools: Sequence[Tool], path: str, text: str) -> ToolCall | None:
    """A call of a tool that writes files. None when there is no such tool."""
    for tool in tools:
        place, content = _property(tool, _PATHS), _property(tool, _CONTENTS)
        if _WRITES.match(_plain(tool.name)) and place is not None and content is not None:
            return _call(tool, {place: path, content: text})
    return None


def call_to_print(tools: Sequence[Tool], path: str, text: str) -> ToolCall | None:
    """A call of a shell that writes a file. None when there is no shell."""
    folder = str(PurePosixPath(path).parent)
    before = "" if folder in (".", "/") else f"mkdir -p {shlex.quote(folder)} && "
    return _shell(tools, f"{before}printf '%s' {shlex.quote(text)} > {shlex.quote(path)}")


def call_to_open(tools: Sequence[Tool], skill: str, path: str | None) -> ToolCall | None:
    """A call that shows a skill: of the tool for skills, else of one that reads the file, else of a shell. None when
    there is nothing of the kind."""
    for tool in tools:
        named = _property(tool, _NAMES)
        if _plain(tool.name) in _SKILLS and named is not None:
            return _call(tool, {named: skill})
    if path is None:
        return None
    for tool in tools:
        place = _property(tool, _PATHS)
        if _READS.match(_plain(tool.name)) and place is not None:
            return _call(tool, {place: path})
    return _shell(tools, f"cat {shlex.quote(path)}")


def call_to_search(tools: Sequence[Tool], query: str) -> ToolCall | None:
    """A call of the tool `search`. None when there is no such tool."""
    for tool in tools:
        named = _property(tool, _QUERIES)
        if _SEARCHES.match(_plain(tool.name)) and named is not None:
            return _call(tool, {named: query})
    return None


def _shell(tools: Sequence[Tool], command: str) -> ToolCall | None:
    for tool in tools:
        name = _property(tool, _COMMANDS)
        if not _SHELLS.match(_plain(tool.name)) or name is None:
            continue
        takes_list = _properties(tool)[name].get("type") == "array"
        return _call(tool, {name: ["bash", "-lc", command] if takes_list else command})
    return None


def _plain(name: str) -> str:
    """`WriteFile`, `write-file` and `write_file` are one name."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("-", "_").casefold()


def _properties(tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    found: Any = tool.parameters.get("properties")
    return cast(Mapping[str, Mapping[str, Any]], found) if isinstance(found, Mapping) else {}


def _property(tool: Tool, names: Sequence[str]) -> str | None:
    """The first of these properties that the tool has, as it spells it."""
    spelt = {re.sub(r"[^a-z]", "", name.lower()): name for name in _properties(tool)}
    return next((spelt[bare] for name in names if (bare := name.replace("_", "")) in spelt), None)


def _call(tool: Tool, said: Mapping[str, Any]) -> ToolCall:
    """What else the schema requires gets an empty value of its type."""
    required = [name for name in cast(Sequence[str], tool.parameters.get("required", ())) if name not in said]
    properties = {name: shape for name, shape in _properties(tool).items() if name in required}
    more = fill({"type": "object", "properties": properties, "required": required}, {}) if properties else {}
    arguments = json.dumps({**said, **cast(Mapping[str, Any], more)}, ensure_ascii=False)
    return ToolCall(id=f"call_{digest([tool.name, arguments])[:12]}", name=tool.name, arguments=arguments)
