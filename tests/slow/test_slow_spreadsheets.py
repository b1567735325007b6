"""The published data: gold workbooks are right, untouched ones are not."""

import asyncio
from pathlib import Path

import pytest

from etude.records import SPLITS, File, Task, Trajectory
from etude_annexes.spreadsheet.environment import SpreadsheetEnvironment

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "spreadsheetbench"
EXCEPTIONS = ["73-45"]
"""Tasks that only ask for colours, which do not count: their input is right as it is. docs/scorers.md
names them."""


@pytest.fixture(scope="module")
def env() -> SpreadsheetEnvironment:
    if not FOLDER.exists():
        pytest.skip("the data set spreadsheetbench is not on this machine")
    return SpreadsheetEnvironment({"path": str(FOLDER)})


def all_tasks(env: SpreadsheetEnvironment) -> list[Task]:
    return [task for split in SPLITS for task in env.tasks(split)]


def some_tasks(env: SpreadsheetEnvironment) -> list[Task]:
    """Every fourth, and the exceptions."""
    tasks = all_tasks(env)
    return [task for number, task in enumerate(tasks) if number % 4 == 0 or task.id in EXCEPTIONS]


async def hard(env: SpreadsheetEnvironment, ending: str) -> dict[str, float]:
    """The score of one of the workbooks of each of them."""
    places = asyncio.Semaphore(4)

    async def score(task: Task) -> tuple[str, float]:
        data = (FOLDER / "spreadsheet" / task.id / f"1_{task.id}_{ending}.xlsx").read_bytes()
        async with places:
            return task.id, (await env.score(task, Trajectory(files={"output.xlsx": File(data=data)}))).hard

    return dict(await asyncio.gather(*map(score, some_tasks(env))))


async def test_gold_workbooks_score_1(env: SpreadsheetEnvironment) -> None:
    scores = await hard(env, "golden")
    assert len(scores) >= 10
    assert set(scores.values()) == {1}


async def test_untouched_workbooks_score_0_but_for_the_exceptions(env: SpreadsheetEnvironment) -> None:
    scores = await hard(env, "init")
    assert [task for task, score in scores.items() if score] == EXCEPTIONS
    page = Path(__file__).parents[2] / "docs" / "scorers.md"
    assert all(f"`{task}`" in page.read_text() for task in EXCEPTIONS)


def test_the_exceptions_are_reported_when_the_data_is_read(env: SpreadsheetEnvironment) -> None:
    assert [text for text in env.warnings if "doing nothing is right" in text] == [
        "the input has the right answer already, so that doing nothing is right: '73-45'"
    ]


def test_splits_have_the_published_shares(env: SpreadsheetEnvironment) -> None:
    assert [len(env.tasks(split)) for split in SPLITS] == [8, 4, 28]


def test_every_task_says_where_its_answer_goes_and_brings_one_workbook(env: SpreadsheetEnvironment) -> None:
    for task in all_tasks(env):
        assert "Cells that count: '" in task.input
        assert list(task.files) == ["input.xlsx"]
        assert len(task.input) < 6000
