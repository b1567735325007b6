"""SkillOpt's settings in the words of this package, and those that have none."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skillgrad.cli.skillopt.models import take_models

SAME: Mapping[str, str] = {
    "train.num_epochs": "train.epochs",
    "train.batch_size": "train.batch_size",
    "train.accumulation": "train.accumulation",
    "train.seed": "train.seed",
    "gradient.minibatch_size": "reflect.minibatch_size",
    "gradient.merge_batch_size": "aggregate.merge_batch_size",
    "gradient.analyst_workers": "optimizer.max_concurrency",
    "gradient.failure_only": "reflect.failure_only",
    "optimizer.learning_rate": "select.edit_budget",
    "optimizer.min_learning_rate": "select.min_edit_budget",
    "optimizer.use_slow_update": "slow_update.enabled",
    "optimizer.slow_update_samples": "slow_update.samples",
    "optimizer.longitudinal_pair_policy": "slow_update.pairs",
    "optimizer.use_meta_skill": "meta_skill.enabled",
    "optimizer.use_skill_aware_reflection": "reflect.skill_aware",
    "evaluation.use_gate": "gate.enabled",
    "evaluation.gate_metric": "gate.metric",
    "evaluation.gate_mixed_weight": "gate.mixed_weight",
    "evaluation.eval_test": "test.enabled",
    "env.workers": "limits.concurrency",
}
"""Settings that mean the same under another name."""

USUAL: Mapping[str, Any] = {
    "optimizer.slow_update_gate_with_selection": False,
    "optimizer.skill_aware_consolidate_threshold": 0,
    "env.max_completion_tokens": 16384,
}
"""SkillOpt's defaults where those of the preset `paper` differ."""

UPDATE_MODES = {"full_rewrite_minibatch": "full_rewrite"}

_WHY: tuple[tuple[str, str], ...] = (
    (r".*api_key", "keys are not copied: put the key into the environment variable that `doctor` names"),
    (
        r"model\.(codex|claude_code|cursor|copilot)_",
        "belongs to an agent program; attempts are made by the chat agent",
    ),
    (r"model\.rewrite_", "the optimizer has one set of model settings for all its calls"),
    (r"model\..*(api_version)", "Azure's present interface has no versions"),
    (r"model\..*(ad_scope|managed_identity_client_id)", "tokens come from api_key_command"),
    (r"model\.minimax_region", "set base_url of the role"),
    (r"model\.(\w+_)?(azure_openai|qwen_chat|minimax)_(?!.*thinking_mode)", "belongs to a backend that no role uses"),
    (r"model\..*thinking_mode", "use `thinking: on` or `off` of the role"),
    (r"train\.(train_size|steps_per_epoch)", "follows from the data"),
    (r"optimizer\.meta_learning_rate", "has no effect in SkillOpt either"),
    (r"evaluation\.(use_semantic|semantic|leading)", "a bonus for words such as MUST does not measure a skill"),
    (r"env\.out_root", "results are written to run.folder/run.name"),
    (r"env\.split_output_dir", "the tasks are written to data/"),
    (r"env\.exec_timeout", "limits.attempt_seconds bounds a whole attempt here, its waiting included"),
    (r"env\.max_turns", "the chat agent answers in one turn"),
    (r"env\.", "belongs to an environment of SkillOpt; one of your own takes options under `env`"),
)


@dataclass
class Converted:
    """What became of the settings of a file."""

    settings: dict[str, Any] = field(default_factory=lambda: {"preset": "paper"})
    left: dict[str, str] = field(default_factory=dict[str, str])
    """Settings that were not carried over, as `key = value`, and why."""
    notes: list[str] = field(default_factory=list[str])
    """What means something else here than there."""

    def put(self, dotted: str, value: Any) -> None:
        """Set one of our settings."""
        section, _, key = dotted.partition(".")
        self.settings.setdefault(section, {})[key] = value


def convert(given: Mapping[str, Any]) -> Converted:
    """Our settings for those of a SkillOpt file; `env` has the limits only, what its data need is added elsewhere."""
    result = Converted()
    rest = {key: value for key, value in given.items() if value not in (None, "")}
    backends: dict[str, str] = {}
    result.settings |= take_models(rest, backends, result.notes)
    for theirs, ours in SAME.items():
        if theirs in rest:
            result.put(ours, rest.pop(theirs))
    _take_usual(rest, result)
    _take_schedule(rest, result)
    _take_limits(rest, result)
    result.left = backends | {
        f"{key} = {_shown(key, value)}": _why(key) for key, value in rest.items() if value is not False
    }
    return result


def _take_usual(rest: dict[str, Any], result: Converted) -> None:
    values = {key: rest.pop(key, usual) for key, usual in USUAL.items()}
    result.put("slow_update.gate", values["optimizer.slow_update_gate_with_selection"])
    result.put(
        "target.max_output_tokens",
        result.settings["target"].get("max_output_tokens") or values["env.max_completion_tokens"],
    )
    source = rest.pop("optimizer.skill_aware_appendix_source", "both")
    if result.settings.get("reflect", {}).get("skill_aware"):
        result.put("reflect.appendix_limit", values["optimizer.skill_aware_consolidate_threshold"])
        if source != "failure_only":  # reminders come from failures only here
            rest["optimizer.skill_aware_appendix_source"] = source
        result.notes.append("reminders of skill-aware reflection pass the gate here; there they are added without it")


def _take_schedule(rest: dict[str, Any], result: Converted) -> None:
    schedule = rest.pop("optimizer.lr_scheduler", "cosine")
    control = rest.pop("optimizer.lr_control_mode", "fixed")
    if control == "autonomous":
        result.put("select.schedule", "autonomous")
    elif schedule == "autonomous":
        result.put("select.schedule", "constant")
        result.put("select.edit_budget", 999)
        result.notes.append("lr_scheduler autonomous means no cap on edits: written as a constant budget of 999")
    else:
        result.put("select.schedule", schedule)
    mode = rest.pop("optimizer.skill_update_mode", "patch")
    result.put("update.mode", UPDATE_MODES.get(mode, mode))
    if control == "none" and mode == "patch":
        result.notes.append("lr_control_mode none has no effect with patches, there or here: the schedule holds")


def _take_limits(rest: dict[str, Any], result: Converted) -> None:
    """0 stands for all tasks."""
    all_splits = rest.pop("env.limit", 0)
    limits = {
        "train": all_splits,
        "val": rest.pop("evaluation.sel_env_num", 0) or all_splits,
        "test": rest.pop("evaluation.test_env_num", 0) or all_splits,
    }
    chosen = {split: count for split, count in limits.items() if count}
    if chosen:
        result.put("env.limit", chosen)


def _why(key: str) -> str:
    return next((why for pattern, why in _WHY if re.match(pattern, key)), "not a setting known here")


def _shown(key: str, value: Any) -> str:
    return "(hidden)" if re.search(r"key$|secret|password", key) else str(value)[:80]
