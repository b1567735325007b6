"""What `doctor` checks without asking a model."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from etude import __version__
from etude.cli.doctor.findings import Findings
from etude.config import ModelSection, TrainConfig, file_data
from etude.config.sections import ExecutorSection
from etude.envs.gold import check_gold, check_varied
from etude.envs.scorers.base import AnswerScorer, Judge
from etude.envs.splits import check_splits
from etude.errors import ConfigError
from etude.models import build_model, price_of, used_key_variable
from etude.models.handoff import unanswered
from etude.prompts import Prompts
from etude.protocols import Environment, Scorer
from etude.records import SPLITS, Role
from etude.redaction import check_keys
from etude.redaction.redactor import SHORTEST_KEY
from etude.registry import BUILT_IN, find, load, origin, plugins
from etude.skill import load_skill, token_count, validate_skill
from etude.store import is_running, read_run

EXTRAS = {
    "serve": (("starlette", "uvicorn"), "`etude simulate`"),
    "agents": (("starlette", "uvicorn"), "the gateway of agent programs"),
    "spreadsheet": (("openpyxl",), "the environment `spreadsheet`"),
    "parquet": (("pyarrow",), "Parquet files"),
    "hf": (("datasets",), "datasets of the Hugging Face hub"),
    "anthropic": (("anthropic",), "`anthropic:` models"),
    "providers": (("pydantic_ai",), "`adapter:` models"),
}
"""The modules of each extra, and what it is for."""


def check_install(found: Findings) -> None:
    """Python, extras and plugins."""
    found.ok("etude", f"{__version__} on Python {'.'.join(map(str, sys.version_info[:3]))}")
    missing = {name: why for name, (modules, why) in EXTRAS.items() if not all(map(find_spec, modules))}
    if installed := [name for name in EXTRAS if name not in missing]:
        found.ok("extras", f"installed: {', '.join(installed)}")
    if missing:
        text = ", ".join(f"{name} (for {why})" for name, why in missing.items())
        found.note("extras", f"not installed: {text}", f"pip install 'etude[{','.join(missing)}]'")
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


async def check_config(config: TrainConfig, found: Findings) -> None:
    """Everything a config names: data, scorer, skill, prompts, models, limits and the run folder."""
    with found.checking("data"):
        await _data(config, found)
    with found.checking("skill"):
        _skill(config, found)
    check_parts(config, found)
    with found.checking("run folder"):
        _run_folder(Path(config.run.folder) / config.run.name, found)


def check_parts(config: TrainConfig, found: Findings) -> None:
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
        keys = [name for section in sections.values() if (name := used_key_variable(section)) is not None]
        check_keys(file_data(config, Path(config.run.folder, config.run.name)), os.environ, keys)
    if config.executor != ExecutorSection():
        with found.checking("executor"):
            executor, options = find("executors", config.executor.name), dict(config.executor.model_extra or {})
            executor.from_options(options, concurrency=config.limits.concurrency, where="executor")
            found.ok("executor", f"{config.executor.name}: {executor.__module__}:{executor.__qualname__}")
    caps = config.limits.model_dump(include={"usd", "tokens", "calls", "minutes"}, exclude_none=True)
    if caps:
        found.ok("limits", ", ".join(f"{name} {value:,g}" for name, value in caps.items()))
    else:
        found.note("limits", "no cap on money, tokens, calls or time", "set limits.usd or limits.calls")


async def _data(config: TrainConfig, found: Findings) -> None:
    env: Environment = find("environments", config.env.name).from_options(
        dict(config.env.model_extra or {}), where="env", judge=None if config.judge is None else _no_judge
    )
    train, val, test = (tuple(env.tasks(split)) for split in SPLITS)
    warnings = check_splits(train, val, test, need_test=config.test.enabled)
    found.ok("data", f"{len(train)} train, {len(val)} val, {len(test)} test tasks")
    for text in warnings:
        found.note("data", text)
    scorer = getattr(env, "scorer", None)
    if not isinstance(scorer, Scorer):
        found.note("scorer", f"environment {env.name!r} scores in its own way; nothing to check beforehand")
        return
    with found.checking("scorer"):
        await check_gold(env, [*train, *val, *test])
        if not config.env.allow_constant_gold:
            await check_varied(env, {"train": train, "val": val, "test": test})
        if isinstance(scorer, AnswerScorer) and scorer.checks_gold:
            found.ok("scorer", f"{scorer.name} accepts all gold answers")
        else:
            found.note("scorer", f"{scorer.name}: cannot be checked on gold answers")


def _no_judge() -> Judge:
    raise ConfigError(
        "the environment asks for the judge as it is made", hint="call `judge()` when a score is needed, not before"
    )


def _skill(config: TrainConfig, found: Findings) -> None:
    skill, most = load_skill(config.skill.path), config.skill.max_tokens
    if config.skill.path is None:
        found.note("skill", "none given: training starts with an empty skill", "set skill.path")
        return
    tokens = token_count(skill.text)
    if tokens > most:
        raise ConfigError(
            f"{skill.name}: about {tokens:,} tokens, more than skill.max_tokens = {most:,}: no candidate would fit",
            hint="shorten the skill or raise skill.max_tokens",
        )
    found.ok("skill", f"{skill.name}: about {tokens:,} of {most:,} tokens, {len(skill.files)} other files")
    if Path(config.skill.path).is_dir() or Path(config.skill.path).name == "SKILL.md":
        for text in validate_skill(skill):
            found.note("skill", text)


def _model(role: Role, section: ModelSection, config: TrainConfig, found: Findings) -> None:
    model, price = build_model(section), price_of(section, config.prices)
    where = f" at {model.endpoint}" if model.endpoint else ""
    found.ok(role, f"{model.name}{where}{_key(role, section, found)}")
    if model.answered_by_hand:
        folder = Path(model.endpoint).expanduser()
        check_writable(folder, "name another folder, or change its permissions")
        if waiting := unanswered(folder):
            text = f"{waiting} question{'s wait' if waiting > 1 else ' waits'} for an answer in {folder}"
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


def _key(role: Role, section: ModelSection, found: Findings) -> str:
    if section.model.startswith("adapter:"):
        return ""
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
    """Raise if a folder can neither be written nor made.

    Raises:
        ConfigError: it cannot.
    """
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise ConfigError(f"{path} cannot be written", hint=fix)


def _run_folder(path: Path, found: Findings) -> None:
    if is_running(path):
        raise ConfigError(f"{path} is in use by another process", hint="wait for it, or change run.name")
    check_writable(path, "change run.folder, or the permissions of the folder")
    if not (path / "journal.db").exists():
        found.ok("run folder", f"{path} is free")
    elif read_run(path).resumable:
        found.note("run folder", f"{path} holds a run that is not finished: `train` resumes it")
    else:
        found.note("run folder", f"{path} holds a finished run: `train` only reports it", "change run.name")
