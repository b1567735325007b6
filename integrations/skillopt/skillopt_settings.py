"""SkillOpt's settings in the words of this package."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from etude.errors import ConfigError

SAME: Mapping[str, str] = {
    "train.num_epochs": "train.epochs",
    "train.batch_size": "search.batch_size",
    "train.accumulation": "search.accumulation",
    "train.seed": "train.seed",
    "gradient.minibatch_size": "search.minibatch_size",
    "gradient.merge_batch_size": "search.merge_batch_size",
    "gradient.analyst_workers": "optimizer.max_concurrency",
    "gradient.failure_only": "search.failure_only",
    "optimizer.learning_rate": "search.edit_budget",
    "optimizer.min_learning_rate": "search.min_edit_budget",
    "optimizer.use_slow_update": "search.slow_update",
    "optimizer.slow_update_samples": "search.slow_update_samples",
    "optimizer.slow_update_gate_with_selection": "search.slow_update_gate",
    "optimizer.longitudinal_pair_policy": "search.slow_update_pairs",
    "optimizer.use_meta_skill": "search.meta_skill",
    "optimizer.use_skill_aware_reflection": "search.skill_aware",
    "optimizer.skill_aware_consolidate_threshold": "search.appendix_limit",
    "optimizer.skill_update_mode": "search.update_mode",
    "optimizer.lr_scheduler": "search.schedule",
    "evaluation.use_gate": "search.gate",
    "evaluation.gate_metric": "gate.metric",
    "evaluation.gate_mixed_weight": "gate.mixed_weight",
    "evaluation.eval_test": "test.enabled",
    "env.workers": "limits.concurrency",
    "env.max_completion_tokens": "target.max_output_tokens",
}
"""Settings that mean the same under another name."""

USUAL: Mapping[str, Any] = {
    "search.slow_update_gate": False,
    "search.appendix_limit": 0,
    "target.max_output_tokens": 16384,
}
"""SkillOpt's defaults, by our names, where those of the preset `paper` differ."""

AS_HERE: Mapping[str, Any] = {
    "train.train_size": 0,
    "env.max_turns": 1,
    "env.image_detail": "auto",
    "env.shuffle_choices": True,
    "env.use_theorem": False,
    "env.use_sketch": False,
    "human_feedback.enabled": False,
}
"""Settings that ask for what happens here anyway."""

_SERVERS: Mapping[str, str] = {
    "openai_chat": "azure_openai",
    "azure_openai": "azure_openai",
    "qwen_chat": "qwen_chat",
    "minimax_chat": "minimax",
}
"""SkillOpt's backends that ask a server, and what the names of its settings begin with."""
_ENDS: Mapping[str, Sequence[str]] = {
    "base_url": ("endpoint", "base_url"),
    "temperature": ("temperature",),
    "max_output_tokens": ("max_tokens",),
    "timeout": ("timeout_seconds",),
    "thinking": ("enable_thinking",),
}
"""Our settings of a model to the ends of SkillOpt's. Keys and ways to sign in are not carried over."""


