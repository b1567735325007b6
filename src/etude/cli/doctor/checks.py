"""What `doctor` checks: the installation, and everything that settings name."""

import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Literal

from etude import __version__
from etude.agents.program import ProgramAgent
from etude.agents.targets import check_files
from etude.attempt_parts import about_target, make_agent, targets_of, unopened
from etude.build import check_scoring, redactor_of
from etude.cli.trust import UntrustedError
from etude.concurrency import in_thread, waited_for
from etude.config import ModelSection, TrainConfig
from etude.config.sections import AgentSection, ExecutorSection
from etude.connect import named_trackers
from etude.envs.grading import CommandScorer
from etude.envs.scorers.answer_scorer import AnswerScorer, Judge
from etude.envs.splits import check_tasks, need_training_tasks
from etude.errors import ConfigError, DataError, EtudeError
from etude.models import build_model, price_of, used_key_variable
from etude.models.handoff import waiting
from etude.programs.known import known_programs
from etude.programs.program import Program
from etude.prompts import Prompts
from etude.protocols import Environment, Scorer
from etude.records import SPLITS, Record, Split, Task
from etude.registry import BUILT_IN, find, load, origin, plugins
from etude.sandbox import find_sandbox
from etude.sandbox.docker import find_engine
from etude.sandbox.landlock import Landlock
from etude.secret_values import SHORTEST_KEY
from etude.skill import Document, load_skill, token_count, validate_skill
from etude.skill.front_matter import unlisted
from etude.skill.parts import laid_out, prepared
from etude.store import is_running, read_run
from etude.store.rounds import next_round, run_folder
from etude.store.run import plain_name
from etude.workbench import Given


class CheckResult(Record):
    """What one check found."""

    name: str
    status: Literal["ok", "note", "wrong"]
    """`wrong`: training would refuse it."""
    text: str
    fix: str = ""
    """How to fix it."""


class DoctorReport(list[CheckResult]):
    """All of them, in the order of the checks."""

    def ok(self, name: str, text: str) -> None:
        """Nothing to fix."""
        self.append(CheckResult(name=name, status="ok", text=text))

    def note(self, name: str, text: str, fix: str = "") -> None:
        """Good to know."""
        self.append(CheckResult(name=name, status="note", text=text, fix=fix))

    def wrong(self, name: str, text: str, fix: str) -> None:
        """Training would refuse it."""
        self.append(CheckResult(name=name, status="wrong", text=text, fix=fix))

    @contextmanager
    def checking(self, name: str) -> Generator[None]:
        """An error in the block is what is wrong; without trust there is nothing to check."""
        try:
            yield
        except UntrustedError:
            raise
        except EtudeError as error:
            self.wrong(name, error.message, error.hint)


def check_install(found: DoctorReport) -> None:
    """Python and plugins."""
    found.ok("etude", f"{__version__} on Python {'.'.join(map(str, sys.version_info[:3]))}")
    for family in BUILT_IN:
        for point in plugins(family):
            name, text = f"plugin {point.name}", f"{origin(point)}: {point.value}, one of the {family}"
            if point.name in BUILT_IN[family]:
                text += f", is never used: {point.name!r} is the name of a built-in one"
                found.note(name, text, "use its import path as the name, or uninstall it")
                continue
            with found.checking(name):
                find(family, point.name)
                load(family, point)
                found.ok(name, text)


async def check_config(config: TrainConfig, found: DoctorReport) -> None:
    """Everything a config names: data, scorer, agent, skill, prompts, models, limits and the run folder."""
    env: Environment | None = None
    tasks: list[Task] = []
    with found.checking("data"):
        what = f"the tasks of environment {config.env.name!r}"
        env, splits = await waited_for(in_thread(_environment, config), what)
        tasks = [task for split in SPLITS for task in splits[split]]
        await _data(config, env, splits, found)
    with found.checking("skill"):
        _skill(config, found)
    check_parts(config, found)
    with found.checking("run folder"):
        plain_name(config.run.name, "run.name")
        _run_folder(config, found)
    await check_agent(config, found, env, tasks)


def check_parts(config: TrainConfig, found: DoctorReport) -> None:
    """What does not depend on tasks and skills: prompts, models, executor and limits."""
    if config.prompts:
        with found.checking("prompts"):
            Prompts({name: Path(path) for name, path in config.prompts.items()})
            found.ok("prompts", f"replaced: {', '.join(sorted(config.prompts))}")
    sections = config.models
    for role, section in sections.items():
        with found.checking(role):
            _model(role, section, config, found)
    with found.checking("keys"):
        redactor_of(config, Given())
    if config.executor != ExecutorSection():
        with found.checking("executor"):
            executor, options = find("executors", config.executor.name), dict(config.executor.model_extra or {})
            made = executor.from_options(options, concurrency=config.limits.concurrency, where="executor")
            made.check()
            found.ok("executor", f"{config.executor.name}: {executor.__module__}:{executor.__qualname__}")
    if config.report_to:
        with found.checking("report_to"):
            named_trackers(config.report_to)
            found.ok("report_to", ", ".join(config.report_to))
    caps = config.limits.model_dump(include={"usd", "tokens", "calls", "minutes"}, exclude_none=True)
    if caps:
        found.ok("limits", ", ".join(f"{name} {value:,g}" for name, value in caps.items()))
    else:
        found.note("limits", "no cap on money, tokens, calls or time", "set limits.usd or limits.calls")


