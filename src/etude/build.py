"""From settings to a workbench: the one module that knows every family."""

import os
import re
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from etude.agents.targets import check_files, one_of
from etude.attempt_parts import (
    AbsentModel,
    RunJudge,
    about_target,
    make_agents,
    make_environment,
    or_absent,
    recipe_of,
    targets_of,
    unopened,
)
from etude.concurrency import Threads, allow_open_files, in_thread, waited_for
from etude.config import ModelSection, Price, TrainConfig, file_data
from etude.config.repeats import useless_repeats
from etude.connect import Tracker, named_trackers, telling
from etude.display import shown
from etude.envs.doubts import doubts_about
from etude.envs.gold import check_gold, check_varied
from etude.envs.splits import check_tasks
from etude.errors import ConfigError, Missing, StopRun
from etude.events import Event, Notice
from etude.executors.local import LocalExecutor
from etude.models import Fitted, Journaled, Limited, Metered, Resending, Retrying, Structured, build_model, price_of
from etude.models.keys import key_variable, keyless, secrets_of, used_key_variable
from etude.models.wrappers.fitted import kept_of
from etude.models.wrappers.journaled import Pictured
from etude.models.wrappers.metered import cost
from etude.prompts import Prompts
from etude.protocols import Agent, ChatModel, Environment, Executor, Here
from etude.records import SPLITS, Role, Skill, Split, Task, Usage, digest, role_of
from etude.records.summary import Doubt
from etude.records.tasks import for_each_target
from etude.redaction import Redactor, check_keys
from etude.registry import find
from etude.safe_yaml import dump_yaml
from etude.searches import Policy, policy_of
from etude.secret_values import Secrets
from etude.skill import Document, load_skill
from etude.skill.parts import prepared
from etude.stages.shared.rollout import Rollout
from etude.store import RunFolder, SqliteSpend
from etude.store.identity import known_settings
from etude.store.judge_labels import labels_of
from etude.store.rounds import own_initial
from etude.store.run import plain_name
from etude.store.views import STOP
from etude.workbench import Given, Observer, StopSwitch, Watched, Workbench, check_given


@dataclass
class _Parts:
    """What can be built and checked before the run folder is touched."""

    config: TrainConfig
    given: Given
    unasked: Collection[str] = ()
    """Roles of which nothing is asked, so that their keys are not missed."""
    missing: list[Missing] | None = None
    """What else such a role and the agent need and is not here; None where that is an error."""
    prompts: Prompts = field(init=False)
    skill: Skill = field(init=False)
    policy: Policy = field(init=False)
    providers: dict[str, ChatModel] = field(default_factory=dict[str, ChatModel])
    """By where the settings have them, as `TrainConfig.models`."""

    def __post_init__(self) -> None:
        config, given = self.config, self.given
        self.policy = policy_of(config)
        prompts = given.get("prompts", {name: Path(path) for name, path in config.prompts.items()})
        self.prompts = prompts if isinstance(prompts, Prompts) else Prompts(prompts)
        skill = given.get("skill", config.skill.path)
        self.skill = prepared(skill if isinstance(skill, Skill) else load_skill(skill), config.skill.files)
        Document.parse(self.skill.text)
        objects = cast(Mapping[str, Any], given)
        for name in ("target", "agent") if config.targets else ():
            if name in objects:
                raise ConfigError(
                    f"{name} was given as an object, and the settings have several targets",
                    hint="name the model and the agent of each target in `targets`",
                )
        called = dict(zip(config.models, config.agents, strict=False))  # targets come first
        for role in dict.fromkeys((*config.models, "judge")):
            model, section = objects.get(role), config.models.get(role)
            if model is not None and not isinstance(model, ChatModel):
                raise ConfigError(
                    f"{role} = {model!r} is not a ChatModel", hint=f"name a model in the settings: {role}.model"
                )
            if model is None and section is not None:
                with about_target(called.get(role, "")):
                    unasked = role in self.unasked
                    make = partial(build_model, keyless(section) if unasked else section)
                    model = or_absent(make, AbsentModel(section.model), self.missing if unasked else None)
            if model is not None:
                self.providers[role] = model
                if config.limits.usd is not None and self.price(role) is None:
                    raise ConfigError(
                        f"limits.usd = {config.limits.usd:g} needs the price of every model, {role}.price is not set",
                        hint=f"set {role}.price.input and {role}.price.output in USD per million tokens, or prices",
                    )

    def warnings(self) -> Iterator[Notice]:
        """What the user may not have meant, and what will be missed once something is asked."""
        config = self.config
        yield from (_warning(error.message, error.hint) for error in self.missing or ())
        if self.unasked != ("optimizer",) and not Document.parse(self.skill.text).body.strip():  # it trains
            yield _warning("the skill is empty: training starts from nothing")
        repeats = useless_repeats(config, self.policy.options.tries)
        yield from (_warning(*told) for told in [repeats, *unopened(config, self.skill).items()] if told[0])

    def price(self, role: str) -> Price | None:
        """The price of a model; the simulated world costs nothing."""
        section = self.config.models.get(role) or ModelSection(model=self.providers[role].name)
        return price_of(section, self.config.prices, self.providers[role].name)


