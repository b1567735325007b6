"""Tests of promptfoo: in the settings, in files that they name, in tables."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from data_files import init, made, tasks_of

from etude.cli.main import main
from etude.records import Trajectory

Captured = pytest.CaptureFixture[str]
PROMPT = "Translate {{word}} to French."
COUNT = 12


def case(number: int) -> dict[str, Any]:
    asserted = [{"type": "icontains", "value": "maison"}, {"type": "equals", "value": f"Maison {number}"}]
    return {"vars": {"word": f"house {number}"}, "assert": asserted}


TESTS = [case(number) for number in range(COUNT)]
OTHERS = {"assert": [{"type": "not-is-json"}, {"type": "cost", "threshold": 1}]}
TABLE = "word,__expected,__expected2,__description\n" + "".join(
    f"house {number},icontains: maison,Maison {number},\n" for number in range(COUNT)
)


def settings(**more: Any) -> None:
    Path("promptfoo.yaml").write_text(yaml.safe_dump({"prompts": [PROMPT], **more}))


def score(answer: str) -> list[float]:
    """What each task scores for an answer with its number."""
    env = made()
    return [
        asyncio.run(env.score(task, Trajectory(answer=answer.format(task.input.split()[2])))).hard
        for task in tasks_of(env)
    ]


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({}, TESTS),
        ({"cases.yaml": yaml.safe_dump(TESTS)}, "file://cases.yaml"),
        ({"tests/a.json": json.dumps(TESTS[:5]), "tests/b.json": json.dumps(TESTS[5:])}, "tests/*.json"),
        ({"cases.csv": TABLE}, "file://cases.csv"),
        ({"rest.yaml": yaml.safe_dump(TESTS[1:])}, [TESTS[0], "file://rest.yaml"]),
    ],
)
def test_tests_are_read_where_they_stand(files: dict[str, str], named: Any, here: Path, capsys: Captured) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    settings(tests=named)
    assert init("promptfoo.yaml", capsys=capsys)["scorer"] == "checks"
    assert {task.input for task in tasks_of(made())} == {f"Translate house {n} to French." for n in range(COUNT)}
    assert (score("Maison {}"), score("maison"), score("")) == ([1] * COUNT, [0] * COUNT, [0] * COUNT)


def test_a_table_of_tests_is_read_without_settings(here: Path, capsys: Captured) -> None:
    Path("cases.csv").write_text(TABLE)
    assert init("cases.csv", capsys=capsys)["scorer"] == "checks"
    assert {task.input for task in tasks_of(made())} == {f"house {n}" for n in range(COUNT)}


def test_columns_that_went_into_tasks_are_not_called_unused(here: Path, capsys: Captured) -> None:
    Path("cases.csv").write_text(TABLE)
    assert init("cases.csv", capsys=capsys)["unused"] == ["__description"]
    settings(tests=[{**test, "description": "a house"} for test in TESTS])
    assert init("promptfoo.yaml", "--force", capsys=capsys)["unused"] == ["description"]


def test_a_word_before_a_colon_that_names_no_assertion_is_part_of_the_answer(here: Path, capsys: Captured) -> None:
    Path("cases.csv").write_text("word,__expected\n" + "".join(f"house {n},note: maison {n}\n" for n in range(COUNT)))
    settings(tests="file://cases.csv")
    init("promptfoo.yaml", capsys=capsys)
    assert (score("note: maison {}"), score("maison {}")) == ([1] * COUNT, [0] * COUNT)


def test_prompts_and_variables_may_be_files_and_all_tests_may_share_some(here: Path, capsys: Captured) -> None:
    Path("prompt.md").write_text("Translate {{ word }} to {{language}}.\n")
    Path("language.txt").write_text("French\n")
    usual = {
        "vars": {"language": "file://language.txt"},
        "assert": [{"type": "llm-rubric", "value": "It is French."}],
    }
    settings(prompts=["file://prompt.md"], tests=TESTS, defaultTest=usual)
    result = init("promptfoo.yaml", capsys=capsys)
    assert result["first"][0]["input"].startswith("Translate house")
    assert result["first"][0]["input"].endswith("to French.")
    gold = json.loads(result["first"][0]["gold"])
    assert (gold["rubric"], len(gold["checks"])) == ("It is French.", 2)
    assert "judge" in yaml.safe_load(Path("etude.yaml").read_text())


@pytest.mark.parametrize(
    ("assertion", "right", "wrong"),
    [
        ({"type": "contains", "value": "aB"}, "x aB", "x ab"),
        ({"type": "not-icontains", "value": "ab"}, "x", "x aB"),
        ({"type": "starts-with", "value": "a"}, "ab", "ba"),
        ({"type": "regex", "value": "a+b"}, "xaab", "b"),
        ({"type": "not-equals", "value": "a"}, "b", "a"),
        ({"type": "contains-all", "value": ["a", "b"]}, "b a", "a"),
        ({"type": "icontains-any", "value": ["x.", "b"]}, "B", "xy"),
        ({"type": "icontains-any", "value": "x., b"}, "B", "xy"),
        ({"type": "contains", "value": "a {{ word }}"}, "a house {}", "a house"),
        ({"type": "contains-all", "value": ["{{word}}"]}, "house {}", "house"),
        ({"type": "equals", "value": "file://right.txt"}, "right", "file://right.txt"),
    ],
)
def test_assertions_become_checks(
    assertion: dict[str, Any], right: str, wrong: str, here: Path, capsys: Captured
) -> None:
    Path("right.txt").write_text("right\n")
    settings(tests=[{**case(number), "assert": [assertion]} for number in range(6)])
    init("promptfoo.yaml", capsys=capsys)
    assert (set(score(right)), set(score(wrong))) == ({1}, {0})


def test_a_test_is_a_task_for_each_combination_of_the_values_in_its_lists(here: Path, capsys: Captured) -> None:
    values = {"word": [f"house {n}" for n in range(6)], "language": ["French", "German"]}
    asserted = [{"type": "contains", "value": "{{language}}"}]
    settings(prompts=["{{word}} in {{language}}?"], tests=[{"vars": values, "assert": asserted}])
    init("promptfoo.yaml", capsys=capsys)
    tasks = {task.input: task.gold for task in tasks_of(made())}
    assert len(tasks) == 12
    assert tasks["house 5 in German?"] == [{"op": "contains", "arg": "German", "ignore_case": False}]


def test_what_promptfoo_has_beside_tests_is_said_to_be_unused(here: Path, capsys: Captured) -> None:
    heavy = [{**test, "assert": [{**test["assert"][0], "weight": 2}]} for test in TESTS]
    settings(tests=heavy, prompts=[PROMPT, "Say {{word}} in French."], providers=[{"id": "openai:a"}, "openai:b"])
    result = init("promptfoo.yaml", capsys=capsys)
    assert result["unused"] == ["providers", "prompts after the first"]
    assert "weights and thresholds of assertions are not used: each counts alike" in result["notes"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"tests": [{"vars": {"word": "a"}, "assert": [{"type": "javascript", "value": "true"}]}]},
            "the assertion 'javascript' (1 t",
        ),
        ({"tests": TESTS, "defaultTest": OTHERS}, "the assertions 'cost', 'not-is-json' (24 times in all tests)"),
        ({"tests": [{"vars": {"other": "a"}, "assert": [{"type": "equals", "value": "b"}]}]}, "not filled by vars"),
        ({"tests": "file://gone.yaml"}, "'file://gone.yaml' does not exist"),
        ({"tests": "file://../cases.yaml"}, "'file://../cases.yaml' is outside of its folder"),
        ({"tests": "file://link.yaml"}, "'file://link.yaml' does not exist"),
        ({"tests": "file://cases.py"}, "cases.py: tests are read from YAML, JSON and CSV files"),
        ({"tests": [3]}, "test 1 is neither an object nor a file"),
        ({"tests": TESTS, "prompts": ["file://cases.py"]}, "'file://cases.py' is no text"),
        ({}, "a YAML file is read where it has a list of tasks, or `tests`"),
    ],
)
def test_what_cannot_be_used_is_said(given: dict[str, Any], message: str, here: Path, capsys: Captured) -> None:
    (here.parent / "cases.yaml").write_text(yaml.safe_dump(TESTS))
    Path("link.yaml").symlink_to(here.parent / "cases.yaml")
    Path("cases.py").touch()
    settings(**given)
    assert main(["init", "promptfoo.yaml"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("etude.yaml").exists()