def _environment(config: TrainConfig) -> tuple[Environment, dict[Split, Sequence[Task]]]:
    env = find("environments", config.env.name).from_options(
        dict(config.env.model_extra or {}), where="env", judge=None if config.judge is None else _no_judge
    )
    return env, {split: tuple(env.tasks(split)) for split in SPLITS}


async def _data(
    config: TrainConfig, env: Environment, splits: Mapping[Split, Sequence[Task]], found: DoctorReport
) -> None:
    warnings = check_tasks(env, splits, need_test=config.test.enabled)
    train, val, test = splits.values()
    found.ok("data", f"{len(train)} train, {len(val)} val, {len(test)} test tasks")
    try:
        need_training_tasks(splits)
    except DataError as error:  # `train` refuses them, and other verbs do not
        found.note("data", error.message, error.hint)
    for text in warnings:
        found.note("data", text)
    scorer = getattr(env, "scorer", None)
    if not isinstance(scorer, Scorer):
        found.note("scorer", f"environment {env.name!r} scores in its own way; nothing to check beforehand")
        return
    if isinstance(scorer, CommandScorer) and scorer.form == "check":
        text = (
            "the check runs in one box with what the attempt left: code of it that the check starts can forge a score"
        )
        found.note("check", text, "set env.boxes: 2 and start that code with the Python module 'etude_attempt'")
    with found.checking("scorer"):
        checks = check_scoring(config, env, splits)
        for doubt in await waited_for(checks, "the checks of gold answers and solutions"):
            found.note("tasks", f"{doubt.what}\n{doubt.example}", doubt.todo)
        if isinstance(scorer, AnswerScorer) and scorer.checks_gold:
            found.ok("scorer", f"{scorer.name} accepts all gold answers")
        elif scorer.tries_solutions:
            found.ok("scorer", f"{scorer.name} accepts the solutions that tasks bring")
        else:
            found.note("scorer", f"{scorer.name}: cannot be checked on gold answers")


def _no_judge() -> Judge:
    raise ConfigError(
        "the environment asks for the judge as it is made", hint="call `judge()` when a score is needed, not before"
    )


def _skill(config: TrainConfig, found: DoctorReport) -> None:
    skill, most = prepared(load_skill(config.skill.path), config.skill.files), config.skill.max_tokens
    if config.skill.path is None:
        found.note("skill", "none given: training starts with an empty skill", "set skill.path")
        return
    tokens = token_count(skill.text)
    if tokens > most:
        raise ConfigError(
            f"{skill.name}: about {tokens:,} tokens, more than skill.max_tokens = {most:,}: no candidate would fit",
            hint="shorten the skill or raise skill.max_tokens",
        )
    files = len(laid_out(skill).files)
    others = f"{files} other file{'s' * (files != 1)}"
    found.ok("skill", f"{skill.name}: about {tokens:,} of {most:,} tokens, {others}")
    for text, hint in unopened(config, skill).items():
        found.note("skill", text, hint)
    if Path(config.skill.path).is_dir() or Path(config.skill.path).name == "SKILL.md":
        installed = (config.agent.model_extra or {}).get("delivery") == "install"
        more = unlisted(Document.parse(skill.text).meta) if installed else []
        for text in (*validate_skill(laid_out(skill)), *more):
            found.note("skill", text)


def _model(role: str, section: ModelSection, config: TrainConfig, found: DoctorReport) -> None:
    model, price = build_model(section), price_of(section, config.prices)
    where = f" at {model.endpoint}" if model.endpoint else ""
    found.ok(role, f"{model.name}{where}{_key(role, section, found)}")
    if model.answered_by_hand:
        folder = Path(model.endpoint).expanduser()
        check_writable(folder, "name another folder, or change its permissions")
        if open_ones := len(waiting(folder)):
            text = f"{open_ones} question{'s wait' if open_ones > 1 else ' waits'} for an answer in {folder}"
            found.note(role, text, f"{folder / 'README.md'} says how to answer")
        else:
            found.ok(role, f"no question waits in {folder}")
    if price is None and config.limits.usd is not None:
        raise ConfigError(
            f"limits.usd = {config.limits.usd:g} needs a price",
            hint=f"set {role}.price.input and {role}.price.output (USD per million tokens), or drop the cap",
        )
    if price is None:
        fix = f"set {role}.price.input and {role}.price.output"
        found.note(role, "no price: money will be shown as unknown", fix)


