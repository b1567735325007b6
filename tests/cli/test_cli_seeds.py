import json
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.measure.seeds import SeedReport

Captured = pytest.CaptureFixture[str]
CONFIG = "demo/etude.yaml"
QUICK = [
    "--train.epochs=1",
    "--reflect.mode=deep",
    "--env.limit={train: 4, val: 4, test: 4}",
    "--test.no_skill=false",
]


def test_each_seed_is_a_row_and_mean_deviation_and_interval_follow(fresh_project: Path, capsys: Captured) -> None:
    assert main(["train", CONFIG, "--seeds", "1-2,7", *QUICK]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    report = SeedReport.model_validate_json(Path("demo/runs/demo-seeds.json").read_text())
    assert lines[0] == "SIMULATED MODELS: these scores say nothing about a real model."
    rows = [line.split() for line in lines[2:5]]
    assert [row[:2] for row in rows] == [["1", "demo-seed1"], ["2", "demo-seed2"], ["7", "demo-seed7"]]
    assert rows[2][6] == f"{report.seeds[2].gain:+.3f}"
    assert lines[6].endswith("(share solved over 3 seeds, test)")
    assert lines[7].endswith("0.000  the same in every run")
    gain = report.gain
    assert gain is not None
    assert gain.sd is not None
    spread = f"[{gain.low:+.3f}, {gain.high:+.3f}]" if gain.sd else "the same in every run"
    assert lines[9] == f"gain      {gain.mean:+.3f}  {gain.sd:.3f}  {spread}"
    assert lines[10] == "file      demo/runs/demo-seeds.json"
    assert captured.err.count("starting run 'demo-seed") == 3


def test_one_seed_has_no_spread_and_no_test_no_gain(fresh_project: Path, capsys: Captured) -> None:
    assert main(["train", CONFIG, "--seeds", "3", *QUICK]) == 0
    assert "-      needs two seeds\n" in capsys.readouterr().out
    words = ["train", CONFIG, "--seeds", "3,4", "--name", "untested", "--test.enabled", "false", *QUICK]
    assert main(words) == 0
    assert "\ntest      not measured\n" in capsys.readouterr().out
    report = SeedReport.model_validate_json(Path("demo/runs/untested-seeds.json").read_text())
    assert (report.gain, report.best_test) == (None, None)


def test_a_stop_says_what_the_run_has_and_how_to_go_on(fresh_project: Path, capsys: Captured) -> None:
    words = ["train", CONFIG, "--seeds", "1-2", "--limits.calls", "9", *QUICK]
    assert main(words) == 3
    assert capsys.readouterr().out.startswith("run demo-seed1:\n")
    assert main([*words, "--json"]) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["name"] == "demo-seed1"
    where, resume = captured.err.splitlines()[-2:]
    assert where == "seed 1 stopped; still to come: 2"
    assert resume.startswith("resume (with a larger --limits.calls): etude train demo/etude.yaml")
    words[words.index("9")] = "1000"
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["seeds"]) == 2


@pytest.mark.parametrize(
    ("seeds", "error"),
    [
        ("5-1", "--seeds: '5-1' is not a list of seeds; write it as in 1-5 or 1,3,7"),
        ("1,x", "--seeds: '1,x' is not a list of seeds; write it as in 1-5 or 1,3,7"),
        ("1-3,2", "--seeds: '1-3,2' names a seed twice"),
        ("1-99999", "--seeds: '1-99999' is more than 1000 seeds"),
    ],
)
def test_seeds_are_written_as_numbers_and_ranges(
    seeds: str, error: str, fresh_project: Path, capsys: Captured
) -> None:
    assert main(["train", CONFIG, "--seeds", seeds]) == 2
    assert capsys.readouterr().err == f"error: {error}\nhint: see `etude train --help`\n"


def test_one_seed_and_many_exclude_each_other(fresh_project: Path, capsys: Captured) -> None:
    assert main(["train", CONFIG, "--seeds", "1-2", "--train.seed", "3"]) == 2
    assert capsys.readouterr().err == ("error: --seeds and --train.seed both set the seed\nhint: give one of them\n")
