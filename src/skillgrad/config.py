"""Settings: one class per section, a docstring per field. A YAML file < environment < dotted flags.

`environment` and `agent` carry options of their own, which the chosen class validates (`parse_options`).
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from skillgrad.errors import ConfigError, did_you_mean
from skillgrad.records import Metric

M = TypeVar("M", bound=BaseModel)

ENVIRONMENT_PREFIX = "SKILLGRAD_"


class Section(BaseModel):
    """Base of all sections: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    free: ClassVar[frozenset[str]] = frozenset()
    """Fields that may change between a run and its resumption: they do not decide what the result is."""

    def identity(self) -> dict[str, JsonValue]:
        """The settings a run depends on, without the free ones."""
        result: dict[str, JsonValue] = {}
        for name in type(self).model_fields:
            if name in self.free:
                continue
            value = getattr(self, name)
            result[name] = value.identity() if isinstance(value, Section) else value
        result.update(self.model_extra or {})
        return result


class Price(Section):
    """What a model costs, in USD per million tokens."""

    input: float = Field(ge=0)
    """Price of input tokens."""
    output: float = Field(ge=0)
    """Price of output tokens."""
    cached: float | None = Field(default=None, ge=0)
    """Price of input tokens read from the provider's cache; the input price when not given."""


class ModelSection(Section):
    """A model in one of the roles."""

    free: ClassVar[frozenset[str]] = frozenset(
        {"base_url", "api_key_env", "timeout", "max_concurrency", "price", "headers"}
    )

    model: str
    """Provider and model name, as in `openai:gpt-5.5` or `simulated:target`."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server, as in `http://127.0.0.1:8000/v1`."""
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key. The key itself is never written down."""
    temperature: float | None = Field(default=None, ge=0)
    """Sampling temperature; the provider's default when not given."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus sampling; the provider's default when not given."""
    max_output_tokens: int = Field(default=4096, ge=1)
    """Most tokens one reply may have."""
    reasoning_effort: str | None = None
    """How much a reasoning model may think, in the provider's words."""
    send_seed: bool = True
    """Send the trial number as `seed`. Without it a second trial at temperature 0 tells nothing new."""
    structured: Literal["json_schema", "tool", "prompt"] = "json_schema"
    """First rung of the structured-output ladder: native schema, forced tool or schema shown in the prompt."""
    extra_body: dict[str, JsonValue] = {}
    """Further fields of the request body."""
    headers: dict[str, str] = {}
    """Further request headers. Put no secrets here: use `api_key_env`."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds until a request without an answer is given up and tried again."""
    max_concurrency: int = Field(default=64, ge=1)
    """Most requests in flight; fewer are used when the server answers 429."""
    price: Price | None = None
    """What the model costs; money is shown as unknown when not given."""


class OptimizerSection(ModelSection):
    """The model that proposes edits."""

    max_output_tokens: int = Field(default=16384, ge=1)
    """Most tokens one reply may have."""


class EnvSection(Section):
    """Where tasks come from. Further keys are options of the chosen environment."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    name: str = "dataset"
    """`dataset`, or the name or import path of another environment."""


class AgentSection(Section):
    """What attempts the tasks. Further keys are options of the chosen agent."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    name: str = "chat"
    """`chat`, or the name or import path of another agent."""


class SkillSection(Section):
    """The skill to start from."""

    path: str | None = None
    """A skill folder, a SKILL.md or a plain Markdown file. None starts with an empty skill."""
    max_tokens: int = Field(default=5000, ge=1)
    """A longer candidate is not evaluated. Tokens are estimated as characters / 4."""


class TrainSection(Section):
    """The schedule."""

    epochs: int = Field(default=4, ge=1)
    """Passes over the training tasks."""
    batch_size: int = Field(default=40, ge=1)
    """Tasks in one step."""
    seed: int = 42
    """Seed of all shuffles and samples."""
    fresh_attempts: bool = False
    """Attempt a task anew in each epoch even when it was attempted under the same skill before."""


class ReflectSection(Section):
    """Reading trajectories."""

    mode: Literal["shallow", "deep"] = "shallow"
    """`shallow` reads each trajectory on its own terms, `deep` compares several: clusters of failures, pass and
    fail of the same task, flips since the last skill."""
    minibatch_size: int = Field(default=8, ge=1)
    """Trajectories in one optimizer call."""
    failure_only: bool = False
    """Leave out the attempts that succeeded."""
    max_trajectory_chars: int = Field(default=12_000, ge=200)
    """A longer trajectory is cut in the middle, and the cut is marked."""
    ledger_entries: int = Field(default=20, ge=0)
    """Most earlier edits, with their outcomes, shown to the optimizer."""