def _key(role: str, section: ModelSection, found: DoctorReport) -> str:
    if section.api_key_command is not None:
        return ", key from api_key_command"
    variable = used_key_variable(section)
    if variable is None:
        return ", needs no key"
    key = os.environ.get(variable, "")
    if 0 < len(key.strip()) < SHORTEST_KEY:
        text = f"the key in {variable} is shorter than {SHORTEST_KEY} characters: it is treated as a placeholder, "
        found.note(role, text + "sent, and not removed from what is stored", "copy the key again if it is a real one")
    return f", key {variable} is {'set' if key else 'not set'}"


def check_writable(path: Path, fix: str) -> None:
    """Raises ConfigError if a folder can neither be written nor made."""
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise ConfigError(f"{path} cannot be written", hint=fix)


def _run_folder(config: TrainConfig, found: DoctorReport) -> None:
    """What `train` will do: begin, go on, report, or begin the round after an export over the initial skill."""
    named, further = run_folder(config), next_round(config)
    path = run_folder(further)
    before = "" if path == named else f"{named} was exported to where its skill came from; "
    if is_running(path):
        raise ConfigError(f"{path} is in use by another process", hint="wait for it, or change run.name")
    check_writable(path, "change run.folder, or the permissions of the folder")
    run = read_run(path) if (path / "journal.db").exists() else None
    if run is None and before:
        found.ok("run folder", f"{before}`train` begins the next round in {path}")
    elif run is None or run.evaluations_only:
        text = f"{path} is free" if run is None else f"{path} holds measurements only: `train` uses it"
        found.ok("run folder", before + text)
    elif run.resumable:
        text = f"{path} holds a run that is not finished: `train` resumes it, if its settings are the same"
        found.note("run folder", before + text)
    else:
        text = f"{path} holds a finished run: `train` only reports it, and refuses other settings"
        found.note("run folder", before + text, "for another run change run.name, as in `etude train --name NEW`")


def check_sandbox(found: DoctorReport) -> None:
    """Which sandbox works here. It is tried out."""
    try:
        sandbox = find_sandbox()
    except ConfigError as error:
        found.note("sandbox", error.message, error.hint)
        return
    if isinstance(sandbox, Landlock):
        text = (
            "Landlock works, bubblewrap does not: programs can see which files exist and which processes run, change "
            "the times of your files, and end your processes before Linux 6.12"
        )
        found.note("sandbox", text, "install bubblewrap")
    else:
        found.ok("sandbox", f"{sandbox.name} works")
    engine = find_engine()
    found.ok("docker", f"not used: {engine}" if isinstance(engine, str) else f"version {engine.version} answers")


def check_programs(found: DoctorReport) -> None:
    """Which of the agent programs that are known by name there are. Only that of an agent is started."""
    missing: list[Program] = []
    for program in known_programs().values():
        try:
            found.ok(f"program {program.name}", str(program.find().path))
        except ConfigError:
            missing.append(program)
    if missing:
        text = f"not found: {', '.join(program.command for program in missing)}; only agents of these names need them"
        found.note("programs", text, "; ".join(f"{program.name}: {program.install}" for program in missing))


async def check_agent(
    config: TrainConfig, found: DoctorReport, env: Environment | None = None, tasks: Sequence[Task] = ()
) -> None:
    """The agents of a config, made with their options, and whether they can attempt the tasks; what is right with the
    default one needs no line."""
    for name, target in targets_of(config, config.models).items():
        section = config.agents[name]
        try:
            prompts = Prompts({name: Path(path) for name, path in config.prompts.items()})
            model = build_model(target)
        except EtudeError:  # reported where prompts and models are checked
            continue
        with found.checking("agent"), about_target(name):
            async with aclosing(model):
                kind = find("agents", section.name)
                if env is None:
                    agent = kind.from_options(dict(section.model_extra or {}), model, prompts, where="agent")
                else:
                    agent = make_agent(section, env, model, prompts)
                async with aclosing(agent):
                    check_files(config, {name: agent})
                    for task in tasks:
                        agent.check_task(task)
            if section != AgentSection():
                found.ok("agent", f"{section.name}: {kind.__module__}:{kind.__qualname__}")
            if isinstance(agent, ProgramAgent):
                _program_agent(agent, config, found)


def _program_agent(agent: ProgramAgent, config: TrainConfig, found: DoctorReport) -> None:
    """Its program, and what makes attempts wait, or ends them from outside, so that they have no score."""
    if agent.program.tested:
        where = f"{agent.version}, {agent.installed.path}"
        if old := agent.program.too_old(agent.version):
            found.note("agent program", f"{where}: {old[0]}", old[1])
        else:
            newer = agent.program.newer(agent.version)
            found.ok("agent program", where + (f": {newer}" if newer else ""))
    limits, longest = config.limits, agent.limits.seconds + agent.limits.grace_seconds
    if limits.concurrency > agent.concurrency:
        text = f"there is memory for {agent.concurrency} of {limits.concurrency} attempts at the same time"
        found.note("agent memory", text, "agent.concurrency_mb is the memory expected for each")
    if limits.attempt_seconds <= longest:
        text = f"limits.attempt_seconds = {limits.attempt_seconds:g} ends attempts before agent.limits.seconds does"
        found.note("agent time", text, f"set limits.attempt_seconds to more than {longest:g}")
