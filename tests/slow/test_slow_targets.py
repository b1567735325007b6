"""Two targets with contradicting needs: one skill for both, in fewer calls than two runs."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def test_one_run_for_two_targets_is_cheaper_than_two_and_harms_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import targets

    for seed in (targets.FIRST, targets.FIRST + 1):
        one, other = (targets.train(targets.Run("many", seed, (model,))) for model in targets.MODELS)
        both = targets.train(targets.Run("many", seed, targets.MODELS))
        assert both.calls <= 0.9 * (one.calls + other.calls)
        assert all(after >= before for before, after in zip(both.without, both.scores, strict=True))
