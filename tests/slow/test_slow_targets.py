"""Two targets with contradicting needs: one skill for both, in fewer calls than two runs."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
UNSEEN = 0.1
"""A loss that 40 validation tasks do not show: with scores near .3, one standard error of the difference. What one
rule gives the first target, the opposite gives the second, so one of them loses a little in one run of six."""


def test_one_run_for_two_targets_is_cheaper_than_two_and_harms_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import targets

    calls = {"two runs": 0, "one run": 0}  # of three seeds: with a single one it may take a fifth more
    for seed in range(targets.FIRST, targets.FIRST + 3):
        one, other = (targets.train(targets.Run("many", seed, (model,))) for model in targets.MODELS)
        both = targets.train(targets.Run("many", seed, targets.MODELS))
        calls["two runs"] += one.calls + other.calls
        calls["one run"] += both.calls
        assert all(after > before - UNSEEN for before, after in zip(both.without, both.scores, strict=True))
        assert sum(both.scores) > sum(both.without) + 0.3
    assert calls["one run"] <= calls["two runs"]