@dataclass
class Conversion:
    """SkillOpt's settings on their way to ours."""

    given: Mapping[str, Any]
    """SkillOpt's settings as `section.key`; empty ones are left out."""
    settings: dict[str, Any] = field(default_factory=lambda: {"preset": "paper"})
    notes: dict[str, None] = field(default_factory=dict[str, None])
    """What means something else here than there, each once."""
    _taken: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Their settings that were used, with ours that come from them."""

    @property
    def not_carried(self) -> list[str]:
        """Settings of the file that have no effect here."""
        return [key for key in self.given if key not in self._taken]

    def take(self, *theirs: str, ours: str = "") -> Any:
        """The first of these settings that the file has, else None. `ours` is the one it becomes, for errors."""
        key = next((key for key in theirs if key in self.given), None)
        if key is None:
            return None
        self._taken.setdefault(key, []).append(ours.removeprefix("env."))
        return self.given[key]

    def put(self, ours: str, value: Any) -> None:
        """Set one of our settings."""
        section, _, key = ours.partition(".")
        self.settings.setdefault(section, {})[key] = value

    def move(self, ours: str, *theirs: str, usual: Any = None) -> None:
        """Set one of ours to the first of theirs that the file has, else to the usual value if there is one."""
        value = self.take(*theirs, ours=ours)
        if value is None:
            value = usual
        if value is not None:
            self.put(ours, value)

    def note(self, text: str) -> None:
        """Say something about the new project."""
        self.notes[text] = None

    def name_origins(self, error: ConfigError, where: object) -> ConfigError:
        """An error about our settings whose hint names those of the file that they come from."""
        said = error.message.replace("search: ", "search.")  # as options of the policy are named
        origins = [
            theirs
            for theirs, ours in self._taken.items()
            if any(re.search(rf"(?<![\w.]){re.escape(key)}(?!\w)", said) for key in ours if key)
        ]
        return ConfigError(error.message, hint=f"change {' or '.join(origins)} in {where}") if origins else error


def convert(data: Mapping[str, Any]) -> Conversion:
    """What becomes of the settings of a SkillOpt file; `env` has the limits only, its files are added elsewhere.
    Whether the values are allowed is left to the config."""
    given = {key: value for key, value in _dotted(data).items() if value not in (None, "")}
    found = Conversion(given)
    for role in ("target", "optimizer"):
        _take_model(found, role)
    _take_schedule(found)
    for theirs, ours in SAME.items():
        section, _, key = ours.partition(".")
        if key not in found.settings.get(section, {}):
            found.move(ours, theirs, usual=USUAL.get(ours))
    if found.settings.get("search", {}).get("update_mode") == "full_rewrite_minibatch":
        found.put("search.update_mode", "full_rewrite")
    if found.settings["search"].get("skill_aware"):
        found.note("reminders of skill-aware reflection pass the gate here and come from failures only")
    _take_limits(found)
    for theirs, value in AS_HERE.items():
        if found.given.get(theirs) == value:
            found.take(theirs)
    return found


def _dotted(data: Mapping[str, Any]) -> dict[str, Any]:
    """All settings as `section.key`; those without one are not carried over. Raises
    ConfigError: it is a file of the older form, without any."""
    if not any(isinstance(value, Mapping) for value in data.values()):
        raise ConfigError("the settings have no sections", hint="give a file with 'train:', 'model:' and so on")
    dotted: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            dotted.update({f"{key}.{leaf}": each for leaf, each in cast(Mapping[str, Any], value).items()})
        else:
            dotted[key] = value
    return dotted


def _take_schedule(found: Conversion) -> None:
    if found.given.get("optimizer.lr_control_mode") in ("fixed", "autonomous"):
        control = found.take("optimizer.lr_control_mode")
        if control == "autonomous":
            found.put("search.schedule", "autonomous")
            return
    if found.given.get("optimizer.lr_scheduler") == "autonomous":
        found.take("optimizer.lr_scheduler")
        found.put("search.schedule", "constant")
        found.put("search.edit_budget", 999)
        found.note("lr_scheduler autonomous means no cap on edits: written as a constant budget of 999")


def _take_limits(found: Conversion) -> None:
    """Most tasks in each split; 0 stands for all."""
    everywhere = found.take("env.limit", ours="env.limit")
    limits = {
        "train": everywhere,
        "val": found.take("evaluation.sel_env_num", ours="env.limit"),
        "test": found.take("evaluation.test_env_num", ours="env.limit"),
    }
    counts = {split: everywhere if count in (None, 0) else count for split, count in limits.items()}
    if limit := {split: count for split, count in counts.items() if count not in (None, 0)}:
        found.put("env.limit", limit)


def _take_model(found: Conversion, role: str) -> None:
    """The section of a role. Settings of its own come before those that both roles share."""
    backend = found.take(f"model.{role}_backend")
    if backend in (None, "openai_chat"):
        backend = found.take("model.backend") or "openai_chat"
    at_azure = None
    server, provider = _SERVERS.get(backend), "anthropic" if str(backend).startswith("claude") else "openai"
    if server is not None:
        for ours, ends in _ENDS.items():
            names = [f"model.{of}{server}_{end}" for of in (f"{role}_", "") for end in ends]
            found.move(f"{role}.{ours}", *names)
    if server == "azure_openai":
        found.move(f"{role}.reasoning_effort", "model.reasoning_effort", usual="medium")
        if at_azure := found.settings[role].get("base_url"):
            found.settings[role]["base_url"] = f"{str(at_azure).rstrip('/').removesuffix('/openai/v1')}/openai/v1"
            found.put(f"{role}.api_key_env", "AZURE_OPENAI_API_KEY")
    if backend != "openai_chat" or at_azure:
        found.note(f"{role}: backend {backend!r}: check model, base_url and api_key_env (docs/models-and-agents.md)")
    model = found.take(f"model.{role}", f"model.{role}_{server}_model", f"model.{server}_model", ours=f"{role}.model")
    found.put(f"{role}.model", f"{provider}:{model or 'gpt-5.5'}")
