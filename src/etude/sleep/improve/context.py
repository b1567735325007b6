"""Attempts with all documents an agent reads: the one that is trained in its place among the others."""

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from pydantic import JsonValue

from etude.agents.chat import ChatAgent
from etude.agents.tools import ToolsAgent, ToolsOptions
from etude.config.sections import AgentSection
from etude.programs.project_paths import place_of
from etude.prompts import Prompts
from etude.protocols import Agent, ChatModel, Environment, EnvironmentTool, Texts
from etude.records import File, Record, Score, Skill, Split, Task, Trajectory, digest
from etude.registry import find
from etude.skill import Document
from etude.skill.document import BOM
from etude.skill.markers import read_marker

_STAND_IN = "[1] A note about what was asked. (This tool stands in for the user's; nothing was really done.)"


class Documents(Record):
    """What an agent is given in a project. A missing one is None."""

    skill: Skill | None = None
    memory: Skill | None = None
    """The memory file, as a document."""
    others: tuple[str, ...] = ()
    """Other instructions that it reads in every session; nothing of them is changed."""

    def at(self, name: str) -> Skill | None:
        """The `skill` or the `memory`."""
        return self.skill if name == "skill" else self.memory

    def with_document(self, name: str, document: Skill) -> "Documents":
        """With another `skill` or `memory`."""
        return self.model_copy(update={name: document})

    @property
    def shown(self) -> str:
        """Everything an agent reads: the skill with its front matter, then the memory and other instructions."""
        parts = [_plain(self.skill.text)] if self.skill is not None else []
        return _joined([*parts, self.instructions])

    @property
    def instructions(self) -> str:
        """What it reads in every session."""
        parts: list[str] = []
        if self.memory is not None and (memory := _plain(Document.parse(self.memory.text).body).strip()):
            parts.append(f"# Memory\n\n{memory}\n")
        if others := [text for text in (_plain(other).strip() for other in self.others) if text]:
            parts.append("\n\n".join(["# Other instructions", *others]) + "\n")
        return _joined(parts)


class InContext(Environment):
    """An environment whose tasks an agent attempts with all documents, the trained `skill` or `memory` among them."""

    def __init__(self, env: Environment, documents: Documents, name: str, section: AgentSection) -> None:
        self.name = env.name
        self._env = env
        self._documents = documents
        self._place = name
        self._section = section

    def tasks(self, split: Split) -> Sequence[Task]:
        """Those of the environment; where none is held out, those that are learned from are tried."""
        found = self._env.tasks(split)
        return self._env.tasks("train") if split == "val" and not found else found

    def score(self, task: Task, trajectory: Trajectory) -> Score | float | Awaitable[Score | float]:
        """As the environment scores."""
        return self._env.score(task, trajectory)

    def fingerprint(self) -> str:
        """That of the environment."""
        return self._env.fingerprint()

    @property
    def repeatable(self) -> bool:
        return self._env.repeatable

    @property
    def warnings(self) -> Sequence[str]:
        return ()  # the splits are those of the miner, which has looked at them

    def agent(self, target: ChatModel, prompts: Texts) -> Agent:
        """The agent of the settings, which is given all documents, and for tasks with tools one that calls tools."""
        assert isinstance(prompts, Prompts)
        options = dict(self._section.model_extra or {})
        make = ChatAgent if self._section.name == ChatAgent.name else find("agents", self._section.name)
        replaced = prompts.replaced(dict.fromkeys(("chat", "tools"), prompts["sleep_attempt"]))
        plain = make.from_options(options, target, replaced, where="agent")
        caller = ToolsAgent(target, replaced, ToolsOptions(tools=())).with_tools(stand_ins, _STAND_IN)
        memory = place_of(self._section.name).memory if options.get("delivery") == "install" else ""
        return _Reader(plain, caller, self._documents, self._place, memory)


class _Reader(Agent):
    """Gives all documents in place of the trained one to an agent, and to another for tasks that come with tools. One
    that installs its skill has the instructions in the file `memory` of its workspace."""

    def __init__(self, plain: Agent, caller: Agent, documents: Documents, place: str, memory: str) -> None:
        self.name = plain.name
        self._plain = plain
        self._caller = caller
        self._documents = documents
        self._place = place
        self._memory = memory

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """As the agents do."""
        documents = self._documents.with_document(self._place, skill)
        if stand_ins(task):
            return await self._caller.attempt(task, skill.with_text(documents.shown), trial)
        if not self._memory:
            return await self._plain.attempt(task, skill.with_text(documents.shown), trial)
        instructions = File(data=documents.instructions.encode())
        task = task.model_copy(update={"files": {**task.files, self._memory: instructions}})
        text = "" if documents.skill is None else _plain(documents.skill.text)
        return await self._plain.attempt(task, skill.with_text(text), trial)

    def fingerprint(self) -> str:
        """Changes with the agents and with the documents that are not trained."""
        others = self._documents.with_document(self._place, Skill(text=""))
        agents = [self._plain.fingerprint(), self._caller.fingerprint()]
        return digest([*agents, self._place, others.model_dump(mode="json")])

    def room(self) -> AbstractAsyncContextManager[object]:
        return self._plain.room()

    @property
    def metered(self) -> bool:
        return self._plain.metered

    async def aclose(self) -> None:
        await self._plain.aclose()
        await self._caller.aclose()


def stand_ins(task: Task) -> Sequence[EnvironmentTool]:
    """Tools in place of those that the user's agent had: they can be called, and do nothing. Their names are data of
    the task, which the miner has checked; nothing is run or opened by them."""

    async def call(arguments: Mapping[str, JsonValue]) -> str:
        del arguments
        return _STAND_IN

    names = task.data.get("tools")
    return [
        EnvironmentTool(
            name=name,
            description=f"The tool {name!r} of the user's environment.",
            parameters={"type": "object", "properties": {"input": {"type": "string"}}},
            call=call,
        )
        for name in (names if isinstance(names, list) else ())
        if isinstance(name, str)
    ]


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part.rstrip("\n") for part in parts if part.strip()) + "\n"


def _plain(text: str) -> str:
    """Without marker lines, which say nothing to an agent and may stand in several documents, and without the byte
    order mark of the file."""
    text = text.removeprefix(BOM)
    return "".join(line for line in text.splitlines(keepends=True) if read_marker(line.rstrip("\r\n")) is None)
