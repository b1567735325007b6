"""SkillOpt's settings in the words of this package, and those that have none."""

import re
from collections.abc import Mapping
from typing import Any

from etude.cli.scaffold.skillopt.converted import Converted, named, written
from etude.cli.scaffold.skillopt.file import KNOWN
from etude.cli.scaffold.skillopt.models import take_models
from etude.errors import ConfigError

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
    "env.max_completion_tokens": 16384,
}
"""SkillOpt's defaults where those of the preset `paper` differ."""

NOTHING_LOST: Mapping[str, Any] = {
    "train.train_size": 0,
    "evaluation.use_semantic_density": False,
    "evaluation.semantic_density_weight": 0.05,
    "evaluation.leading_words": [],
    "optimizer.skill_aware_appendix_source": "both",
    "optimizer.skill_aware_consolidate_threshold": 0,
}
"""SkillOpt's defaults of settings without a counterpart, where they say what holds here anyway."""

UPDATE_MODES = {"full_rewrite_minibatch": "full_rewrite"}

WITHOUT_CONTROL: Mapping[str, str] = {
    "patch": "has no effect with patches, there or here: the schedule holds",
    "full_rewrite_minibatch": "a whole new document has no edit budget, there or here",
}
"""What `lr_control_mode: none` comes to, by update mode."""

_WHY: tuple[tuple[str, str], ...] = (
    (r".*api_key", "keys are not copied: put the key into the environment variable that `doctor` names"),
    (
        r"model\.(codex|claude_code|cursor|copilot)_",
        "belongs to an agent program; the agent that is written is chat",
    ),
    (r"model\.rewrite_", "the optimizer has one set of model settings for all its calls"),
    (r"model\..*(api_version)", "Azure's present interface has no versions"),
    (r"model\..*(ad_scope|managed_identity_client_id)", "tokens come from api_key_command"),
    (r"model\.minimax_region", "set base_url of the role"),
    (r"model\..*thinking_mode", "use `thinking: on` or `off` of the role"),
    (r"train\.(train_size|steps_per_epoch)", "follows from the data"),
    (r"optimizer\.meta_learning_rate", "has no effect in SkillOpt either"),
    (r"optimizer\.skill_aware_", "has no effect without use_skill_aware_reflection"),
    (r"evaluation\.(use_semantic|semantic|leading)", "a bonus for words such as MUST does not measure a skill"),
    (r"env\.out_root", "results are written to run.folder/run.name"),
    (r"env\.split_output_dir", "the tasks are written to data/"),
    (r"env\.exec_timeout", "limits.attempt_seconds bounds a whole attempt here, its waiting included"),
    (r"env\.max_turns", "chat answers in one turn; the agent tools has agent.max_steps"),
    (r"env\.\w", "belongs to an environment of SkillOpt; one of your own takes options under `env`"),
)


_UNKNOWN = "not a setting known here"
_OF_BACKEND = re.compile(r"model\.(?P<role>\w+?_)?(?P<backend>azure_openai|qwen_chat|minimax)_")


def convert(given: Mapping[str, Any], where: str = "settings") -> Converted:
    """Our settings for those of a SkillOpt file; `env` has the limits only, what its data need is added elsewhere.

    Raises:
        ConfigError: a number of tasks is invalid. Whether other values are allowed is left to `config`.
    """
    result = Converted()
    rest = {key: value for key, value in given.items() if value not in (None, "")}
    backends = take_models(rest, result)
    for theirs, ours in SAME.items():
        if theirs in rest:
            result.put(ours, rest.pop(theirs), theirs)
    _clamp_weight(result)
    _take_reminders(rest, result)
    _take_usual(rest, result)
    _take_schedule(rest, result)
    _take_limits(rest, result, where)
    for key, value in rest.items():
        if key not in NOTHING_LOST or not _same(NOTHING_LOST[key], value):
            result.left[named(key, value)] = _unused(key, backends) or _why(key)
    for key, value in given.items():
        if value in (None, "") and key not in KNOWN and not _OF_BACKEND.match(key) and _why(key) == _UNKNOWN:
            result.left[named(key, value)] = _UNKNOWN
    return result


def _clamp_weight(result: Converted) -> None:
    weight = result.settings.get("gate", {}).get("mixed_weight")
    if isinstance(weight, int | float) and not 0 <= weight <= 1 and weight == weight:
        clamped = min(max(weight, 0), 1)
        result.put("gate.mixed_weight", clamped, "evaluation.gate_mixed_weight")
        result.say(
            f"evaluation.gate_mixed_weight = {weight} is out of range: {clamped} is written, as it counts there"
        )


