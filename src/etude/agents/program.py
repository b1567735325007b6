"""Agent programs: each attempt runs one in a fresh workspace, in the sandbox. Models answer through the gateway."""

import asyncio
import os
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from etude.agents.answers import AnsweringAgent, AnswerOptions
from etude.agents.program_run import AgentTraits, ProgramFailed, ProgramRun, run_program, verdict
from etude.agents.shell import check_place, readable_folders, variables_of, with_programs
from etude.errors import ConfigError, DataError, OutageStop
from etude.gateway import Gateway, GatewaySession
from etude.programs.account import Account, after_the_prompt, has_read, neutral
from etude.programs.claude_code import ClaudeCode
from etude.programs.codex import Codex
from etude.programs.command import CommandProgram
from etude.programs.copilot_cli import CopilotCli
from etude.programs.gemini_cli import GeminiCli
from etude.programs.login import find_login
from etude.programs.memory import available_mb, room_for
from etude.programs.opencode import OpenCode
from etude.programs.pi import Pi
from etude.programs.program import Delivery, Order, Program, Report, read_without
from etude.programs.qwen_code import QwenCode
from etude.programs.read_only import ReadOnlyFiles
from etude.protocols import ChatModel, Texts
from etude.records import Reply, Skill, Task, Trajectory, digest, user
from etude.sandbox import Limits, NotKept, Sandbox, Workspace, find_sandbox
from etude.secret_values import Secrets


class ProgramOptions(AnswerOptions):
    """Options of agents that are programs."""

    free: ClassVar[frozenset[str]] = frozenset({"path", "renew_login", "concurrency_mb", "unsafe_no_sandbox"})

    path: str | None = None
    """The program: a path, or a name on PATH. By default its own name on PATH."""
    delivery: Delivery = "inline"
    """`inline` puts the skill into the context of every attempt. `install` puts it into the program's own folder of
    skills, where the program decides whether to read it; the attempt records whether it did."""
    login: Literal["gateway", "direct"] = "gateway"
    """`gateway` sends the program's requests to the target model, metered and within the budgets. `direct` lends the
    program your own login, with network: nothing is metered or limited, and the target model is not used."""
    renew_login: bool = False
    """With `direct`, write a login that the program renewed into your own file. Otherwise your file is only read: log
    in again when the old login is refused."""
    max_steps: int | None = Field(default=None, ge=1)
    """Most model requests in an attempt. One that is not done by then has failed."""
    limits: Limits = Limits(seconds=300)
    """What one attempt may use. When its time is over it has failed, or is void where the model had not answered
    yet, or most of the time went by waiting for it in vain. Keep `limits.attempt_seconds` larger."""
    concurrency_mb: int | None = Field(default=None, ge=1)
    """Memory to count with for each attempt under way: no more are started at the same time than there is room for.
    By default what the program commonly needs."""
    model: str = ""
    """Name of the model that the program is given, which may decide how it behaves. By default the target's own."""
    arguments: tuple[str, ...] = ()
    """Further arguments for the command line."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Further environment variables. Put no secrets here: model-written code can read them."""
    readable: tuple[str, ...] = ()
    """Folders that the program may read in addition to the system's, such as runtimes that are installed elsewhere.
    Their `bin` folders are on its PATH."""
    unsafe_no_sandbox: bool = False
    """Run the program without protection on a machine that has no sandbox."""


class CommandOptions(ProgramOptions):
    """Options of the `command` agent."""

    command: list[str] = Field(min_length=1)
    """The command line, word by word. `{prompt}` stands for the task, `{prompt_file}` and `{skill_file}` for files
    with task and skill, `{answer_file}`, `{workspace}` and `{model}` for what they say. Otherwise the task comes on
    standard input, behind the skill. Words that name files are meant from the current folder."""
    answer_file: str | None = None
    """File in the workspace that holds the answer afterwards; standard output by default."""


