"""The tools of one attempt: what the model knows of them, and carrying out its calls."""

import functools
import inspect
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import Field, JsonValue, ValidationError, field_validator

from etude.agents.file_tools import FileTools, Result, ToolMisuse
from etude.agents.shell import Shell
from etude.errors import BoundaryError, EtudeError
from etude.protocols import EnvironmentTool
from etude.readable import cut_middle
from etude.records import Record, Tool, ToolCall

OwnTool = Literal["bash", "read", "write", "edit"]
OWN_TOOLS: tuple[OwnTool, ...] = ("bash", "read", "write", "edit")

_QUOTED_CHARS = 400


@dataclass(frozen=True)
class ToolContext:
    """What tools work with in one attempt."""

    files: FileTools
    shell: Shell | None
    """None when `bash` is not among the tools."""


class _Arguments(Record):
    """Arguments of a tool of ours, and what it does with them. The model reads the docstring."""

    @field_validator("*")
    @classmethod
    def _is_text(cls, value: object) -> object:
        if isinstance(value, str):
            if "\0" in value:
                raise ValueError("must not hold a zero character")
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError("holds half of a surrogate pair, which is not a character") from None
        return value

    @abstractmethod
    async def carry_out(self, desk: ToolContext) -> Result: ...


class _Bash(_Arguments):
    """Run a command in bash. It starts in the workspace, in a new shell each time: variables, the current folder and
    programs in the background do not outlast it. Nothing can type into it."""

    command: str = Field(min_length=1, description="What to run; may have several lines.")

    async def carry_out(self, desk: ToolContext) -> Result:
        assert desk.shell is not None
        return await desk.shell.run(self.command)


class _Read(_Arguments):
    """Read a text file, or the names in a folder."""

    path: str = Field(min_length=1, description="Path, relative to the workspace.")
    first_line: int = Field(default=1, ge=1, description="Number of the first line to read.")
    lines: int = Field(default=2000, ge=1, description="Most lines to read.")

    async def carry_out(self, desk: ToolContext) -> Result:
        return Result(desk.files.read(self.path, self.first_line, self.lines))


class _Write(_Arguments):
    """Write a text file; one that is there is replaced."""

    path: str = Field(min_length=1, description="Path, relative to the workspace. Missing folders are made.")
    content: str = Field(description="The whole text of the file.")

    async def carry_out(self, desk: ToolContext) -> Result:
        return Result(desk.files.write(self.path, self.content))


class _Edit(_Arguments):
    """Replace a text in a file by another."""

    path: str = Field(min_length=1, description="Path, relative to the workspace.")
    old: str = Field(min_length=1, description="The text to replace, exactly as it stands there; it must occur once.")
    new: str = Field(description="What to put in its place.")

    async def carry_out(self, desk: ToolContext) -> Result:
        return Result(desk.files.edit(self.path, self.old, self.new))


_OWN: Mapping[OwnTool, type[_Arguments]] = {"bash": _Bash, "read": _Read, "write": _Write, "edit": _Edit}


class Toolbox:
    """The tools of one attempt: those of ours that `own` names, which work with the desk, and those that the
    environment brought; one of these with the name of ours takes its place. Results of more than `output_chars`
    characters lose their middle."""

    def __init__(
        self, desk: ToolContext, own: Sequence[OwnTool], brought: Sequence[EnvironmentTool], output_chars: int
    ) -> None:
        self._desk = desk
        self._brought = {tool.name: tool for tool in brought}
        self._own: dict[str, type[_Arguments]] = {name: _OWN[name] for name in own if name not in self._brought}
        self._output_chars = output_chars

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model reads."""
        own = (_described(name, kind) for name, kind in self._own.items())
        brought = (
            Tool(name=tool.name, description=tool.description, parameters=dict(tool.parameters))
            for tool in self._brought.values()
        )
        return (*own, *brought)

    async def run(self, call: ToolCall, *, cut_off: bool) -> Result:
        """Carry out a call. The result says what the model did wrong; where the reply was `cut_off` at its output
        limit, the call may be incomplete. Raises BoundaryError: a tool of the environment failed."""
        try:
            result = await self._carry_out(call)
        except ToolMisuse as error:
            remarks = ("[the reply reached its output limit; write less at a time]",) if cut_off else ()
            result = Result(f"error: {error}", remarks)
        shown = [part for part in (cut_middle(result.text, self._output_chars), *result.remarks) if part]
        return Result("\n".join(shown) if shown else "(no output)", exit_code=result.exit_code)

    async def _carry_out(self, call: ToolCall) -> Result:
        given = arguments_of(call)
        if call.name not in self._own and call.name not in self._brought:
            names = ", ".join((*self._own, *self._brought)) or "none"
            raise ToolMisuse(f"there is no tool {call.name!r}; tools: {names}")
        if given is None:
            raise ToolMisuse(f"the arguments are not a JSON object: {cut_middle(call.arguments, _QUOTED_CHARS)}")
        if call.name in self._brought:
            return Result(await _bring(self._brought[call.name], given))
        return await _checked(call.name, self._own[call.name], given).carry_out(self._desk)


def arguments_of(call: ToolCall) -> dict[str, JsonValue] | None:
    """The arguments of a call; None when they are not a JSON object. Some servers write nothing for none."""
    try:
        given: Any = json.loads(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        return None
    return cast(dict[str, JsonValue], given) if isinstance(given, dict) else None


@functools.cache
def _described(name: str, kind: type[_Arguments]) -> Tool:
    schema = cast(dict[str, Any], _without_titles(kind.model_json_schema()))
    schema.pop("description", None)
    return Tool(name=name, description=" ".join((inspect.getdoc(kind) or "").split()), parameters=schema)


def _without_titles(schema: Any) -> Any:
    """Titles only repeat the names of the fields, none of which is called so."""
    if not isinstance(schema, dict):
        return schema
    fields = cast(dict[str, Any], schema).items()
    return {key: _without_titles(value) for key, value in fields if key != "title"}


def _checked(name: str, kind: type[_Arguments], given: Mapping[str, JsonValue]) -> _Arguments:
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)]
        raise _wrong_arguments(name, problems, list(kind.model_fields)) from None


async def _bring(tool: EnvironmentTool, given: Mapping[str, JsonValue]) -> str:
    """Call a tool of the environment. Names are checked here, its code sees to the values."""
    known = list(cast(Mapping[str, Any], tool.parameters.get("properties", {})))
    required = cast(Sequence[str], tool.parameters.get("required", ()))
    problems = [f"{name}: Field required" for name in required if name not in given]
    # What a schema does not forbid, code that reads its arguments by name would stumble over.
    if known and not tool.parameters.get("additionalProperties"):
        problems += [f"{name}: Extra inputs are not permitted" for name in given if name not in known]
    if problems:
        raise _wrong_arguments(tool.name, problems, known)
    try:
        return await tool.call(given)
    except EtudeError:
        raise
    except Exception as error:  # the boundary: whatever a tool raises is its failure
        raise BoundaryError(f"environment tool {tool.name!r}", error) from error


def _wrong_arguments(name: str, problems: Sequence[str], known: Sequence[str]) -> ToolMisuse:
    return ToolMisuse(
        f"wrong arguments for {name!r}: {'; '.join(problems)}. It takes: {', '.join(known) or 'nothing'}"
    )