@asynccontextmanager
async def open_workbench(
    config: TrainConfig, given: Given, *, claim: bool = True, asks: bool = True
) -> AsyncGenerator[Workbench, None]:
    """Build and check everything, open the run folder, close it all at the end. Without `claim` the folder belongs to
    other settings and only its journal is borrowed; without `asks` no model is asked; without both, what is not
    installed is a warning. Raises InputError: something cannot be used as it is. Nothing was paid for."""
    check_given(given)
    plain_name(config.run.name, "run.name")
    own = own_initial(config) if claim and "skill" not in given else None
    asks = asks and not given.get("offline")
    unasked = () if claim and asks else ("optimizer",) if asks else (*config.models, "judge")
    parts = _Parts(config, given if own is None else {**given, "skill": own}, unasked, None if claim or asks else [])
    trackers = named_trackers(config.report_to, given.get("sinks", ())) if claim and not given.get("offline") else ()
    switch, observer = given.get("switch") or StopSwitch(), given.get("observer") or Observer()
    # The environment is checked before the folder exists, with a judge that is wired once it does.
    judge = RunJudge(parts.prompts["rubric"], parts.providers.get("judge"))
    env, loaded, warnings = await _tasks_of(config, given, judge, switch.check, trains=claim)
    doubts = await waited_for(
        check_scoring(config, env, loaded, varied=claim), "the checks of gold answers and solutions", switch.check
    )
    agrees = labels_of(Path(config.run.folder), env.fingerprint()).told if "judge" in parts.providers else ""
    tasks: dict[Split, Sequence[Task]] = {split: for_each_target(loaded[split], config.agents) for split in SPLITS}
    executor = _executor(config, given)
    await waited_for(in_thread(executor.check), f"the executor {config.executor.name!r}", switch.check)

    redactor = redactor_of(config, given)
    redactor.secrets += [model.secrets for model in parts.providers.values() if model.secrets is not None]
    async with _opened(config, given, redactor, trackers) as (folder, emit):
        folder.journal.sealed = not asks
        folder.journal.warn = lambda text, hint: emit(_warning(text, hint))
        switch.watch(folder.path / STOP)
        spend = SqliteSpend(folder.journal, config.limits)
        models: dict[str, Watched] = {}
        for role in parts.providers:
            model = Pictured(_fitted(parts, role, folder, spend, emit), env.image)
            models[role] = Watched(Journaled(model, folder.journal), switch.check, parts.price(role))
        if "judge" in models:
            judge.model = _structured(models["judge"], config.judge or config.target, folder, emit)
        targets = targets_of(config, models)
        agent, secrets = _agent(parts, env, targets, [task for split in SPLITS for task in tasks[split]])
        redactor.secrets += secrets
        resumed = folder.journal.identity is not None
        if claim:
            settings = _settings(config, folder)
            known = _identity(config, parts, env, agent, tasks)
            folder.journal.claim_identity(known, lambda: (known_settings(folder.path), settings))
            folder.keep_initial(parts.skill)
            folder.write_text("config.yaml", dump_yaml(settings))
        judged, prices = models.get("judge"), {name: model.price for name, model in targets.items()}
        run = (config.limits, emit, switch.check, _bill(prices), lambda: judged is not None and judged.simulated)
        recipe = partial(recipe_of, config, parts.prompts, models, judge.model, (agent, env), emit)
        async with executor.placed(Here(agent, env, Threads(config.limits.concurrency)), recipe) as place:
            rollout = Rollout(agent, env, executor, folder.journal, *run, place=place)
            try:
                for notice in (*map(_warning, warnings), *parts.warnings(), *_told(doubts, agrees)):
                    emit(notice)
                yield Workbench(
                    config=config,
                    skill=parts.skill,
                    tasks=tasks,
                    rollout=rollout,
                    structured=_structured(models["optimizer"], config.optimizer, folder, emit),
                    prompts=parts.prompts,
                    folder=folder,
                    spend=spend,
                    emit=emit,
                    models=models,
                    resumed=resumed,
                    doubts=doubts,
                    judge_agrees=agrees,
                    observer=observer,
                )
            except StopRun:
                await executor.drain()
                raise
            finally:
                await executor.cancel()
                for used, what in (("agent", agent), *parts.providers.items()):
                    if used not in given:
                        await what.aclose()


