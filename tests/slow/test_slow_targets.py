"""Two targets with contradicting needs: one skill for both, in fewer calls than two runs."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def test_one_run_for_two_targets_is_cheaper_than_two_and_harms_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import targets

    seeds = (targets.FIRST, targets.FIRST + 1)
    calls = dict.fromkeys((("target",), ("target-contrary",), targets.MODELS), 0)
    for seed in seeds:
        for models in calls:
            found = targets.train(targets.Run("many", seed, models))
            calls[models] += found.calls
            if models == targets.MODELS:
                assert all(after >= before for before, after in zip(found.without, found.scores, strict=True))

    both = calls.pop(targets.MODELS)
    assert both <= 0.9 * sum(calls.values())
