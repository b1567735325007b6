"""The summary of a run, for people."""

from pathlib import Path

import pytest

from etude.cli.main import main
from etude.cli.terminal.summary_text import summary_lines
from etude.readable import fitted
from etude.records.summary import Noise, Summary


def test_the_summary_of_a_run_fits_80_columns(demo_project: Path) -> None:
    summary = Summary.model_validate_json(Path("demo/runs/demo/summary.json").read_text())
    *lines, best = summary_lines(summary)
    assert best.startswith("best skill  ")
    assert [line for line in lines if len(line) > 80 and not line.startswith("citations")] == []


def test_much_noise_is_a_line_of_the_summary(demo_project: Path) -> None:
    summary = Summary.model_validate_json(Path("demo/runs/demo/summary.json").read_text())
    little, much = (Noise(failed=40, regained=n, passed=0, lost=0, again=70, attempts=300) for n in (3, 13))
    for noise in (None, little):
        assert "noise " not in "\n".join(summary_lines(summary.model_copy(update={"noise": noise})))
    lines = list(summary_lines(summary.model_copy(update={"noise": much})))
    start = next(number for number, line in enumerate(lines) if line.startswith("noise       13 of 40 tasks "))
    assert "70 of 300 training attempts" in " ".join(line.strip() for line in lines[start : start + 3])
    assert all(len(line) <= 80 for line in lines[start : start + 3])


@pytest.mark.parametrize("width", [80, 60, 40])
def test_a_longer_line_is_broken_between_words_below_its_last_column(width: int) -> None:
    text = "citations   0 repaired; " + " ".join(f"word{number}" for number in range(40))
    first, *rest = fitted(text, width)
    assert max(map(len, (first, *rest))) <= width
    assert {line[:12] for line in rest} == {" " * 12}
    assert " ".join([first, *(line.strip() for line in rest)]) == text


def test_a_row_of_a_table_continues_in_its_last_column() -> None:
    row = "1     accepted *  120     2 applied  kept 2 of 4 edits; 2 of 5 failed tasks now pass"
    assert fitted(row, 70) == [row[:70].rpartition(" ")[0], " " * 37 + "tasks now pass"]


def test_a_path_is_never_broken() -> None:
    path = "/".join(["folder"] * 20)
    assert fitted(f"best skill  {path}", 40) == [f"best skill  {path}"]


def test_the_demo_ends_with_what_changed_in_the_skill(
    fresh_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--folder", "demo", "--train.epochs", "1", "--test.enabled", "false"]) == 0
    out = capsys.readouterr().out
    _, _, changed = out.partition("\nwhat changed in the skill:\n--- initial\n+++ best")
    assert "\n+- " in changed.partition("\ntry next:\n")[0]
