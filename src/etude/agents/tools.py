"""The agent with tools: a loop over the tool calls of any chat model, in a workspace of its own."""

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from pydantic import Field

from etude.agents.answers import AnsweringAgent, AnswerOptions, FinalAnswer, question, with_skill
from etude.agents.file_tools import FileTools
from etude.agents.shell import Shell, check_place, readable_folders, variables_of, with_programs
from etude.agents.toolbox import OWN_TOOLS, OwnTool, Toolbox, ToolContext, arguments_of
from etude.errors import BoundaryError, ConfigError, DataError, EtudeError
from etude.programs.program import SKILL_FOLDER, files_note
from etude.protocols import ChatModel, EnvironmentTool, Texts, ToolSource
from etude.records import (
    ChatRequest,
    Message,
    Reply,
    Skill,
    Task,
    TextPart,
    Tool,
    ToolCall,
    Trajectory,
    Usage,
    digest,
    system,
)
from etude.records.said import cut_off_at
from etude.sandbox import Limits, NotKept, Sandbox, Workspace, find_sandbox
from etude.sandbox.docker import Engine, find_engine, in_image
from etude.skill import save_skill

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_UNSENDABLE = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64


class ToolsOptions(AnswerOptions):
    """Options of the agent with tools."""

    tools: tuple[OwnTool, ...] = OWN_TOOLS
    """Which of `bash`, `read`, `write` and `edit` the model is given. Tools of the environment are added to them."""
    max_steps: int = Field(default=30, ge=1)
    """Most model calls in an attempt. One that has no answer by then has failed."""
    max_tokens: int = Field(default=500_000, ge=1)
    """No further call is made once the attempt has used this many tokens, input and output. Without an answer it has
    failed."""
    output_chars: int = Field(default=10_000, ge=200)
    """Longest result of a tool. Of a longer one the middle is left out, and the cut is marked."""
    limits: Limits = Limits(seconds=120)
    """What one command may use."""
    network: bool = False
    """Let commands use the network of this machine."""
    readable: tuple[str, ...] = ()
    """Folders that commands may read in addition to the system's, such as runtimes that are installed elsewhere.
    Their `bin` folders are on the PATH of commands."""
    unsafe_no_sandbox: bool = False
    """Run commands without protection on a machine that has no sandbox."""


class ToolsAgent(AnsweringAgent[ToolsOptions]):
    """Lets a chat model call tools until it replies without a call.

    The attempt is a fact, though only its model calls are paid for: what a command writes may differ from one run to
    the next, and the calls after it depend on that. The calls are facts as well, so that an attempt that was
    interrupted pays only for what it did not get to.

    Args:
        sandbox: what commands run in; the one that works here when not given.

    Raises:
        ConfigError: the model takes no tools, no sandbox works here, or `readable` names what is not a folder.
    """

    name = prompt = "tools"
    options_type = ToolsOptions
    opens_files = True

    def __init__(
        self, target: ChatModel, prompts: Texts, options: ToolsOptions | None = None, sandbox: Sandbox | None = None
    ) -> None:
        super().__init__(target, prompts, options)
        if self._options.tools and not target.takes_tools:
            raise ConfigError(
                f"agent {self.name!r} calls tools, and model {target.name!r} takes none",
                hint="set agent.name to 'chat', or use a model with a key",
            )
        self._readable = readable_folders(self._options.readable)
        if sandbox is None and "bash" in self._options.tools:
            sandbox = find_sandbox(unsafe=self._options.unsafe_no_sandbox)
        self._sandbox = sandbox
        self._source: ToolSource | None = None
        self._source_fingerprint = ""

    def with_tools(self, tools: ToolSource, fingerprint: str) -> Self:
        """The same agent with the tools of an environment."""
        other = copy(self)
        other._source, other._source_fingerprint = tools, fingerprint
        return other

    def fingerprint(self) -> str:
        """Changes with the model, its settings, the prompt, the options and the tools of the environment."""
        # Whether there was a sandbox does not change what a task asks for.
        options = self._options.model_dump(exclude={"unsafe_no_sandbox"})
        return digest([self.name, self._target.fingerprint(), self._prompt, options, self._source_fingerprint])

    def check_task(self, task: Task) -> None:
        """Refuse a task with a file where those of the skill are."""
        taken = [path for path in task.files if path.split("/", 1)[0] == SKILL_FOLDER]
        if taken:
            raise DataError(
                f"task {task.id!r} has a file {taken[0]!r}; {SKILL_FOLDER!r} is for the files of the skill",
                hint="give it another name",
            )
        sandbox = self._sandbox_of(task)
        if sandbox is not None:
            check_place(task, sandbox)

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """Fill a workspace with the files of the task, let the model work in it, and tell what it changed.

        Raises:
            BoundaryError: a tool of the environment failed, or the search for the answer took too long.
            DataError: a file of the task cannot be put into the workspace.
        """
        options = self._options
        brought = self._brought(task)
        with Workspace() as workspace:
            desk = self._desk(workspace, task, skill)
            toolbox = Toolbox(desk, options.tools, brought, options.output_chars)
            instructions = with_skill(self._prompt, skill.text)
            instructions += f"\n\n{files_note(skill)}" if skill.files else ""
            talk = _Talk(question(task), system(instructions), toolbox.tools, task.seed(trial))
            failure = await self._work(talk, toolbox)
            try:
                files = workspace.changes()
            except NotKept as error:
                files, failure = {}, failure or error.message
        answered = FinalAnswer("", failure, "cut off" if talk.cut else None)
        if talk.final is not None:
            answered = await self._answers.read(talk.final, [tool.name for tool in talk.tools])
        return Trajectory(
            answer=answered.answer,
            messages=tuple(message.shown for message in talk.messages),
            failure=answered.failure or failure,
            ended=answered.ended,
            usage=talk.usage,
            simulated=talk.simulated,
            exit_codes=talk.exit_codes,
            files=files,
        )

    async def _work(self, talk: "_Talk", toolbox: Toolbox) -> str:
        """Call the model and carry out its calls until there are none. Returns why there is no last reply, if so."""
        limit = self._target.max_output_tokens
        for step in range(1, self._options.max_steps + 1):
            if talk.usage.total >= self._options.max_tokens:
                return f"token limit: no answer within agent.max_tokens = {self._options.max_tokens}"
            reply = await self._target.complete(talk.request())
            broken = talk.cut
            calls = talk.take(reply)
            if not calls or reply.finish == "refusal":
                talk.final = reply
                return ""
            if broken and talk.cut and all(arguments_of(call) is None for _, call in calls):
                return f"{cut_off_at(limit)}, twice in a row within a tool call"
            # The results of the last step would not be read.
            for sent, call in calls if step < self._options.max_steps else ():
                result = await toolbox.run(call, cut_off=reply.finish == "length")
                talk.tell(sent.id, result.text, result.exit_code)
        return f"step limit: no answer within agent.max_steps = {self._options.max_steps}"

    def _brought(self, task: Task) -> Sequence[EnvironmentTool]:
        try:
            return () if self._source is None else self._source(task)
        except EtudeError:
            raise
        except Exception as error:  # the boundary: whatever an environment raises is its failure
            raise BoundaryError("tools of the environment", error) from error

    def _sandbox_of(self, task: Task) -> Sandbox | None:
        """What commands of this task run in. Raises ConfigError: its image needs Docker, and that is not there."""
        if self._sandbox is None or task.place is None or not task.place.image:
            return self._sandbox
        return in_image(task.place.image, self._engine)

    @cached_property
    def _engine(self) -> Engine | str:
        return find_engine()

    def _desk(self, workspace: Workspace, task: Task, skill: Skill) -> ToolContext:
        self.check_task(task)
        workspace.fill(task.files)
        read_only = _add_skill(skill, workspace)
        network = "host" if self._options.network else "none"
        sandbox, readable, env = self._sandbox_of(task), read_only, workspace.env | variables_of(task)
        if sandbox is None or not sandbox.brings:
            readable += self._readable
            env |= {"PATH": with_programs(self._readable, _SYSTEM_PATH)}
        box = workspace.box(readable, network, place=task.place)
        names = {str(path): name for path, name in workspace.names.items()}
        shell = None if sandbox is None else Shell(sandbox, box, self._options.limits, env, names)
        return ToolContext(FileTools(workspace.work, read_only, task.place.path if task.place else ""), shell)


