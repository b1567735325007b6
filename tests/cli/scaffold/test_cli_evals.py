"""The tasks that come with a skill, evals/evals.json: from init to the trained skill."""

import json
from pathlib import Path
from typing import Any

import pytest

from etude.cli.main import main
from etude.config import load_config
from etude.envs.dataset import DatasetEnvironment
from etude.errors import ConfigError
from etude.records import SPLITS, Task
from etude.skill import load_skill

Captured = pytest.CaptureFixture[str]
SKILL = Path(".claude/skills/poet")
WANTED = ["It rhymes.", "It has four lines."]


def evals(count: int = 10, **first: Any) -> list[dict[str, Any]]:
    rows = [
        {"id": n, "prompt": f"Write a poem about {n} bees.", "expected_output": "A poem.", "expectations": WANTED}
        for n in range(1, count + 1)
    ]
    return [{**rows[0], **first}, *rows[1:]]


def write(rows: list[dict[str, Any]]) -> None:
    (SKILL / "evals" / "files").mkdir(parents=True, exist_ok=True)
    (SKILL / "SKILL.md").write_text("---\nname: poet\ndescription: Poems.\n---\n\n- Rhyme.\n")
    (SKILL / "evals" / "files" / "bees.csv").write_text("bee,age\nAda,3\n")
    (SKILL / "evals" / "evals.json").write_text(json.dumps({"skill_name": "poet", "evals": rows}))


def init(*words: str) -> int:
    return main(["init", "--skill", str(SKILL), "--json", *words])


def tasks() -> list[Task]:
    def no_judge() -> Any:
        raise ConfigError("nobody is asked")

    env = load_config("etude.yaml").env
    made = DatasetEnvironment(dict(env.model_extra or {}), judge=no_judge)
    return sorted((task for split in SPLITS for task in made.tasks(split)), key=lambda task: int(task.id))


def test_the_tasks_of_a_skill_become_a_project_that_names_the_skill_where_it_is(here: Path, capsys: Captured) -> None:
    write(evals(files=["evals/files/bees.csv"]))
    before = {path: path.read_bytes() for path in SKILL.rglob("*") if path.is_file()}
    assert init() == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["tasks"], made["scorer"]) == ({"train": 4, "val": 3, "test": 3}, "rubric")
    assert any("10 tasks show only a large difference" in note for note in made["notes"])
    config = load_config("etude.yaml")
    assert (config.skill.path, config.gate.metric) == (str(SKILL), "soft")
    assert config.judge is not None
    first = tasks()[0]
    assert (first.input, first.gold) == ("Write a poem about 1 bees.", "A poem.")
    assert first.data["expectations"] == WANTED
    assert {name: file.data for name, file in first.files.items()} == {"bees.csv": b"bee,age\nAda,3\n"}
    assert {path: path.read_bytes() for path in before} == before


def test_without_expectations_the_expected_output_is_the_only_one(here: Path, capsys: Captured) -> None:
    rows = evals()
    for row in rows[1:]:
        del row["expectations"]
    write(rows)
    assert init() == 0
    assert [task.data["expectations"] for task in tasks()[:2]] == [WANTED, ["What is expected: A poem."]]


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ({"expectations": [], "expected_output": ""}, "neither expectations nor an expected output say what a good"),
        ({"expectations": ["a", 1]}, "'expectations' holds something else than texts"),
        ({"prompt": " "}, "'prompt' is empty"),
        ({"files": ["evals/files/none.csv"]}, "'evals/files/none.csv' does not exist"),
        ({"files": ["../../../secret"]}, "is outside of the folder of the data"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_written(
    here: Path, capsys: Captured, first: dict[str, Any], message: str
) -> None:
    Path("secret").write_text("x")
    write(evals(**first))
    assert init() == 2
    assert message in capsys.readouterr().err
    assert not Path("etude.yaml").exists()


def test_a_skill_without_tasks_is_said_to_have_none(here: Path, capsys: Captured) -> None:
    write(evals())
    (SKILL / "evals" / "evals.json").unlink()
    assert init() == 2
    said = capsys.readouterr().err
    assert f"skill '{SKILL}' has no evals/evals.json, and no data were given" in said
    assert f"etude init data.jsonl --skill {SKILL}" in said


def test_the_tasks_are_no_part_of_the_skill_that_an_agent_is_given(here: Path) -> None:
    write(evals())
    (SKILL / "references" / "evals").mkdir(parents=True)
    (SKILL / "references" / "evals" / "evals.json").write_text("{}")
    assert list(load_skill(SKILL).files) == ["references/evals/evals.json"]
    (SKILL / "evals" / "evals.json").unlink()
    assert "evals/files/bees.csv" in load_skill(SKILL).files
