"""Several targets behind one face: each task is attempted by the agent of the target that it names."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import ClassVar

from etude.config import TrainConfig
from etude.errors import ConfigError
from etude.protocols import Agent
from etude.records import Skill, Task, Trajectory, canonical


class Targets(Agent):
    """Hands each task, as its environment made it, to the agent of its target."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self._agents = agents
        self.name = "+".join(dict.fromkeys(agent.name for agent in agents.values()))
        self.told = "\n\n".join(dict.fromkeys(agent.told for agent in agents.values() if agent.told))

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        return await self._agents[task.target].attempt(task.plain, skill, trial)

    def check_task(self, task: Task) -> None:
        self._agents[task.target].check_task(task.plain)

    def fingerprint(self) -> str:
        return canonical({name: agent.fingerprint() for name, agent in self._agents.items()})

    def room(self) -> AbstractAsyncContextManager[object]:
        """Room for an attempt of any of them: they share the machine."""
        return self._rooms()

    @asynccontextmanager
    async def _rooms(self) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as rooms:
            for agent in self._agents.values():
                await rooms.enter_async_context(agent.room())
            yield

    @property
    def metered(self) -> bool:
        return all(agent.metered for agent in self._agents.values())

    async def aclose(self) -> None:
        for agent in self._agents.values():
            await agent.aclose()


class _CallsKnown(Targets):
    journals_calls: ClassVar[bool] = True


def one_of(agents: Mapping[str, Agent]) -> Targets:
    """Agents by the names of their targets, as one."""
    return (_CallsKnown if all(agent.journals_calls for agent in agents.values()) else Targets)(agents)


def check_files(config: TrainConfig, agents: Mapping[str, Agent]) -> None:
    """Raises ConfigError: files of the skill are to be trained, and an agent does not open them, or runs what a model
    wrote without a sandbox."""
    for name, agent in agents.items() if config.skill.files else ():
        unsafe = (config.agents[name].model_extra or {}).get("unsafe_no_sandbox")
        if unsafe or not agent.opens_files:
            does = "may run scripts without a sandbox (unsafe_no_sandbox)" if unsafe else "opens no files of a skill"
            raise ConfigError(
                f"skill.files is set, and agent {agent.name!r} {does}",
                hint="use agent 'tools' or an agent program, in a sandbox (a class of your own says that it "
                "`opens_files`); or leave skill.files out",
            )