@dataclass
class _Talk:
    """The conversation of one attempt, and what it came to."""

    question: Message
    instructions: Message
    tools: tuple[Tool, ...]
    seed: int
    messages: list[Message] = field(init=False)
    usage: Usage = field(default_factory=Usage)
    simulated: bool = False
    exit_codes: dict[str, int] = field(default_factory=dict[str, int])
    final: Reply | None = None
    """The reply that ended it."""
    cut: bool = False
    """The last reply was cut off at the token limit."""

    def __post_init__(self) -> None:
        self.messages = [self.question]
        self._ids: set[str] = set()

    def request(self) -> ChatRequest:
        return ChatRequest(messages=(self.instructions, *self.messages), tools=self.tools, seed=self.seed)

    def take(self, reply: Reply) -> list[tuple[ToolCall, ToolCall]]:
        """Add a reply. Returns its calls, each as it is sent from here on and as the model wrote it."""
        calls = [(self._sendable(call), call) for call in reply.tool_calls]
        sent = {"tool_calls": tuple(sent for sent, _ in calls)}
        sent |= {} if reply.text or calls else {"content": (TextPart(text=""),)}
        self.messages.append(reply.turn.model_copy(update=sent))
        self.cut = reply.finish == "length"
        self.usage += reply.usage
        self.simulated = self.simulated or reply.simulated
        return calls

    def tell(self, call_id: str, text: str, exit_code: int | None) -> None:
        """Add the result of a call."""
        self.messages.append(Message(role="tool", tool_call_id=call_id, content=(TextPart(text=text),)))
        if exit_code is not None:
            self.exit_codes[call_id] = exit_code

    def _sendable(self, call: ToolCall) -> ToolCall:
        """Servers refuse conversations with calls that are not proper ones, though they let models write them. Ids
        must not repeat: some servers count them again in each reply."""
        unique = call.id if call.id and call.id not in self._ids else f"call_{len(self._ids)}_{digest(call.id)[:8]}"
        self._ids.add(unique)
        name = _UNSENDABLE.sub("_", call.name)[:_MAX_NAME] or "unknown"
        return ToolCall(id=unique, name=name, arguments="{}" if arguments_of(call) is None else call.arguments)


def _add_skill(skill: Skill, workspace: Workspace) -> tuple[Path, ...]:
    """Put the folder of a skill next to the workspace, where commands cannot change it, and a link to it inside."""
    if not skill.files:
        return ()
    folder = save_skill(skill, workspace.folder / "skill").parent
    (workspace.work / SKILL_FOLDER).symlink_to(folder)
    return (folder,)
