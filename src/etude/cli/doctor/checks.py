"""What `doctor` checks without asking a model."""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, cast

from etude import __version__
from etude.cli.roles import model_sections
from etude.config import ExecutorSection, ModelSection, TrainConfig, file_data
from etude.envs.gold import check_gold
from etude.envs.scorers.base import AnswerScorer, Judge
from etude.envs.splits import check_splits
from etude.errors import ConfigError, EtudeError, RejectedRole
from etude.models import build_model, price_of, used_key_variable
from etude.models.handoff import HandoffModel
from etude.prompts import Prompts
from etude.protocols import Environment, Scorer
from etude.records import SPLITS, Record, Task
from etude.redaction import check_keys
from etude.redaction.redactor import SHORTEST_KEY
from etude.registry import BUILT_IN, Family, find, load, origin, plugins
from etude.skill import load_skill, token_count, validate_skill
from etude.store import is_running, read_run

EXTRAS = {
    "serve": ("starlette", "uvicorn"),
    "agents": ("starlette", "uvicorn"),
    "spreadsheet": ("openpyxl",),
    "parquet": ("pyarrow",),
    "hf": ("datasets",),
    "anthropic": ("anthropic",),
    "providers": ("pydantic_ai",),
}
WHAT_FOR = {
    "serve": "`etude simulate`",
    "agents": "the gateway of agent programs",
    "spreadsheet": "the environment `spreadsheet`",
    "parquet": "Parquet files",
    "hf": "datasets of the Hugging Face hub",
    "anthropic": "`anthropic:` models",
    "providers": "`adapter:` models",
}


class Check(Record):
    """What one look found."""

    name: str
    status: Literal["ok", "note", "wrong"]
    text: str
    mend: str = ""
    """How to mend it."""

    @classmethod
    def ok(cls, name: str, text: str) -> "Check":
        """Nothing to mend."""
        return cls(name=name, status="ok", text=text)

    @classmethod
    def note(cls, name: str, text: str, mend: str = "") -> "Check":
        """Good to know."""
        return cls(name=name, status="note", text=text, mend=mend)

    @classmethod
    def wrong(cls, name: str, error: EtudeError) -> "Check":
        """Training would refuse it."""
        return cls(name=name, status="wrong", text=error.message, mend=error.hint)


def check_install() -> list[Check]:
    """Python, extras and plugins."""
    version = ".".join(map(str, sys.version_info[:3]))
    checks = [Check.ok("etude", f"{__version__} on Python {version}")]
    for extra, modules in EXTRAS.items():
        name = f"extra {extra}"
        missing = [module for module in modules if find_spec(module) is None]
        if missing:
            text = f"not installed ({', '.join(missing)}); needed for {WHAT_FOR[extra]} only"
            checks.append(Check.note(name, text, f"pip install 'etude[{extra}]'"))
        else:
            checks.append(Check.ok(name, "installed"))
    return [*checks, *_plugins()]


def _plugins() -> list[Check]:
    checks: list[Check] = []
    for family in BUILT_IN:
        ours = BUILT_IN[family]
        looked = [(point, _look(family, point)) for point in plugins(family) if point.name not in ours]
        checks += [_hidden(family, point) for point in plugins(family) if point.name in ours]
        checks += [_plugin(family, looked, index) for index in range(len(looked))]
    return checks


def _look(family: Family, point: EntryPoint) -> Any:
    """The class behind an entry point, or what is wrong with it."""
    try:
        return load(family, point)
    except ConfigError as error:
        return error


def _hidden(family: Family, point: EntryPoint) -> Check:
    kind = family.removesuffix("s")
    text = f"{origin(point)}: {kind} {point.value} is never used: {point.name!r} is the name of a built-in {kind}"
    return Check.note(f"plugin {point.name}", text, "give its import path as the name, or uninstall it")


def _plugin(family: Family, looked: Sequence[tuple[EntryPoint, Any]], index: int) -> Check:
    """One of a family's plugins beside the others."""
    point, found = looked[index]
    kind = family.removesuffix("s")
    rivals = [
        (f"{origin(other)} ({other.value})", thing)
        for other, thing in looked
        if other.name == point.name and thing is not found and not isinstance(thing, ConfigError)
    ]
    if isinstance(found, ConfigError):
        used = f"; {rivals[0][0]} is used" if len(rivals) == 1 else ""
        return Check.wrong(
            f"plugin {point.name}", ConfigError(f"{origin(point)}: {found.message}{used}", hint=found.hint)
        )
    text = f"{origin(point)}: {kind} {point.value}"
    if rivals:
        error = ConfigError(
            f"{text}: {point.name!r} is also the name of {' and '.join(text for text, _ in rivals)}",
            hint="give the import path of the one that is meant as the name, or uninstall the others",
        )
        return Check.wrong(f"plugin {point.name}", error)
    return Check.ok(f"plugin {point.name}", text)


