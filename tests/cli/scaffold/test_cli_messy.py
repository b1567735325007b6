"""Messy tables: what `init` asks, says and writes."""

import json
import re
from pathlib import Path

import pytest
from data_files import init, made, settings, tasks_of
from messy_tables import MESSY, Messy

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]


def labels() -> list[str]:
    """What the tasks of the project let the agent choose from."""
    shown = {tuple(re.findall(r"Answer with one of: (.*)", task.input)) for task in tasks_of(made())}
    assert len(shown) == 1
    return [label for line in shown.pop() for label in line.split("; " if "; " in line else ", ")]


def test_a_column_of_ids_that_come_back_names_no_tasks(here: Path, capsys: Captured) -> None:
    Path("data.csv").write_text("id,question,answer\n" + "".join(f"{n % 2},What is {n}?,{n}\n" for n in range(12)))
    found = init("data.csv", capsys=capsys)
    assert (found["unused"], "id" in found["fields"]) == (["id"], False)
    assert "'id' has a value more than once, so it is no id of tasks" in found["notes"]
    assert len({task.id for task in tasks_of(made())}) == 12
    assert (
        main(
            ["doctor", "etude.yaml", "--target.model", "simulated:target", "--optimizer.model", "simulated:optimizer"]
        )
        == 0
    )


@pytest.mark.parametrize(("answer", "noted"), [("Paris", False), ("SELECT name FROM towns WHERE id = {}", True)])
def test_right_answers_of_several_words_are_said_to_be_compared_word_for_word(
    here: Path, capsys: Captured, answer: str, noted: bool
) -> None:
    Path("data.csv").write_text(
        "question,answer\n" + "".join(f"Which town is number {n}?,{answer.format(n)} {n}\n" for n in range(12))
    )
    found = init("data.csv", capsys=capsys)
    assert found["scorer"] == "exact"
    assert any("have to come word for word" in note for note in found["notes"]) == noted


@pytest.mark.parametrize("data", ["poet", "poet/SKILL.md"])
def test_a_skill_in_the_place_of_data_is_pointed_to_its_option(here: Path, capsys: Captured, data: str) -> None:
    Path("poet/evals").mkdir(parents=True)
    Path("poet/SKILL.md").write_text("---\nname: poet\ndescription: Rhymes.\n---\n\n- Rhyme.\n")
    assert main(["init", data]) == 2
    said = (
        f"error: '{data}' is a skill, and no data\nhint: `etude init --skill {data}` takes the tasks that it brings\n"
    )
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("name", ["tasks.pdf", "tasks.ipynb", "tasks.md", "tasks"])
def test_a_file_of_another_kind_is_refused_with_those_that_init_reads(
    here: Path, capsys: Captured, name: str
) -> None:
    Path(name).write_bytes(b"%PDF \xff\x00")
    assert main(["init", name]) == 2
    assert "hint: save the tasks as one of .jsonl .ndjson .json .csv .parquet" in capsys.readouterr().err


@pytest.mark.parametrize("as_lists", [True, False])
def test_a_table_by_columns_as_notebooks_write_it_has_a_task_in_each_row(
    as_lists: bool, here: Path, capsys: Captured
) -> None:
    held = {"question": [f"What is {n} and 1?" for n in range(12)], "answer": [str(n + 1) for n in range(12)]}
    by_index = {name: {str(at): cell for at, cell in enumerate(cells)} for name, cells in held.items()}
    Path("data.json").write_text(json.dumps(held if as_lists else by_index))
    found = init("data.json", capsys=capsys)
    assert (found["scorer"], sum(found["tasks"].values())) == ("numeric", 12)
    assert "the file has a list for each column: its tasks are the rows of these" in found["notes"]
    assert {(task.input, task.gold) for task in tasks_of(made())} == set(zip(*held.values(), strict=True))


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