async def _tasks_of(
    config: TrainConfig, given: Given, judge: RunJudge, check: Callable[[], None], *, trains: bool
) -> tuple[Environment, Mapping[Split, Sequence[Task]], Sequence[str]]:
    """The environment, its tasks and what is doubtful about them. It may take its time: whatever it loads."""

    def made() -> tuple[Environment, dict[Split, Sequence[Task]], Sequence[str]]:
        env = given.get("env") or make_environment(config.env, judge)
        env = env if isinstance(env, Environment) else env(judge)
        tasks: dict[Split, Sequence[Task]] = {split: tuple(env.tasks(split)) for split in SPLITS}
        warnings = check_tasks(env, tasks, need_test=config.test.enabled, trains=trains)
        env.fingerprint()  # asks for whatever scoring needs, a judge for one
        return env, tasks, warnings

    if isinstance(given.get("env"), Environment):  # what it holds may belong to the thread that made it
        return made()
    return await waited_for(in_thread(made), f"the tasks of environment {config.env.name!r}", check)


async def check_scoring(
    config: TrainConfig, env: Environment, tasks: Mapping[Split, Sequence[Task]], *, varied: bool = True
) -> tuple[Doubt, ...]:
    """The doubts about tasks and scorer. Raises DataError: the scorer does not accept what is right, or where answers
    are to be `varied` it accepts one reply everywhere."""
    every = [task for split in SPLITS for task in tasks[split]]
    await check_gold(env, every, 2 * config.limits.attempt_seconds)
    if varied and not config.env.allow_constant_gold:
        await check_varied(env, tasks)
    return await doubts_about(env, tasks, config.target.max_output_tokens)


@asynccontextmanager
async def _opened(
    config: TrainConfig, given: Given, redactor: Redactor, trackers: Sequence[Tracker]
) -> AsyncGenerator[tuple[RunFolder, Callable[[Event], None]], None]:
    """The run folder, and what tells everybody of an event."""
    opened = RunFolder.open(config.run, fork=given.get("fork"), redactor=redactor)
    with opened as folder, shown(given.get("progress", False)) as display:
        async with telling([folder.events, *given.get("sinks", ()), *trackers, *display]) as emit:
            yield folder, emit


def _warning(text: str, hint: str = "training continues anyway; `etude doctor` checks data and skill") -> Notice:
    return Notice(level="warning", text=text, hint=hint)


def _told(doubts: Sequence[Doubt], agrees: str) -> list[Notice]:
    """What is doubtful, and how far the judge can be trusted."""
    return [*(_warning(doubt.text, "") for doubt in doubts), *([Notice(level="info", text=agrees)] if agrees else [])]


def redactor_of(config: TrainConfig, given: Given) -> Redactor:
    """What keeps the keys of all roles out of the run folder. Raises ConfigError: a key is a word of the settings,
    or was taken out of them."""
    roles = config.models
    for role, one in roles.items():
        if "[redacted:" in f"{one.headers} {one.base_url}" and not given.get("offline"):
            raise ConfigError(
                f"{role}: a header or the address has a redacted secret, as settings in run folders have",
                hint="use your own settings file",
            )
    # What a model that was given reads is not known.
    found = (key_variable(one) if role in given else used_key_variable(one) for role, one in roles.items())
    keys = [name for name in found if name is not None]
    redactor = Redactor(os.environ, keys)
    redactor.secrets += [secrets_of(section) for section in roles.values()]
    settings = file_data(config, Path(config.run.folder, config.run.name))
    check_keys(settings, ((f"environment variable {name!r}", os.environ.get(name, "")) for name in keys))
    for one in _model_settings(settings):
        one |= {"headers": None, "base_url": None}
    for known in redactor.secrets[1:]:
        check_keys(settings, ((f"{name!r} of a model", key) for key, name in known.values.items()))
    return redactor