class AggregateSection(Section):
    """Merging patches."""

    merge_batch_size: int = Field(default=8, ge=2)
    """Patches in one merge call."""


class SelectSection(Section):
    """How many edits a step may make."""

    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    """How the edit budget goes from `edit_budget` to `min_edit_budget` over the run."""
    edit_budget: int = Field(default=4, ge=1)
    """Most edits in a step at the start."""
    min_edit_budget: int = Field(default=2, ge=1)
    """Most edits in a step at the end."""


class UpdateSection(Section):
    """Applying edits."""

    repair: bool = True
    """Ask the optimizer once in a step to anchor the edits that missed."""


class GateSection(Section):
    """Accepting a candidate."""

    enabled: bool = True
    """False evaluates every candidate and accepts it whatever its score."""
    metric: Metric = "hard"
    """What is compared: `hard`, `soft`, or `mixed` = (1 - w) * hard + w * soft."""
    mixed_weight: float = Field(default=0.5, ge=0, le=1)
    """The weight w of soft in `mixed`."""
    racing: bool = True
    """Stop the validation of a candidate that can no longer win. The verdict is the same."""


class SlowUpdateSection(Section):
    """Comparing epochs, from the second one on."""

    enabled: bool = True
    """Write guidance from what changed between two epochs."""
    samples: int = Field(default=20, ge=1)
    """Training tasks attempted under both skills."""
    gate: bool = True
    """True passes the result through the gate; False accepts it and then measures it."""
    pairs: Literal["mixed", "changed", "unchanged"] = "mixed"
    """Which tasks are shown: all, those whose outcome changed, or those whose outcome did not."""


class MetaSkillSection(Section):
    """Memory of the optimizer, never shipped."""

    enabled: bool = True
    """Keep it."""


class TestSection(Section):
    """The test at the end."""

    enabled: bool = True
    """Score the initial and the best skill on the test split, once."""
    trials: int = Field(default=1, ge=1)
    """Attempts at each test task."""


class LimitsSection(Section):
    """What a run may use. All of it may change when a run is resumed."""

    usd: float | None = Field(default=None, gt=0)
    """Most US dollars; needs a price for every role that costs money."""
    tokens: int | None = Field(default=None, gt=0)
    """Most tokens, input and output of all roles together."""
    calls: int | None = Field(default=None, gt=0)
    """Most model requests, retries included."""
    minutes: float | None = Field(default=None, gt=0)
    """Minutes after which nothing more is sent."""
    max_void: float = Field(default=0.1, ge=0, lt=1)
    """Largest share of a training batch that may end without a score."""
    max_void_eval: float = Field(default=0.0, ge=0, lt=1)
    """The same for validation and test."""
    outage_seconds: float = Field(default=300.0, gt=0)
    """How long a dead endpoint is probed before the run stops."""
    concurrency: int = Field(default=16, ge=1)
    """Attempts under way at the same time."""
    attempt_seconds: float = Field(default=600.0, gt=0)
    """Longest an attempt may take; a longer one is void."""


class RunSection(Section):
    """Where results go."""

    folder: str = "runs"
    """Folder of all runs."""
    name: str = "run"
    """Folder of this run within it."""


class TrainConfig(Section):
    """All settings of a training run."""

    free: ClassVar[frozenset[str]] = frozenset({"limits", "run"})

    preset: Literal["default", "paper"] = "default"
    """`paper` sets the published schedule and acceptance rule; other settings go on top of it."""
    env: EnvSection = EnvSection()
    """Where tasks come from."""
    agent: AgentSection = AgentSection()
    """What attempts them."""
    skill: SkillSection = SkillSection()
    """The skill to start from."""
    target: ModelSection = ModelSection(model="simulated:target")
    """The frozen model that attempts tasks."""
    optimizer: OptimizerSection = OptimizerSection(model="simulated:optimizer")
    """The model that reads trajectories and proposes edits."""
    judge: ModelSection | None = None
    """The model behind the `rubric` scorer."""
    train: TrainSection = TrainSection()
    """The schedule."""
    reflect: ReflectSection = ReflectSection()
    """Reading trajectories."""
    aggregate: AggregateSection = AggregateSection()
    """Merging patches."""
    select: SelectSection = SelectSection()
    """How many edits a step may make."""
    update: UpdateSection = UpdateSection()
    """Applying edits."""
    gate: GateSection = GateSection()
    """Accepting a candidate."""
    slow_update: SlowUpdateSection = SlowUpdateSection()
    """Comparing epochs."""
    meta_skill: MetaSkillSection = MetaSkillSection()
    """Memory of the optimizer."""
    test: TestSection = TestSection()
    """The test at the end."""
    limits: LimitsSection = LimitsSection()
    """What the run may use."""
    prompts: dict[str, str] = {}
    """Prompt name to the path of a Markdown file that replaces it."""
    run: RunSection = RunSection()
    """Where results go."""


PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # Published schedule and defaults: SkillOpt 0.2.0 and its paper, section 3.
    "paper": {
        "train": {"epochs": 4, "batch_size": 40, "fresh_attempts": True},
        "reflect": {"mode": "shallow", "minibatch_size": 8, "failure_only": False},
        "aggregate": {"merge_batch_size": 8},
        "select": {"schedule": "cosine", "edit_budget": 4, "min_edit_budget": 2},
        "gate": {"enabled": True, "metric": "hard"},
        "slow_update": {"enabled": True, "samples": 20, "gate": True, "pairs": "mixed"},
        "meta_skill": {"enabled": True},
    },
}


def parse(model: type[M], data: Any, *, where: str) -> M:
    """Validate `data` and turn the first problem into a ConfigError that names file or section and key.

    Raises:
        ConfigError: an unknown key, a wrong type, a value out of range.
    """
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
        return ConfigError(f"{where}: unknown key {key!r}", hint=did_you_mean(path[-1], names))
    if first["type"] == "missing":
        return ConfigError(f"{where}: {key!r} is missing", hint=f"add {key!r}")
    what = first["msg"].removeprefix("Value error, ")
    return ConfigError(f"{where}: {key} = {first['input']!r}: {what}", hint=f"change {key!r}")


def _section_type(owner: Any, part: str) -> Any:
    field = cast(dict[str, Any], getattr(owner, "model_fields", {})).get(part)
    if field is None:
        return owner
    options = getattr(field.annotation, "__args__", (field.annotation,))
    return next((option for option in options if hasattr(option, "model_fields")), field.annotation)


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
        raise ConfigError(f"{where}: preset = {preset!r} is unknown", hint=did_you_mean(str(preset), PRESETS))
    return parse(TrainConfig, merge(PRESETS[preset], data), where=where)


def load_config(
    path: Path | str | None = None,
    *,
    flags: Iterable[tuple[str, str]] = (),
    environ: Mapping[str, str] | None = None,
) -> TrainConfig:
    """Read a YAML file, then environment variables (`SKILLGRAD_TRAIN__EPOCHS=2`), then dotted flags
    (`("train.epochs", "2")`); later ones win. Relative paths in the file are meant from the file's folder.

    Raises:
        ConfigError: the file is missing or no YAML mapping, a key is unknown, a value is out of range.
    """
    data = _read_yaml(Path(path)) if path is not None else {}
    for name, text in sorted((os.environ if environ is None else environ).items()):
        if name.startswith(ENVIRONMENT_PREFIX) and "__" in name:
            dotted = name.removeprefix(ENVIRONMENT_PREFIX).lower().replace("__", ".")
            data = merge(data, _nested(dotted, text, where=f"environment variable {name}"))
    for dotted, text in flags:
        data = merge(data, _nested(dotted, text, where=f"--{dotted}"))
    return make_config(data, where=str(path) if path is not None else "config")


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"config file {str(path)!r} does not exist", hint="`skillgrad init` writes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"config file {str(path)!r} cannot be read: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise ConfigError(f"{path}:{line} {problem}", hint="mend the YAML") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: expected sections with keys, found {type(loaded).__name__}")
    return _paths_from(path.parent, cast(dict[str, Any], loaded))


_PATH_KEYS: dict[str, tuple[str, ...]] = {
    "skill": ("path",),
    "run": ("folder",),
    "env": ("path", "train", "val", "test"),
    "prompts": (),
}


def _paths_from(folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Relative paths in a config file count from the folder of that file."""
    result = dict(data)
    for section, keys in _PATH_KEYS.items():
        part = data.get(section)
        if isinstance(part, dict):
            values = cast(dict[str, Any], part)
            result[section] = {
                key: str(folder / value) if isinstance(value, str) and (not keys or key in keys) else value
                for key, value in values.items()
            }
    return result


def _nested(dotted: str, text: str, *, where: str) -> dict[str, Any]:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(f"{where}: cannot read the value {text!r}", hint="write it as in YAML") from None
    for part in reversed(dotted.split(".")):
        value = {part: value}
    return cast(dict[str, Any], value)
