"""A SkillOpt settings file: its sections, the files it inherits from, and the flat form."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from etude.config import merge
from etude.errors import ConfigError

BASE = "_base_"
SECTIONS: Mapping[str, str] = {
    "train": "num_epochs train_size batch_size accumulation seed steps_per_epoch",
    "gradient": "minibatch_size merge_batch_size analyst_workers failure_only",
    "optimizer": (
        "learning_rate min_learning_rate lr_scheduler lr_control_mode skill_update_mode use_slow_update "
        "slow_update_samples slow_update_gate_with_selection longitudinal_pair_policy use_meta_skill "
        "use_skill_aware_reflection skill_aware_appendix_source skill_aware_consolidate_threshold meta_learning_rate"
    ),
    "evaluation": (
        "use_gate gate_metric gate_mixed_weight use_semantic_density semantic_density_weight leading_words "
        "sel_env_num test_env_num eval_test"
    ),
    "env": (
        "skill_init out_root split_mode split_ratio split_seed split_dir data_path split_output_dir exec_timeout "
        "workers max_turns max_completion_tokens limit"
    ),
    "model": "backend optimizer_backend target_backend reasoning_effort",
}
"""The keys of each section that the flat form has by the same name."""

_FLAT: Mapping[str, str] = {
    **{leaf: f"{section}.{leaf}" for section, leaves in SECTIONS.items() for leaf in leaves.split()},
    "env": "env.name",
    "env_name": "env.name",
    "optimizer_model": "model.optimizer",
    "target_model": "model.target",
    "optimizer": "model.optimizer",
    "target": "model.target",
    "edit_budget": "optimizer.learning_rate",
    "min_edit_budget": "optimizer.min_learning_rate",
}
KNOWN = frozenset(_FLAT.values())
"""All of them as `section.key`."""
_MODEL_PREFIXES = ("azure_openai_", "optimizer_", "target_", "qwen_chat_", "minimax_", "codex_", "claude_code_")


def read(path: Path) -> dict[str, Any]:
    """All settings by `section.key`, those of the files in `_base_` below the file's own. Keys of the flat form are
    put into their sections; unknown ones stay as they are.

    Raises:
        ConfigError: a file is missing or not a YAML mapping, or files inherit from each other.
    """
    found: dict[str, Any] = {}
    for key, value in _load(path, ()).items():
        if key in SECTIONS and isinstance(value, Mapping):
            inner = cast(Mapping[str, Any], value)
            found.update({f"{key}.{leaf}": each for leaf, each in inner.items()})
        else:
            found[_dotted(key)] = value
    return found


def find_near(path: str, config: Path) -> Path | None:
    """The file or folder that a settings file means: from the current folder, else from the file's own folder or one
    above, as SkillOpt is run from its repository."""
    folders = (Path(), *config.absolute().parents)
    return next((folder / path for folder in folders if (folder / path).exists()), None)


def _dotted(key: str) -> str:
    if key not in _FLAT and key.startswith(_MODEL_PREFIXES):
        return f"model.{key}"
    return _FLAT.get(key, key)


def _load(path: Path, below: Sequence[Path]) -> dict[str, Any]:
    real = path.resolve()
    if real in below:
        raise ConfigError(f"{path} inherits from itself by {BASE!r}", hint=f"remove one of the {BASE!r} entries")
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"SkillOpt settings {str(path)!r} cannot be read: {error}", hint="give the YAML file of a run"
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {error}", hint="fix the YAML") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected settings, found {type(data).__name__}", hint="give the YAML of a run")
    own = {str(key): value for key, value in cast(dict[Any, Any], data).items()}
    bases = own.pop(BASE, [])
    merged: dict[str, Any] = {}
    for base in cast(list[str], bases if isinstance(bases, list) else [bases]):
        place = path.parent / str(base)
        if not place.is_file():
            raise ConfigError(
                f"{path}: {BASE} = {str(base)!r}: {str(place)!r} does not exist",
                hint=f"copy that file next to this one, or remove the {BASE!r} entry",
            )
        merged = merge(merged, _load(place, (*below, real)))
    return merge(merged, own)
