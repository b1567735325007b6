"""Messy tables: what `init` asks, says and writes."""

import re
from pathlib import Path

import pytest
from data_files import init, made, settings, tasks_of
from messy_tables import MESSY, ROWS, Messy, table

from at_terminal import at_a_terminal
from etude.cli.main import main

Captured = pytest.CaptureFixture[str]


def labels() -> list[str]:
    """What the tasks of the project let the agent choose from."""
    shown = {tuple(re.findall(r"Answer with one of: (.*)", task.input)) for task in tasks_of(made())}
    assert len(shown) == 1
    return [label for line in shown.pop() for label in line.split(", ")]


@pytest.mark.parametrize("messy", MESSY, ids=lambda messy: messy.name)
def test_what_init_says_of_a_messy_table_and_writes(messy: Messy, here: Path, capsys: Captured) -> None:
    name = "data.jsonl" if messy.content.startswith("{") else "data.csv"
    Path(name).write_text(messy.content, encoding="utf-8")
    if not messy.tasks:
        assert main(["init", name, *messy.words]) == 2
        said = capsys.readouterr().err
        assert [words for words in messy.says if words not in said] == []
        assert [path.name for path in here.iterdir()] == [name]
        return
    notes = [note for note in init(name, *messy.words, capsys=capsys)["notes"] if "OPENAI_API_KEY" not in note]
    assert notes == [*messy.says]
    assert len(tasks_of(made())) == messy.tasks
    assert labels() == [*messy.labels]
    assert settings()["env"]["path"] == (name if messy.kept else "tasks.jsonl")


SLIP = ("Bill is far too high", "biling")


@pytest.mark.parametrize(
    ("answer", "found", "team"),
    [
        ("1", ["biling", "billing", "delivery", "tech"], "biling"),
        ("2", ["billing", "delivery", "tech"], None),
        ("3", ["billing", "delivery", "tech"], "billing"),
    ],
    ids=["a label of its own", "left out", "another one"],
)
def test_a_label_that_occurs_once_is_asked_about(answer: str, found: list[str], team: str | None, here: Path) -> None:
    Path("data.csv").write_text(table([*ROWS, SLIP]))
    shown = at_a_terminal(["init", "data.csv"], [answer, "y"])
    assert (
        "label 'biling' occurs once, at data.csv:23, beside 'billing'\n"
        "What is it?\n  1  'biling' is a label of its own\n  2  leave the row out\n  3  it is 'billing'\n"
    ) in shown
    assert "correct the row" not in shown
    assert labels() == found
    assert [task.gold for task in tasks_of(made()) if task.input.startswith(SLIP[0])] == ([team] if team else [])
