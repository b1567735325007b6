"""What `doctor` checks of agents: the sandbox, agent programs, and the agent that a config names."""

from collections.abc import Sequence
from pathlib import Path

from etude.agents.program import ProgramAgent
from etude.cli.doctor.findings import Findings
from etude.config import TrainConfig
from etude.config.sections import AgentSection
from etude.errors import ConfigError, EtudeError
from etude.models import build_model
from etude.programs.base import Program, is_older
from etude.programs.known import known_programs
from etude.prompts import Prompts
from etude.registry import find
from etude.sandbox import find_sandbox
from etude.sandbox.landlock import Landlock

__all__ = ["check_agent", "check_programs", "check_sandbox"]


def check_sandbox(found: Findings) -> None:
    """Which sandbox works here. It is tried out."""
    try:
        sandbox = find_sandbox()
    except ConfigError as error:
        found.note("sandbox", error.message, error.hint)
        return
    if isinstance(sandbox, Landlock):
        text = "Landlock works, bubblewrap does not: programs can see that files outside exist, and other processes"
        found.note("sandbox", text, "install bubblewrap")
    else:
        found.ok("sandbox", f"{sandbox.name} works")


def check_programs(found: Findings, programs: Sequence[Program] | None = None) -> None:
    """Which agent programs there are, by default of those that are known by name. Each is started, which takes a few
    seconds, to learn its version."""
    missing: list[Program] = []
    for program in known_programs().values() if programs is None else programs:
        try:
            there = program.find()
        except ConfigError:
            missing.append(program)
            continue
        try:
            _version(f"program {program.name}", program, program.version(there), there.path, found)
        except ConfigError as error:
            found.note(f"program {program.name}", error.message, error.hint)
    if missing:
        text = f"not found: {', '.join(program.command for program in missing)}; only agents of these names need them"
        found.note("programs", text, "; ".join(f"{program.name}: {program.install}" for program in missing))


def _version(name: str, program: Program, version: str, path: Path, found: Findings) -> None:
    if is_older(version, program.tested):
        text = f"{version}, {path}: older than {program.tested}, the version it was tested with"
        found.note(name, text, f"update it ({program.install}), or set agent.path to another one")
    else:
        found.ok(name, f"{version}, {path}")


async def check_agent(config: TrainConfig, found: Findings) -> None:
    """The agent of a config, made with its options; nothing where it is the default one."""
    if config.agent == AgentSection():
        return
    try:
        prompts = Prompts({name: Path(path) for name, path in config.prompts.items()})
        model = build_model(config.target)
    except EtudeError:  # reported where prompts and models are checked
        return
    with found.checking("agent"):
        kind = find("agents", config.agent.name)
        try:
            agent = kind.from_options(dict(config.agent.model_extra or {}), model, prompts, where="agent")
            await agent.aclose()
        finally:
            await model.aclose()
        found.ok("agent", f"{config.agent.name}: {kind.__module__}:{kind.__qualname__}")
        if isinstance(agent, ProgramAgent):
            _program_agent(agent, config, found)


def _program_agent(agent: ProgramAgent, config: TrainConfig, found: Findings) -> None:
    """Its program, and what makes attempts wait, or ends them from outside, so that they have no score."""
    if agent.program.tested:
        _version("agent program", agent.program, agent.version, agent.installed.path, found)
    limits, longest = config.limits, agent.limits.seconds + agent.limits.grace_seconds
    if limits.concurrency > agent.concurrency:
        text = f"there is memory for {agent.concurrency} of {limits.concurrency} attempts at the same time"
        found.note("agent memory", text, "agent.concurrency_mb is the memory expected for each")
    if limits.attempt_seconds <= longest:
        text = f"limits.attempt_seconds = {limits.attempt_seconds:g} ends attempts before agent.limits.seconds does"
        found.note("agent time", text, f"set limits.attempt_seconds to more than {longest:g}")
