"""The tools of an agent as an MCP server over standard input and output (Model Context Protocol)."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from etude.cli.mcp.tools import VerbRunner
from etude.errors import EtudeError

P = ParamSpec("P")
_READS = ToolAnnotations(read_only_hint=True)
_SPENDS = ToolAnnotations(read_only_hint=False, destructive_hint=False)
_ABOUT = """\
etude trains agent skills (SKILL.md) on tasks and says whether they are better. Begin with `plan`, then `train`, and
ask `status` from time to time. Explain a result with `show`, `blame` and `diff`. What a night proposes is for the
person to adopt: tell them `etude sleep review`. What costs money stays within a cap that only the person can set."""


def serve(desk: VerbRunner) -> None:
    """Serve until the agent ends the connection."""
    try:
        server_of(desk).run("stdio")
    finally:
        desk.close()


def server_of(desk: VerbRunner) -> MCPServer:
    """A server whose tools do what `desk` does."""
    server = MCPServer("etude", instructions=_ABOUT)

    def tool(about: str, annotations: ToolAnnotations = _READS) -> Callable[[Callable[P, Awaitable[Any]]], None]:
        def add(work: Callable[P, Awaitable[Any]]) -> None:
            server.tool(description=about, annotations=annotations, structured_output=False)(_told(work))

        return add

    @tool("The most attempts and calls of a training by the settings file `config`. Costs nothing.")
    async def plan(config: str = "etude.yaml") -> Any:
        return await desk.verb("plan", config)

    @tool("Begin a training in the background, or resume it: the run `name` of the settings `config`.", _SPENDS)
    async def train(name: str, config: str = "etude.yaml") -> Any:
        return await desk.train(config, name)

    @tool("How the training stands that was begun here, what is left of the cap, and all runs.")
    async def status() -> Any:
        return await desk.status()

    @tool("A run: scores, steps and verdict; with `step` its edits and their fate, with `attempt` one conversation.")
    async def show(run: str, step: int | None = None, attempt: str | None = None) -> Any:
        return await desk.verb("show", run, step=step, attempt=attempt)

    @tool("Which edit put each line of the best skill of a run there, and what it rests on; or one `line`, from 1.")
    async def blame(run: str, line: int | None = None) -> Any:
        return await desk.verb("blame", run, *([] if line is None else [str(line)]))

    @tool("How two skills of a run differ: `initial`, `best` or the number of a step.")
    async def diff(run: str, a: str = "initial", b: str = "best") -> Any:
        return await desk.verb("diff", run, a, b)

    @tool(
        "Score two skills on the same tasks and say whether to ship `b`. A skill is a path, RUN:best, RUN:initial, "
        "RUN:STEP, or none.",
        _SPENDS,
    )
    async def compare(a: str, b: str, name: str, config: str = "etude.yaml") -> Any:
        return await desk.compare(a, b, config, name)

    @tool("Nights over transcripts: how each night and each rule stands.")
    async def night_status() -> Any:
        return await desk.verb("sleep status")

    @tool("What a night did and why, rule by rule; the last night by default.")
    async def night_explain(night: int | None = None) -> Any:
        return await desk.verb("sleep show", *([] if night is None else [str(night)]))

    @tool("What a night proposes to change. Only the person can adopt it.")
    async def night_diff(night: int | None = None) -> Any:
        return await desk.verb("sleep show --diff", *([] if night is None else [str(night)]))

    return server


def _told(work: Callable[P, Awaitable[Any]]) -> Callable[P, Awaitable[Any]]:
    """Errors of etude as errors of a tool, with their hints."""

    @functools.wraps(work)
    async def told(*args: P.args, **kwargs: P.kwargs) -> Any:
        try:
            return await work(*args, **kwargs)
        except EtudeError as error:
            raise ToolError(f"{error.message}\nhint: {error.hint}" if error.hint else error.message) from error

    return told