def _model_settings(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those of all models, in settings as data."""
    return [settings[role] for role in ("target", "optimizer", "judge") if role in settings] + list(
        settings.get("targets", ())
    )


def _executor(config: TrainConfig, given: Given) -> Executor:
    """The executor. Raises ConfigError: nothing has that name, it builds elsewhere what was given as an object, or
    too few files may be open for so many attempts."""
    if given.get("offline"):  # nothing is attempted, only read
        return LocalExecutor(config.limits.concurrency)
    allow_open_files(config.limits.concurrency)
    executor = given.get("executor") or _named_executor(config)
    for name in ("env", "agent"):
        if executor.builds_elsewhere and name in given:
            raise ConfigError(
                f"{name} was given as an object, and executor {config.executor.name!r} makes attempts in other "
                "processes, which build it from the settings",
                hint=f"name its class in the settings, {name}.name: 'package.module:Class', with its options",
            )
    return executor


def _named_executor(config: TrainConfig) -> Executor:
    cls = find("executors", config.executor.name)
    options = dict(config.executor.model_extra or {})
    return cls.from_options(options, concurrency=config.limits.concurrency, where="executor")


def _bill(prices: Mapping[str, Price | None]) -> Callable[[str, Usage, bool], float | None]:
    return lambda target, usage, simulated: cost(usage, prices[target], simulated)


def _fitted(
    parts: _Parts, place: str, folder: RunFolder, spend: SqliteSpend, emit: Callable[[Event], None]
) -> ChatModel:
    """The model of a role within its budget and its server's limits, asked as its server takes it; temporary errors
    are tried again."""
    section, provider = parts.config.models.get(place, parts.config.target), parts.providers[place]
    role = role_of(place)

    def notice(text: str, hint: str) -> None:
        emit(_warning(f"{text}; to have it so from the start: {hint}" if hint else text, ""))

    model = Metered(provider, role, spend, parts.price(place), emit)
    if not provider.answered_by_hand:  # it has no server to spare: all questions are asked before the first answer
        model = Limited(model, section.max_concurrency or max(64, parts.config.limits.concurrency))
        model = Resending(model) if parts.config.limits.resend else model
    model = Retrying(model, role, parts.config.limits.outage_seconds)
    return Fitted(model, place, notice, folder.journal, kept_of(place, section))


def _structured(
    model: Watched, section: ModelSection, folder: RunFolder, emit: Callable[[Event], None]
) -> Structured:
    def notice(text: str) -> None:
        emit(Notice(level="info", text=text))

    return Structured(model, section.structured, notice=notice, journal=folder.journal)


def _agent(
    parts: _Parts, env: Environment, targets: Mapping[str, ChatModel], tasks: Sequence[Task]
) -> tuple[Agent, list[Secrets]]:
    """The agent that was given, that of the environment, or that of the settings, or those of several targets as one;
    it can attempt the tasks. With what must not be stored."""
    made = (parts.config.agents, env, targets, parts.prompts, parts.given.get("agent"))
    agents = make_agents(*made, parts.missing)
    check_files(parts.config, agents)
    agent = agents.get("") or one_of(agents)
    for task in tasks:
        agent.check_task(task)
    return agent, [one.secrets for one in agents.values() if one.secrets is not None]


def _identity(
    config: TrainConfig, parts: _Parts, env: Environment, agent: Agent, tasks: Mapping[Split, Sequence[Task]]
) -> dict[str, Any]:
    """What a run's result depends on: settings, and content in place of the paths that name it."""
    identity = config.identity()
    for section in ("skill", "env", "prompts", *(["target"] if config.targets else [])):
        identity.pop(section)
    identity["search"] = {"policy": config.search.policy, **parts.policy.options.identity()}
    models: dict[Role, list[str]] = {}
    for place, model in parts.providers.items():
        models.setdefault(role_of(place), []).append(model.fingerprint())
    first = next(iter(config.agents))
    plain = {split: [task.plain for task in tasks[split] if task.target == first] for split in SPLITS}
    return identity | {
        "skill": {"hash": parts.skill.hash, "max_tokens": config.skill.max_tokens},
        "data": {split: digest([task.model_dump(mode="json") for task in plain[split]])[:16] for split in SPLITS},
        "env": {"name": env.name, "fingerprint": digest(env.fingerprint())[:16]},
        "agent": {"name": agent.name, "fingerprint": digest(agent.fingerprint())[:16]},
        "prompts": parts.prompts.fingerprint(),
        "models": {role: digest(prints if len(prints) > 1 else prints[0])[:16] for role, prints in models.items()},
    }


def _settings(config: TrainConfig, folder: RunFolder) -> dict[str, Any]:
    """As `config.yaml` holds them."""
    # Redacted before it is YAML: in place of a bare word, a redaction would be read as a list.
    data = file_data(config, folder.path)
    for one in _model_settings(data):  # what a redaction leaves of an address with a login is not an address
        if "base_url" in one:
            one["base_url"] = re.sub("//[^/?#]*@", "//", one["base_url"])
    return cast("dict[str, Any]", folder.redactor.redact_value(data))
