import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from data_files import init, made, tasks_of, write
from made_like import CASES, COUNT, Case

from etude.cli.main import main
from etude.config import load_config
from etude.envs.dataset import DatasetEnvironment
from etude.envs.gold import check_gold
from etude.envs.scorers.choice import read_options
from etude.records import Trajectory

Captured = pytest.CaptureFixture[str]
DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


def average(env: DatasetEnvironment, answers: Sequence[str]) -> float:
    """What these answers to all tasks score on average."""
    tasks = tasks_of(env)

    async def scored() -> list[float]:
        pairs = zip(tasks, answers, strict=True)
        return [(await env.score(task, Trajectory(answer=answer))).hard for task, answer in pairs]

    scores = asyncio.run(scored())
    return sum(scores) / len(scores)


def only_right_answers_solve(env: DatasetEnvironment) -> None:
    tasks = tasks_of(env)
    asyncio.run(check_gold(env, tasks))  # every gold answer scores 1
    assert average(env, [""] * len(tasks)) == 0
    assert average(env, [task.input for task in tasks]) <= 0.05


@pytest.mark.parametrize("name", CASES)
def test_files_of_known_forms_become_tasks_that_only_right_answers_solve(
    name: str, here: Path, capsys: Captured
) -> None:
    case: Case = CASES[name]
    write(case.file, case.table())
    result = init(case.file, *case.words, capsys=capsys)
    assert result["scorer"] == case.scorer
    assert case.input in result["first"][0]["input"]
    env = made()
    tasks = tasks_of(env)
    assert len(tasks) == COUNT
    for text in read_options(tasks[0].input).values():  # an option is shown once, as an option
        assert text not in tasks[0].input.partition("(A) ")[0]
    only_right_answers_solve(env)
    assert average(env, ["A"] * COUNT) == pytest.approx(case.all_a, abs=0.2 if case.all_a else 0)


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data are not here")
@pytest.mark.parametrize(
    ("file", "scorer"),
    [
        ("gsm8k/train_300.jsonl", "numeric"),
        ("bbh/date_understanding.json", "choice"),
        ("bbh/object_counting.json", "numeric"),
        ("bbh/word_sorting.json", "exact"),
        ("livemath/qa_202511_final.json", "choice"),
    ],
)
def test_real_data_become_tasks_that_only_right_answers_solve(
    file: str, scorer: str, here: Path, capsys: Captured
) -> None:
    assert init(str(DATA / file), capsys=capsys)["scorer"] == scorer
    env = made()
    only_right_answers_solve(env)
    assert average(env, ["A"] * len(tasks_of(env))) <= 0.35


def test_options_keep_their_order_unless_the_right_one_is_always_in_the_same_place(
    here: Path, capsys: Captured
) -> None:
    write("gpqa.csv", CASES["GPQA"].table())
    notes = init("gpqa.csv", capsys=capsys)["notes"]
    assert any("put in another order" in note for note in notes)
    written = Path("tasks.jsonl").read_text()
    init("gpqa.csv", "--folder", "again", capsys=capsys)
    assert Path("again/tasks.jsonl").read_text() == written
    assert {json.loads(line)["gold"] for line in written.splitlines()} == {*"ABCD"}
    write("arc.jsonl", CASES["ARC"].table())
    assert not any("order" in note for note in init("arc.jsonl", "--folder", "arc", capsys=capsys)["notes"])


@pytest.mark.parametrize(
    ("criteria", "text"),
    [
        (["is short", "is kind"], "- is short\n- is kind"),
        ([{"criterion": "asks back", "points": 5}], "- asks back (5 points)"),
    ],
)
def test_a_list_of_criteria_is_a_rubric_with_a_line_for_each(
    criteria: Any, text: str, here: Path, capsys: Captured
) -> None:
    chat = [{"role": "user", "content": "My head hurts."}]
    write(
        "health.jsonl",
        [{"prompt": [*chat, {"role": "user", "content": str(n)}], "rubrics": criteria} for n in range(9)],
    )
    assert init("health.jsonl", capsys=capsys)["first"][0]["rubric"] == text


@pytest.mark.parametrize("asked", ["Write to customer {}.", [{"role": "user", "content": "Write to customer {}."}]])
def test_one_rubric_can_be_given_for_all_tasks(asked: Any, here: Path, capsys: Captured) -> None:
    prompts = [json.loads(json.dumps(asked).replace("{}", str(n))) for n in range(10)]
    write("prompts.jsonl", [{"prompt": prompt} for prompt in prompts])
    assert main(["init", "prompts.jsonl"]) == 2
    assert "--rubric TEXT" in capsys.readouterr().err
    assert init("prompts.jsonl", "--rubric", "It is polite.", capsys=capsys)["first"][0]["input"].startswith(
        "Write to"
    )
    scorer = {"name": "rubric", "rubric": "It is polite."}
    assert (load_config("etude.yaml").env.model_extra or {})["scorer"] == scorer


def test_pictures_of_built_tasks_are_copied_into_the_project(here: Path, capsys: Captured) -> None:
    Path("data/pages").mkdir(parents=True)
    rows = CASES["DocVQA"].table()
    for number, row in enumerate(rows):
        Path(f"data/pages/{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes([number]))
        row["image"] = f"pages/{number}.png"
    write("data/docs.csv", rows)
    init("data/docs.csv", "--folder", "project", capsys=capsys)
    assert all(len(task.images) == 1 for task in tasks_of(made("project/etude.yaml")))
