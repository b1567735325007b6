"""What `doctor` checks of agents: the sandbox, agent programs, and the agent that a config names."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from etude.agents.program import ProgramAgent
from etude.cli.doctor.checks import Check
from etude.config import AgentSection, LimitsSection, TrainConfig
from etude.errors import ConfigError, EtudeError
from etude.models import build_model
from etude.programs.base import Installed, Program, is_older
from etude.programs.known import known_programs
from etude.prompts import Prompts
from etude.protocols import Agent
from etude.registry import find
from etude.sandbox import find_sandbox
from etude.sandbox.landlock import Landlock

__all__ = ["check_agent", "check_programs", "check_sandbox"]


def check_sandbox() -> Check:
    """Which sandbox works here. It is tried out."""
    try:
        sandbox = find_sandbox()
    except ConfigError as error:
        return Check.note("sandbox", error.message, error.hint)
    if isinstance(sandbox, Landlock):
        text = "Landlock works, bubblewrap does not: programs can see that files outside exist, and other processes"
        return Check.note("sandbox", text, "install bubblewrap")
    return Check.ok("sandbox", f"{sandbox.name} works")


def check_programs(programs: Sequence[Program] | None = None) -> list[Check]:
    """Which agent programs there are, by default of those that are known by name. Each is started, which takes a few
    seconds, to hear its version."""
    return [_program(program) for program in (known_programs().values() if programs is None else programs)]


def _program(program: Program) -> Check:
    name = f"program {program.name}"
    try:
        found = program.find()
    except ConfigError:
        text = f"{program.command!r} was not found; only agent.name = {program.name!r} needs it"
        return Check.note(name, text, program.install)
    try:
        return _version(name, program, program.version(found), found)
    except ConfigError as error:
        return Check.note(name, error.message, error.hint)


def _version(name: str, program: Program, version: str, found: Installed) -> Check:
    text = f"{version}, {found.path}"
    if not is_older(version, program.tested):
        return Check.ok(name, text)
    text += f": older than {program.tested}, the version it was tested with"
    return Check.note(name, text, f"update it ({program.install}), or name another one in agent.path")


async def check_agent(config: TrainConfig) -> list[Check]:
    """The agent of a config, made with its options; nothing where it is the usual one."""
    section = config.agent
    if section == AgentSection():
        return []
    try:
        kind = find("agents", section.name)
    except EtudeError as error:
        return [Check.wrong("agent", error)]
    made = Check.ok("agent", f"{section.name}: {kind.__module__}:{kind.__qualname__}")
    try:
        prompts = Prompts({name: Path(path) for name, path in config.prompts.items()})
        model = build_model(config.target)
    except EtudeError:  # told where prompts and models are checked
        return [made]
    try:
        agent: Agent = kind.from_options(dict(section.model_extra or {}), model, prompts, where="agent")
        await agent.aclose()
    except EtudeError as error:
        return [Check.wrong("agent", error)]
    finally:
        await model.aclose()
    if not isinstance(agent, ProgramAgent):
        return [made]
    used = [_version("agent program", agent.program, agent.version, agent.installed)] if agent.program.tested else []
    return [made, *used, *_room(agent, config.limits)]


def _room(agent: ProgramAgent, limits: LimitsSection) -> Iterator[Check]:
    """What holds attempts up, or ends them from outside, which leaves them without a score."""
    room, longest = agent.concurrency, agent.limits.seconds + agent.limits.grace_seconds
    if limits.concurrency > room:
        text = f"there is memory for {room} at the same time; the others of {limits.concurrency} wait"
        yield Check.note("agent memory", text, "agent.concurrency_mb says how much to count with for each")
    if limits.attempt_seconds <= longest:
        text = f"limits.attempt_seconds = {limits.attempt_seconds:g} ends attempts before agent.limits.seconds does"
        yield Check.note("agent time", text, f"set limits.attempt_seconds to more than {longest:g}")
