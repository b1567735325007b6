"""Settings from a YAML file, then environment variables, then dotted flags; later ones win."""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from etude.config.section_base import Section
from etude.config.sections import TrainConfig
from etude.errors import ConfigError, did_you_mean, in_plain_words
from etude.safe_yaml import load_yaml, read_yaml

M = TypeVar("M", bound=BaseModel)
C = TypeVar("C", covariant=True)

_DATA = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".gz")
"""Suffixes of files that hold tasks and never settings."""
_SKILLS = (".md", ".mdc", ".markdown")
_NOTHING = ("null", "Null", "NULL", "~")
"""What YAML takes for no value."""
ENVIRONMENT_PREFIX = "ETUDE_"

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # Published schedule and defaults: SkillOpt 0.2.0 and its paper, section 3.
    "paper": {
        "train": {"epochs": 4, "fresh_attempts": True},
        "search": {
            "policy": "paper",
            "batch_size": 40,
            "minibatch_size": 8,
            "failure_only": False,
            "merge_batch_size": 8,
            "schedule": "cosine",
            "edit_budget": 4,
            "min_edit_budget": 2,
            "gate": True,
            "slow_update": True,
            "slow_update_samples": 20,
            "slow_update_gate": True,
            "slow_update_pairs": "mixed",
            "meta_skill": True,
        },
        "reflect": {"mode": "shallow"},
        "gate": {"metric": "hard"},
    },
}

_PUBLISHED = (None, "paper", "rewrite_first")
"""What `search.policy` may be for the options of the preset to be known; None where it is not set."""


def parse(model: type[M], data: Any, *, where: str) -> M:
    """Validate `data` and turn the first problem into a ConfigError that names file or section and key.
    Raises ConfigError: an unknown key, a wrong type, a value out of range."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _config_error(model, error, where) from None


def _config_error(model: type[BaseModel], error: ValidationError, where: str) -> ConfigError:
    problems = error.errors(include_url=False)
    # A misspelt key also makes the right one missing: the misspelling is the cause.
    first = next((problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0])
    path = [str(part) for part in first["loc"]]
    key = ".".join(path)
    if first["type"] == "extra_forbidden":
        owner: Any = model
        for part in path[:-1]:
            owner = _section_type(owner, part)
        names = list(cast(dict[str, Any], getattr(owner, "model_fields", {})))
        return ConfigError(f"unknown key {key!r}", key=key, where=where, hint=_meant(path, names, model))
    if first["type"] == "missing":
        return ConfigError(f"{key!r} is missing", key=key, where=where, hint=f"add {key!r}")
    if first["type"] == "model_type" and path:
        section: Any = model
        for part in path:
            section = _section_type(section, part)
        example = next(iter(cast(dict[str, Any], getattr(section, "model_fields", {}))), "key")
        place = "-" if path[-1].isdigit() else f"{path[-1]}:"
        hint = f"write keys below it, as in `{place} {{{example}: ...}}`"
        return ConfigError(
            f"{key} = {first['input']!r:.200}: expected keys with values", key=key, where=where, hint=hint
        )
    what = in_plain_words(first["msg"])
    if first["type"] == "value_error" and isinstance(first["input"], Mapping):
        # Settings that do not fit together: the text names them, and the others say nothing.
        place, of = (f"{key}: ", f" of {key!r}") if key else ("", "")
        return ConfigError(f"{place}{what}", where=where, hint=f"change one of these settings{of}")
    given = "" if {"headers", "base_url"} & {*path} else f" = {first['input']!r:.200}"  # they may hold a secret
    return ConfigError(f"{key}{given}: {what}", key=key, where=where, hint=f"change {key!r}")


def _meant(path: list[str], names: list[str], model: type[BaseModel]) -> str:
    """What an unknown key was meant to be: a near one, or one of a section that was left out."""
    word = path[-1]
    if word in ("api_key", "key", "token"):
        return "a key is never written down: name the environment variable that holds it in api_key_env"
    sections: dict[str, Any] = {name: _section_type(model, name) for name in model.model_fields if name != "targets"}
    inside = [f"{name}.{word}" for name, kind in sections.items() if word in getattr(kind, "model_fields", ())]
    if len(path) == 1 and inside:
        return f"it belongs into a section: {' or '.join(inside)}"
    hint = did_you_mean(word, names)
    return hint.replace("'", f"'{'.'.join([*path[:-1], ''])}", 1) if hint.startswith("did you mean") else hint


def _section_type(owner: Any, part: str) -> Any:
    field = cast(dict[str, Any], getattr(owner, "model_fields", {})).get(part)
    if field is None:
        return owner
    options = getattr(field.annotation, "__args__", (field.annotation,))
    return next((option for option in options if hasattr(option, "model_fields")), field.annotation)


def _below(preset: str, search: object) -> dict[str, Any]:
    """The values of a preset for these settings of the search: its options go with the policies that have them."""
    policy = search.get("policy") if isinstance(search, Mapping) else None  # pyright: ignore
    values = PRESETS[preset]
    return values if policy in _PUBLISHED else {**values, "search": {}}


def merge(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `top` on it, section by section."""
    result = dict(base)
    for key, value in top.items():
        below = result.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            value = merge(cast(Mapping[str, Any], below), cast(Mapping[str, Any], value))
        result[key] = value
    return result