async def check_config(config: TrainConfig) -> list[Check]:
    """Everything a config names: data, scorer, skill, prompts, models, limits and the run folder."""
    return [
        *await _data(config),
        *_skill(config),
        *check_parts(config),
        *_run_folder(config),
    ]


def check_parts(config: TrainConfig) -> list[Check]:
    """What has nothing to do with tasks and skills: prompts, models, executor and limits."""
    return [*_prompts(config), *_models(config), *_keys(config), *_executor(config), _limits(config)]


async def _data(config: TrainConfig) -> list[Check]:
    try:
        env: Environment = find("environments", config.env.name).from_options(
            dict(config.env.model_extra or {}), where="env", judge=None if config.judge is None else _no_judge
        )
        tasks = {split: tuple(env.tasks(split)) for split in SPLITS}
        warnings = check_splits(tasks["train"], tasks["val"], tasks["test"], need_test=config.test.enabled)
    except EtudeError as error:
        return [Check.wrong("data", error)]
    counts = ", ".join(f"{len(tasks[split])} {split}" for split in SPLITS)
    checks = [Check.ok("data", f"{counts} tasks"), *(Check.note("data", text) for text in warnings)]
    return [*checks, await _scorer(env, [task for split in SPLITS for task in tasks[split]])]


async def _scorer(env: Environment, tasks: list[Task]) -> Check:
    scorer = getattr(env, "scorer", None)
    if not isinstance(scorer, Scorer):
        return Check.note("scorer", f"environment {env.name!r} scores in its own way; nothing to check beforehand")
    try:
        await check_gold(env, tasks)
    except EtudeError as error:
        return Check.wrong("scorer", error)
    if not isinstance(scorer, AnswerScorer) or not scorer.checks_gold:
        return Check.note("scorer", f"{scorer.name}: cannot be checked on gold answers")
    return Check.ok("scorer", f"{scorer.name} accepts all gold answers")


def _no_judge() -> Judge:
    raise ConfigError(
        "the environment asks for the judge as it is made", hint="call `judge()` when a score is needed, not before"
    )


def _skill(config: TrainConfig) -> list[Check]:
    try:
        skill = load_skill(config.skill.path)
    except EtudeError as error:
        return [Check.wrong("skill", error)]
    if config.skill.path is None:
        return [Check.note("skill", "none given: training starts with an empty skill", "set skill.path")]
    tokens, most = token_count(skill.text), config.skill.max_tokens
    if tokens > most:
        error = ConfigError(
            f"{skill.name}: about {tokens:,} tokens, more than skill.max_tokens = {most:,}: no candidate would fit",
            hint="shorten the skill or raise skill.max_tokens",
        )
        return [Check.wrong("skill", error)]
    checks = [Check.ok("skill", f"{skill.name}: about {tokens:,} of {most:,} tokens, {len(skill.files)} other files")]
    is_folder = Path(config.skill.path).is_dir() or Path(config.skill.path).name == "SKILL.md"
    return checks + [Check.note("skill", text) for text in (validate_skill(skill) if is_folder else [])]


def _prompts(config: TrainConfig) -> list[Check]:
    if not config.prompts:
        return []
    try:
        Prompts({name: Path(path) for name, path in config.prompts.items()})
    except EtudeError as error:
        return [Check.wrong("prompts", error)]
    return [Check.ok("prompts", f"replaced: {', '.join(sorted(config.prompts))}")]


