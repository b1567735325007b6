"""Values that lie below all others."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # Published schedule and defaults: SkillOpt 0.2.0 and its paper, section 3.
    "paper": {
        "train": {"epochs": 4, "batch_size": 40, "fresh_attempts": True},
        "search": {"policy": "paper"},
        "reflect": {"mode": "shallow", "minibatch_size": 8, "failure_only": False},
        "aggregate": {"merge_batch_size": 8},
        "select": {"schedule": "cosine", "edit_budget": 4, "min_edit_budget": 2},
        "gate": {"enabled": True, "metric": "hard"},
        "slow_update": {"enabled": True, "samples": 20, "gate": True, "pairs": "mixed"},
        "meta_skill": {"enabled": True},
    },
}