def make_config(data: Mapping[str, Any], *, where: str = "config") -> TrainConfig:
    """A config from nested data, with its preset underneath.

    Raises:
        ConfigError: an unknown key or a bad value, named as `section.key`.
    """
    preset = data.get("preset", "default")
    if not isinstance(preset, str) or preset not in PRESETS:
        hint = did_you_mean(str(preset), PRESETS)
        raise ConfigError(f"preset = {preset!r} is unknown", key="preset", where=where, hint=hint)
    if "target" in data and "targets" in data:
        raise ConfigError("target and targets are both set", key="target", where=where, hint="leave one of them out")
    return parse(TrainConfig, merge(_below(preset, data.get("search")), data), where=where)


def load_config(
    path: Path | str | None = None, *, flags: Iterable[tuple[str, str]] = (), environ: Mapping[str, str] | None = None
) -> TrainConfig:
    """Read a YAML file, then environment variables (`ETUDE_TRAIN__EPOCHS=2`), then dotted flags
    (`("train.epochs", "2")`); later ones win. Relative paths in the file are meant from the file's folder.

    Raises:
        ConfigError: the file is missing or no YAML mapping, a key is unknown, a value is out of range.
    """
    return load_settings(make_config, path, flags=flags, environ=environ)


Settings = TrainConfig | Mapping[str, Any] | Path | str
"""Settings as Python gives them: made, nested data, or the path of a YAML file."""


def config_of(settings: Settings) -> TrainConfig:
    """The config of these settings. Raises ConfigError, as `make_config` and `load_config` do."""
    if isinstance(settings, str | Path):
        return load_config(settings)
    return settings if isinstance(settings, TrainConfig) else make_config(settings)


class SectionMaker(Protocol[C]):
    """Settings from nested data; `where` is for messages."""

    def __call__(self, data: Mapping[str, Any], *, where: str) -> C: ...


def load_settings(
    make: SectionMaker[C],
    path: Path | str | None = None,
    *,
    flags: Iterable[tuple[str, str]] = (),
    environ: Mapping[str, str] | None = None,
    kind: type[Section] = TrainConfig,
) -> C:
    """As `load_config`, for settings of another kind: the class that has all their sections."""
    data = of_file = _read_yaml(Path(path), kind) if path is not None else {}
    places: dict[str, str] = {}
    for name, text in sorted((os.environ if environ is None else environ).items()):
        if not name.startswith(ENVIRONMENT_PREFIX):
            continue
        if "__" not in name:
            _check_underscores(name, kind)
        else:
            dotted = name.removeprefix(ENVIRONMENT_PREFIX).lower().replace("__", ".")
            places[dotted] = f"environment variable {name}"
            data = merge(data, _nested(dotted, text, kind, where=places[dotted]))
    for dotted, text in flags:
        places[dotted] = f"--{dotted}"
        data = merge(data, _nested(dotted, text, kind, where=places[dotted]))
    try:
        return make(data, where=str(path) if path is not None else "config")
    except ConfigError as error:
        # Flags and variables may give a whole section: the setting is then below what they name.
        named = [place for key, place in places.items() if f"{error.key}.".startswith(f"{key}.")]
        if not named and not _has(of_file, error.key):
            named = [place for key, place in places.items() if key.startswith(f"{error.key}.")]
        if not error.key or not named:
            raise
        flag = f"--{error.key}"
        if named[-1] == flag and error.what.startswith(error.key):  # it says the name already
            raise ConfigError(f"--{error.what}", key=error.key, hint=error.hint) from None
        raise ConfigError(error.what, key=error.key, where=named[-1], hint=error.hint) from None


def _has(data: Mapping[str, Any], key: str) -> bool:
    first, _, rest = key.partition(".")
    below = data.get(first)
    return first in data and (not rest or (isinstance(below, Mapping) and _has(cast(Mapping[str, Any], below), rest)))


def _check_underscores(name: str, kind: type[Section]) -> None:
    """Refuse a variable that has one underscore between a section and its key, where two belong."""
    words = name.removeprefix(ENVIRONMENT_PREFIX).lower()
    for section in kind.model_fields:
        key = words.removeprefix(f"{section}_")
        if key != words and key in getattr(_section_type(kind, section), "model_fields", {}):
            right = f"{ENVIRONMENT_PREFIX}{section}__{key}".upper()
            raise ConfigError(f"environment variable {name!r} names no setting", hint=f"did you mean {right!r}?")


