"""Benchmarks that train."""

import json

from test_benchmarks import run

SMALL = ["--train", "16", "--val", "8", "--test", "8", "--epochs", "1", "--seeds", "1", "--latency", "0"]


def test_virtual_time_goes_on_by_one_for_each_request_that_waits_for_another() -> None:
    plan = {"tasks": 20, "slots": 1, "epochs": 1}
    alone, wide = (
        json.loads(run("slots", "--one", json.dumps(plan | slots)).stdout) for slots in ({}, {"slots": 99})
    )
    calls = [one["target_calls"] + one["optimizer_calls"] for one in (alone, wide)]
    assert calls[0] == calls[1]
    assert wide["rounds"] < alone["rounds"] <= calls[0]


def test_a_comparison_measures_our_system_from_outside(tmp_path) -> None:
    out = tmp_path / "peers.json"
    settings = "search.batch_size=8,search.policy=paper"
    done = run("peers", *SMALL, "--systems", "etude", "--arm", f"small:{settings}", "--out", str(out))
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert [arm["name"] for arm in found["arms"]] == ["etude", "etude, small"]
    for one in found["runs"]:
        assert one["reason"] == ""
        assert one["curve"][0] == {"calls": 0, "seconds": one["curve"][0]["seconds"], "test": one["initial"]}
        assert one["curve"][-1]["test"] == one["test"]
        assert one["curve"][-1]["calls"] <= one["target_calls"]
        assert 0 < one["most_in_flight"] <= 8
        assert 0 <= one["initial"] <= one["attainable"] <= 1
    assert str(tmp_path) not in out.read_text()