def _models(config: TrainConfig) -> list[Check]:
    checks: list[Check] = []
    for role, section in model_sections(config).items():
        try:
            model = build_model(section)
            price = price_of(section, config.prices)
        except EtudeError as error:
            checks.append(Check.wrong(role, error))
            continue
        where = f" at {model.endpoint}" if model.endpoint else ""
        checks.append(Check.ok(role, f"{model.name}{where}{_key(section)}"))
        checks += _short_key(role, section)
        if isinstance(model, HandoffModel):
            checks += unwritable(role, model.folder, "name another folder, or change its rights") or [
                _handoff(role, model)
            ]
        if price is None and config.limits.usd is None:
            text = "no price: money will be shown as unknown"
            checks.append(Check.note(role, text, f"set {role}.price.input and {role}.price.output"))
        if price is None and config.limits.usd is not None:
            error = ConfigError(
                f"limits.usd = {config.limits.usd:g} needs a price",
                hint=f"set {role}.price.input and {role}.price.output (USD per million tokens), or drop the cap",
            )
            checks.append(Check.wrong(role, error))
    return checks


def _handoff(role: str, model: HandoffModel) -> Check:
    """The folder of questions and answers."""
    try:
        waiting = model.waiting()
    except RejectedRole as error:
        return Check.wrong(role, error)
    if not waiting:
        return Check.ok(role, f"no question waits in {model.folder}")
    counted = f"{waiting} questions wait" if waiting > 1 else "1 question waits"
    mend = f"{model.folder / 'README.md'} says how to answer"
    return Check.note(role, f"{counted} for an answer in {model.folder}", mend)


def unwritable(name: str, path: Path, mend: str) -> list[Check]:
    """That a folder can neither be written nor made; nothing where it can."""
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if there.is_dir() and os.access(there, os.W_OK):
        return []
    return [Check.wrong(name, ConfigError(f"{path} cannot be written", hint=mend))]


def _executor(config: TrainConfig) -> list[Check]:
    """The executor, where it is not the usual one."""
    if config.executor == ExecutorSection():
        return []
    options = dict(config.executor.model_extra or {})
    try:
        executor = find("executors", config.executor.name)
        executor.from_options(options, concurrency=config.limits.concurrency, where="executor")
    except EtudeError as error:
        return [Check.wrong("executor", error)]
    return [Check.ok("executor", f"{config.executor.name}: {executor.__module__}:{executor.__qualname__}")]


def _key(section: ModelSection) -> str:
    if section.model.startswith("adapter:"):
        return ""
    if section.api_key_command is not None:
        return ", key from api_key_command"
    variable = used_key_variable(section)
    if variable is None:
        return ", needs no key"
    return f", key {variable} is {'set' if os.environ.get(variable) else 'not set'}"


def _keys(config: TrainConfig) -> list[Check]:
    """Keys that are words of the settings."""
    names = [used_key_variable(section) for section in model_sections(config).values()]
    place = Path(config.run.folder, config.run.name)
    try:
        check_keys(file_data(config, place), os.environ, [name for name in names if name is not None])
    except ConfigError as error:
        return [Check.wrong("keys", error)]
    return []


def _short_key(role: str, section: ModelSection) -> list[Check]:
    variable = used_key_variable(section)
    size = len(os.environ.get(variable or "", "").strip())
    if section.model.startswith("adapter:") or not 0 < size < SHORTEST_KEY:
        return []
    text = (
        f"the key in {variable} is shorter than {SHORTEST_KEY} characters: it is taken for a placeholder, sent, and "
        "not kept out of what is stored"
    )
    return [Check.note(role, text, "copy the key again, if it is meant to be one")]


def _limits(config: TrainConfig) -> Check:
    caps = ("usd", "tokens", "calls", "minutes")
    values = {name: cast(float | None, getattr(config.limits, name)) for name in caps}
    shown = ", ".join(f"{name} {value:,g}" for name, value in values.items() if value is not None)
    if shown:
        return Check.ok("limits", shown)
    return Check.note("limits", "no cap on money, tokens, calls or time", "set limits.usd or limits.calls")


def _run_folder(config: TrainConfig) -> list[Check]:
    path = Path(config.run.folder) / config.run.name
    if is_running(path):
        error = ConfigError(f"{path} is in use by another process", hint="wait for it, or change run.name")
        return [Check.wrong("run folder", error)]
    mend = "change run.folder, or the rights of the folder"
    return unwritable("run folder", path, mend) or [_run_in(path)]


def _run_in(path: Path) -> Check:
    if not (path / "journal.db").exists():
        return Check.ok("run folder", f"{path} is free")
    try:
        view = read_run(path)
    except EtudeError as error:
        return Check.wrong("run folder", error)
    if view.resumable:
        return Check.note("run folder", f"{path} holds a run that is not finished: `train` goes on with it")
    return Check.note("run folder", f"{path} holds a finished run: `train` only reports it", "change run.name")