def _read_yaml(path: Path, kind: type[Section]) -> dict[str, Any]:
    if path.suffix.lower() in _DATA and path.is_file():
        raise ConfigError(
            f"{str(path)!r} is a file of tasks, not of settings", hint=f"`etude init {path}` makes some"
        )
    if path.is_dir() or (path.suffix.lower() in _SKILLS and path.is_file()):
        own = [str(path / name) for name in ("etude.yaml", "config.yaml") if (path / name).is_file()]
        hint = (
            f"did you mean {own[0]!r}?" if own else "a skill is named with --skill, or with --skill.path to train it"
        )
        raise ConfigError(
            f"{str(path)!r} is {'a folder' if path.is_dir() else 'a skill'}, not a settings file", hint=hint
        )
    try:
        loaded = read_yaml(path, partial(_is_text, kind))
    except FileNotFoundError:
        there = sorted(str(file) for file in path.parent.glob("*.y*ml"))
        hint = did_you_mean(str(path), there) if there else "`etude init DATA` writes one"
        raise ConfigError(f"config file {str(path)!r} does not exist", hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"config file {str(path)!r} cannot be read: {error}", hint="give a text file in UTF-8 that you may read"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        if "'\\t'" in problem:
            raise ConfigError(f"{path}:{line} begins with a tab", hint="indent YAML with spaces") from None
        raise ConfigError(
            f"{path}:{line} is not YAML: {problem}", hint="correct that line or the one before"
        ) from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(
            f"{path}: expected sections with keys, found {type(loaded).__name__}",
            hint="write it as in 'target: {model: openai:gpt-5.5}'; `etude init` makes an example",
        )
    return _with_paths(cast(dict[str, Any], loaded), kind, lambda value: _joined(path.parent, value))


def is_path(name: str) -> bool:
    """Whether a setting that takes a name or a path has a path."""
    return os.sep in name or Path(name).suffix in (*_SKILLS, ".jsonl") or name in (".", "..")


def _joined(folder: Path, value: str) -> str:
    """The path from the current folder, without `..` where no link makes that another place."""
    path = os.path.join(folder, os.path.expanduser(value.replace("\0", "\\0")))  # no file has it: errors show it
    short = os.path.normpath(path)
    return short if os.path.realpath(short) == os.path.realpath(path) else path


def file_data(config: TrainConfig, folder: Path) -> dict[str, Any]:
    """What a config file in `folder` says to give these settings: relative paths count from there."""

    def from_folder(value: str) -> str:
        if os.path.isabs(value):
            return value
        return os.path.relpath(os.path.realpath(value), os.path.realpath(folder))

    data = config.model_dump(mode="json", exclude_none=True)
    if config.targets:  # which say what the target is
        del data["target"]
    return _with_paths(data, type(config), from_folder)


def _with_paths(data: dict[str, Any], kind: type[Section], change: Callable[[str], str]) -> dict[str, Any]:
    """The data with other paths: the keys that sections declare as `paths`, and all values of `prompts`."""
    result = dict(data)
    for name in kind.model_fields.keys() & data.keys():
        section = _section_type(kind, name)
        paths: frozenset[str] = getattr(section, "paths", frozenset[str]())
        either: frozenset[str] = getattr(section, "names_or_paths", frozenset[str]())
        if isinstance(data[name], dict) and (paths or name == "prompts"):
            result[name] = {
                key: _with_path(value, change)
                if key in either
                else change(value)
                if isinstance(value, str) and (name == "prompts" or key in paths)
                else value
                for key, value in cast(dict[str, Any], data[name]).items()
            }
    return result


def _with_path(value: Any, change: Callable[[str], str]) -> Any:
    """A name or a path, or a list of them, with the paths changed."""
    if isinstance(value, list):
        return [_with_path(one, change) for one in cast(list[Any], value)]
    return change(value) if isinstance(value, str) and is_path(value) else value


def _nested(dotted: str, text: str, kind: type[Section], *, where: str) -> dict[str, Any]:
    keys = tuple(dotted.split("."))
    try:
        value = _of_flag(text, keys, kind)
    except yaml.YAMLError:
        raise ConfigError(f"{where}: cannot read the value {text!r}", hint="write it as in YAML") from None
    for part in reversed(keys):
        value = {part: value}
    return cast(dict[str, Any], value)


def _of_flag(text: str, keys: tuple[str, ...], kind: type[Section]) -> Any:
    """The value of a flag or a variable: YAML, but words of a text stay as they are unless they are quoted."""
    plain = text.strip()
    if not _is_text(kind, keys) or plain[:1] in ("", "'", '"'):
        return load_yaml(text, lambda inner: _is_text(kind, (*keys, *inner)))
    return None if plain in _NOTHING and _field(kind, keys).annotation is not str else plain


def _is_text(kind: type[Section], keys: tuple[str, ...]) -> bool:
    """Whether a setting is declared as text."""
    return getattr(_field(kind, keys), "annotation", None) in (str, str | None)


def _field(kind: Any, keys: tuple[str, ...]) -> Any:
    for key in keys[:-1]:
        kind = _section_type(kind, key)
    return cast(dict[str, Any], getattr(kind, "model_fields", {})).get(keys[-1]) if keys else None