class ProgramAgent(AnsweringAgent[ProgramOptions]):
    """Runs a program for each attempt.

    Args:
        sandbox: what programs run in; the one that works here when not given.

    Raises:
        ConfigError: the program, its login, a folder of `readable` or a sandbox is not there, nothing could count the
            steps of `max_steps`, or the model takes no tools and the program asks with some.
    """

    program: Program
    opens_files = True
    needs_tools: ClassVar[bool] = True
    """The program asks its model with tools."""
    options_type = ProgramOptions
    prompt = "program"

    def __init__(
        self, target: ChatModel, prompts: Texts, options: ProgramOptions | None = None, sandbox: Sandbox | None = None
    ) -> None:
        self.name = self.program.name
        super().__init__(target, prompts, options)
        program, options = self.program, self._options
        self._folders = readable_folders(options.readable)
        if options.login == "direct" and options.max_steps is not None and not program.counts_steps:
            raise ConfigError(
                f"agent.max_steps = {options.max_steps} has no effect with agent.login = 'direct': the gateway "
                f"counts the steps of agent {self.name!r}",
                hint="leave max_steps out and set agent.limits.seconds, or log in through the gateway",
            )
        if options.login == "gateway" and self.needs_tools and not target.takes_tools:
            raise ConfigError(
                f"agent {self.name!r} calls tools, and model {target.name!r} takes none",
                hint="set agent.name to 'chat', use a model with a key, or set agent.login to 'direct'",
            )
        self.installed = program.find(options.path)
        self.limits = options.limits
        self._sandbox = sandbox or find_sandbox(unsafe=options.unsafe_no_sandbox)
        self._login = None
        if options.login == "direct":
            self._login = find_login(program, os.environ, Path.home(), renew=options.renew_login)
            self.secrets = self._login.secrets
        self._model = options.model or ("" if self._login else target.name.partition(":")[2] or target.name)
        self._gateway = None if self._login else Gateway(self._target, model_name=self._model)
        self.version = program.version(self.installed)
        self._room = asyncio.Semaphore(self.concurrency)

    @property
    def concurrency(self) -> int:
        """Attempts that the memory of this machine has room for at the same time."""
        each = self._options.concurrency_mb
        return room_for(self.program.memory_mb if each is None else each, available_mb())

    def room(self) -> AbstractAsyncContextManager[object]:
        return self._room

    @property
    def metered(self) -> bool:
        return self._login is None

    def fingerprint(self) -> str:
        """Changes with the program and its version, the model, its settings, the prompt and the options."""
        model = self._model if self._login else self._target.fingerprint()
        return digest([self.name, self.version, model, self._prompt, self._options.identity()])

    async def aclose(self) -> None:
        """Stop the gateway."""
        if self._gateway is not None:
            await self._gateway.aclose()

    def check_task(self, task: Task) -> None:
        """Refuse a task with pictures, as programs read text only, or with a place that the sandbox cannot make, such
        as one in an image, where the program is not."""
        if task.images:
            raise DataError(
                f"task {task.id!r} has pictures, and agent {self.name!r} reads text only",
                hint="put pictures into the files of the task, or use the agent 'chat'",
            )
        if task.place is not None and task.place.image:
            raise DataError(
                f"task {task.id!r} runs in an image of its own, where agent {self.name!r} is not installed",
                hint="use the agent 'tools', or leave such tasks out (env.docker: false and env.skip_unfit: true)",
            )
        check_place(task, self._sandbox)

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """Run the program once.

        Raises:
            DataError: the task has pictures, or files that do not fit into a workspace.
            ProgramFailed: the program crashed, or waited for the model when its time was over.
            EtudeError: whatever a request to the model failed with.
        """
        self.check_task(task)
        async with AsyncExitStack() as stack:
            workspace = stack.enter_context(Workspace())
            workspace.fill(task.files)
            session = None
            if self._gateway is not None:
                calls = self._options.max_steps
                session = await stack.enter_async_context(self._gateway.session(seed=task.seed(trial), calls=calls))
            order = self._order(task, skill, workspace, session)
            launch = self.program.launch(order)
            kept = ReadOnlyFiles(workspace.home)
            readable = (*self.installed.readable, *self._folders, *kept.paths)
            if session is None:
                box = workspace.box(readable, "host", place=task.place)
            else:
                port = int(session.url.rpartition(":")[2])
                box = workspace.box(readable, "gateway", session.socket, port, task.place)
            env = workspace.env | variables_of(task) | dict(launch.env) | self._options.env
            env["PATH"] = with_programs(self._folders, env["PATH"])
            with nullcontext() if self._login is None else self._login.lent(workspace.home):
                ran = await run_program(launch, env, box, self.limits, self._sandbox, session)
            changed = kept.changed(workspace.home)
            return await self._trajectory(order, workspace, session, ran, changed)

    def _order(self, task: Task, skill: Skill, workspace: Workspace, session: GatewaySession | None) -> Order:
        options = self._options
        return Order(
            installed=self.installed,
            prompt=task.input,
            skill=skill,
            instructions=self._prompt,
            delivery=options.delivery,
            home=workspace.home,
            temporary=workspace.tmp,
            workspace=workspace.work,
            url="" if session is None else session.url,
            key="" if session is None else session.key,
            model=self._model,
            seconds=options.limits.seconds,
            steps=options.max_steps,
            max_output_tokens=self._target.max_output_tokens,
            arguments=options.arguments,
            login={} if self._login is None else self._login.variables,
        )

    async def _trajectory(
        self, order: Order, workspace: Workspace, session: GatewaySession | None, ran: ProgramRun, changed: str
    ) -> Trajectory:
        hide, report = self.secrets or Secrets(), Report()
        if ran.finished is not None:
            finished, report = read_without(hide, self.program, ran.finished, order)
            ran = replace(ran, finished=finished)
        failure = self._failure(session, ran, report)
        if changed:  # it worked by another skill than the one it is scored for
            failure = failure or f"it changed its skill, which can only be read: {changed}"
        try:
            files = {
                hide.hide(name): file and file.model_copy(update={"data": hide.hide_bytes(file.data)})
                for name, file in workspace.changes().items()
            }
        except NotKept as error:
            files, failure = {}, failure or error.message
        conversation = report.messages if session is None else session.conversation
        account = neutral(
            Account(report.answer, report.messages or after_the_prompt(conversation), dict(report.exit_codes)),
            workspace.names,
        )
        answered = await self._answers.read(Reply(text=account.answer, finish=ran.last_finish))
        return Trajectory(
            answer=answered.answer,
            messages=(user(order.prompt), *account.messages),
            failure=failure or answered.failure,
            ended=None if failure and answered.ended == "empty" else answered.ended,
            usage=report.usage if session is None else session.usage,
            simulated=session is not None and session.simulated,
            exit_codes=account.exit_codes,
            files=files,
            read_skill=has_read(order.skill, conversation) if order.delivery == "install" else None,
        )

    def _failure(self, session: GatewaySession | None, ran: ProgramRun, report: Report) -> str:
        if session is not None and session.error is not None:
            raise session.error
        if session is not None and session.exhausted:
            return f"step limit: not done within agent.max_steps = {self._options.max_steps}"
        traits = AgentTraits(self.name, self.program.silent, self.limits, self._target.max_output_tokens)
        try:
            return verdict(ran, report, traits, self._target.trouble)
        except (ProgramFailed, OutageStop) as error:
            error.message += self.program.age(self.version, self.installed)
            raise


class ClaudeCodeAgent(ProgramAgent):
    """Claude Code."""

    program = ClaudeCode()


class CodexAgent(ProgramAgent):
    """Codex."""

    program = Codex()


class CopilotCliAgent(ProgramAgent):
    """GitHub Copilot CLI."""

    program = CopilotCli()


class GeminiCliAgent(ProgramAgent):
    """Gemini CLI."""

    program = GeminiCli()


class OpenCodeAgent(ProgramAgent):
    """OpenCode."""

    program = OpenCode()


class PiAgent(ProgramAgent):
    """Pi."""

    program = Pi()


class QwenCodeAgent(ProgramAgent):
    """Qwen Code."""

    program = QwenCode()


class CommandAgent(ProgramAgent):
    """Any command line."""

    options_type = CommandOptions
    needs_tools = False  # what a command line asks for is not known

    def __init__(
        self, target: ChatModel, prompts: Texts, options: CommandOptions, sandbox: Sandbox | None = None
    ) -> None:
        self.program = CommandProgram(options.command, options.answer_file)
        super().__init__(target, prompts, options, sandbox)
