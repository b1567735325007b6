"""Values that lie below all others."""

from collections.abc import Mapping
from typing import Any

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


def below(preset: str, search: object) -> dict[str, Any]:
    """The values of a preset for these settings of the search: its options go with the policies that have them."""
    policy = search.get("policy") if isinstance(search, Mapping) else None  # pyright: ignore
    values = PRESETS[preset]
    return values if policy in _PUBLISHED else {**values, "search": {}}