def _take_reminders(rest: dict[str, Any], result: Converted) -> None:
    if not result.settings.get("reflect", {}).get("skill_aware"):
        return
    limit, source = "optimizer.skill_aware_consolidate_threshold", "optimizer.skill_aware_appendix_source"
    result.put("reflect.appendix_limit", rest.pop(limit, 0), limit)
    chosen = rest.pop(source, "both")
    if chosen != "failure_only":
        result.left[named(source, chosen)] = "reminders come from failures only here, as with failure_only there"
    result.say("reminders of skill-aware reflection pass the gate here; there they are added without it")


def _take_usual(rest: dict[str, Any], result: Converted) -> None:
    gate, tokens = "optimizer.slow_update_gate_with_selection", "env.max_completion_tokens"
    result.put("slow_update.gate", rest.pop(gate, USUAL[gate]), gate)
    if "max_output_tokens" not in result.settings["target"]:
        result.put("target.max_output_tokens", rest.pop(tokens, USUAL[tokens]), tokens)
    elif tokens in rest:
        own = result.origins.get("target.max_output_tokens", "the default of its backend")
        result.left[named(tokens, rest.pop(tokens))] = f"the target's replies are bounded by {own}"


def _take_schedule(rest: dict[str, Any], result: Converted) -> None:
    scheduler, control = "optimizer.lr_scheduler", "optimizer.lr_control_mode"
    schedule, way = rest.pop(scheduler, "cosine"), rest.pop(control, "fixed")
    if way == "autonomous":
        result.put("select.schedule", "autonomous", control)
        if schedule != "cosine":
            result.left[named(scheduler, schedule)] = f"{control} = autonomous: the optimizer decides"
    elif schedule == "autonomous":
        if "select.edit_budget" in result.origins:
            budget = named("optimizer.learning_rate", result.settings["select"]["edit_budget"])
            result.left[budget] = f"{scheduler} = autonomous has no cap"
        result.put("select.schedule", "constant", scheduler)
        result.put("select.edit_budget", 999, scheduler)
        result.say("lr_scheduler autonomous means no cap on edits: written as a constant budget of 999")
    else:
        result.put("select.schedule", schedule, scheduler)
    key = "optimizer.skill_update_mode"
    mode = rest.pop(key, "patch")
    result.put("update.mode", UPDATE_MODES.get(mode, mode) if isinstance(mode, str) else mode, key)
    if way == "none":
        result.left[named(control, way)] = WITHOUT_CONTROL.get(str(mode), "the schedule holds")
    elif way not in ("fixed", "autonomous"):
        result.left[named(control, way)] = "unknown: the schedule holds"


def _take_limits(rest: dict[str, Any], result: Converted, where: str) -> None:
    """0 stands for all tasks."""
    all_splits, val, test = (
        _count(rest, key, where) for key in ("env.limit", "evaluation.sel_env_num", "evaluation.test_env_num")
    )
    limits = {"train": all_splits, "val": val if val > 0 else all_splits, "test": test if test > 0 else all_splits}
    chosen = {split: count for split, count in limits.items() if count}
    if chosen:
        result.put("env.limit", chosen)


def _count(rest: dict[str, Any], key: str, where: str) -> int:
    value = rest.pop(key, 0)
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ConfigError(
            f"{where}: {key} = {written(value)} is not a number of tasks", hint="a whole number, 0 for all of them"
        )
    return number


def _same(usual: Any, value: Any) -> bool:
    return type(usual) is type(value) and usual == value


def _why(key: str) -> str:
    """Why there is no counterpart."""
    return next((why for pattern, why in _WHY if re.match(pattern, key)), _UNKNOWN)


def _unused(key: str, backends: Mapping[str, str]) -> str:
    """Why a setting of a backend has no effect, empty if that is not the reason. `backends` are the roles' own."""
    found = _OF_BACKEND.match(key)
    if found is None or key.endswith("api_key"):
        return ""
    if not any(backend.startswith(found["backend"]) for backend in backends.values()):
        return "belongs to a backend that no role uses"
    role = found["role"]
    own = backends.get(role.rstrip("_"), "") if role else found["backend"]
    return (
        "" if own.startswith(found["backend"]) else f"belongs to a backend that the {role.rstrip('_')} does not use"
    )
