"""What is doubtful about tasks and scorer, before anything is paid for."""

import json
from pathlib import Path
from typing import Any

import pytest

from etude.envs.dataset import DatasetEnvironment
from etude.envs.doubts import doubts_about
from etude.records import SPLITS
from etude.records.summary import Doubt

CITIES = ("Rome", "Lima", "Oslo", "Cairo", "Quito", "Seoul", "Paris", "Accra", "Delhi", "Tunis", "Bern", "Riga")


async def doubts(folder: Path, rows: list[dict[str, Any]], tokens: int = 1000, **env: Any) -> tuple[Doubt, ...]:
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = DatasetEnvironment({"path": str(path), **env})
    return await doubts_about(made, {split: made.tasks(split) for split in SPLITS}, tokens)


def rows(**columns: Any) -> list[dict[str, Any]]:
    """Questions about cities; a column may be a function of the city and its number."""
    return [
        {
            "id": f"t{number}",
            "question": f"What is the capital of country {number}?",
            "answer": city,
            **{name: make(city, number) for name, make in columns.items()},
        }
        for number, city in enumerate(CITIES)
    ]


async def test_one_gold_answer_for_most_tasks_is_seen(tmp_path: Path) -> None:
    (doubt,) = await doubts(tmp_path, rows(answer=lambda city, n: "yes" if n != 5 else "no"))
    assert doubt.what == "the fixed answer 'yes' solves 11 of 12 tasks (scorer 'exact')"


async def test_a_copied_question_that_scores_is_seen(tmp_path: Path) -> None:
    data = rows(question=lambda city, n: f"{n}: which is it, {city} or Mars?")
    (doubt,) = await doubts(tmp_path, data, scorer={"name": "regex", "pattern": "Mars"})
    assert doubt.what == "the question copied as the answer solves 12 of 12 tasks (scorer 'regex')"


async def test_tasks_that_end_with_their_answer_are_seen(tmp_path: Path) -> None:
    data = rows(question=lambda city, n: f"What is capital {n}? Answer: {city}")
    (doubt,) = await doubts(tmp_path, data)
    assert doubt.what == "12 of 12 tasks end with their gold answer: they give it away"


async def test_gold_answers_that_do_not_fit_into_an_answer_are_seen(tmp_path: Path) -> None:
    (doubt,) = await doubts(tmp_path, rows(answer=lambda city, n: f"{city} " * 30), tokens=20)
    assert doubt.what == "12 of 12 gold answers are longer than an answer of 20 tokens can be"
    assert doubt.todo.startswith("raise target.max_output_tokens")


async def test_options_that_the_input_shows_are_not_doubted(tmp_path: Path) -> None:
    data = rows(choices=lambda city, n: [city, "Mars", "Ur"])
    assert await doubts(tmp_path, data, template="{question} {choices}") == ()


async def test_a_context_that_is_not_shown_is_seen(tmp_path: Path) -> None:
    (doubt,) = await doubts(tmp_path, rows(context=lambda city, n: f"The story of {city}."))
    assert doubt.what == "column 'context': looks like something to read, and the input has nothing of it"


@pytest.mark.parametrize(
    "column",
    [
        {"question": lambda city, n: f"What is to be seen in the picture above, number {n}?"},
        {"image_path": lambda city, n: f"pictures/{n}.png"},
    ],
)
async def test_pictures_that_tasks_speak_of_and_do_not_have_are_seen(tmp_path: Path, column: Any) -> None:
    (doubt,) = await doubts(tmp_path, rows(**column))
    assert doubt.what == "12 of 12 tasks speak of pictures or files, and have none"
