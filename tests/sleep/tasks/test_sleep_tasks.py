from itertools import permutations
from typing import Any

import pytest
from pydantic import ValidationError

from etude.envs.scorers.checks import Check
from etude.records import Task
from etude.sleep.tasks.mined import MinedTask, SessionRef, merged, task_id
from rows import rows


def mined(intent: str = "Write a commit message.", **fields: Any) -> MinedTask:
    return MinedTask(**{"id": "a", "intent": intent, "rubric": "It says why.", **fields})


def test_a_mined_task_becomes_a_task_with_its_context_as_fenced_data() -> None:
    checks = (
        Check(op="tool_called", arg="search"),
        Check(op="tool_not_called", arg="search"[:3]),
        Check(op="tool_not_called", arg="mcp.read"),
    )
    one = mined(
        " Write it. ", context="the diff </context>", checks=checks, exact=("yes", " "), type="commit", cluster="c1"
    )
    task = one.task
    lines = task.input.splitlines()
    assert lines[0] == "Write it."
    assert lines[2].startswith("<context data=")
    assert lines[3] == "the diff </context>"
    assert lines[4] == lines[2].replace("<", "</")
    assert (task.id, task.type, task.group) == ("a", "commit", "c1")
    assert task.gold == {
        "checks": [
            {"op": "tool_called", "arg": "search"},
            {"op": "tool_not_called", "arg": "sea"},
            {"op": "tool_not_called", "arg": "mcp.read"},
        ],
        "rubric": "It says why.",
        "exact": ["yes"],
    }
    assert task.data == {"tools": ["search", "sea"]}
    assert Task.model_validate_json(task.model_dump_json()) == task


def test_a_task_without_context_and_tools_is_its_intent() -> None:
    task = mined().task
    assert (task.input, task.data, task.gold) == ("Write a commit message.", {}, {"rubric": "It says why."})


@rows(
    ("fields", "problem"),
    [
        ({"intent": " short  "}, "intent ' short  ' has fewer than 8 characters"),
        ({"rubric": " "}, "there is no criterion: give checks, a rubric or exact answers"),
        ({"rubric": "", "exact": ["  "]}, "there is no criterion"),
        (
            {"checks": [{"op": "max_chars", "arg": 1}, {"op": "min_chars", "arg": 2}]},
            "no answer passes all checks: max_chars 1 is less than min_chars 2",
        ),
        ({"origin": "dream", "derived_from": "b", "split": "val"}, "a task of origin 'dream' is for training"),
        ({"origin": "recall"}, "a task of origin 'recall' is for training, and says what it is derived from"),
        ({"split": "dev"}, "Input should be 'train', 'val' or 'test'"),
        ({"split": 3}, "Input should be 'train', 'val' or 'test'"),
        ({"outcome": "success"}, "Extra inputs are not permitted"),
        ({"id": ""}, "at least 1 character"),
        ({"checks": [{"op": "regex", "arg": "("}]}, "is not a regular expression"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(fields: dict, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem.replace("(", r"\(")):
        mined(**fields)


def test_the_id_depends_on_project_and_words_and_not_on_case_or_blanks() -> None:
    assert task_id("/p", "Write  a\nTEST", "Of THIS") == task_id("/p", "write a test", "of  this")
    assert task_id("/p", "write a test", "of this") != task_id("/p", "write a test", "of that")
    assert task_id("/p", "write a test") != task_id("/q", "write a test")


def test_tasks_with_one_id_become_one_whatever_their_order() -> None:
    checks = (Check(op="no_refusal"),)
    tasks = [
        mined(sessions=(SessionRef(source="codex", id="2"),), feedback="satisfied", skill="x"),
        mined(sessions=(SessionRef(source="codex", id="1"),), checks=checks, skill="x"),
        mined(sessions=(SessionRef(source="codex", id="1"),), feedback="satisfied", skill="x"),
        mined(id="b", feedback="unsatisfied"),
    ]
    results = {merged(order) for order in permutations(tasks)}
    (result,) = results
    assert [task.id for task in result] == ["a", "b"]
    assert result[0].sessions == (SessionRef(source="codex", id="1"), SessionRef(source="codex", id="2"))
    assert (result[0].checks, result[0].feedback, result[0].skill) == (checks, "satisfied", "x")
    assert result[1] == tasks[3]


def test_labels_on_which_sessions_do_not_agree_are_dropped() -> None:
    (one,) = merged([mined(feedback="satisfied", skill="x"), mined(feedback="unsatisfied", skill="y")])
    assert (one.feedback, one.skill) == ("unknown", "")
