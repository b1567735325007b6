import pytest

from etude.envs.files import Row
from etude.envs.rows import Fields, Template, tasks_from_rows
from etude.errors import ConfigError, DataError


def rows(*columns: dict) -> list[Row]:
    return [Row(f"f:{number}", item) for number, item in enumerate(columns, 1)]


@pytest.mark.parametrize(
    ("columns", "fields", "message"),
    [
        ({"text": "a", "gold": 1}, Fields(), "f:1: no column for the task's input; columns: 'text', 'gold'"),
        ({"input": "a"}, Fields(), "f:1: no column for the task's gold; columns: 'input'"),
        ({"input": "a"}, Fields(gold="sol"), "f:1: no value in column 'sol' for gold; columns: 'input'"),
        ({"input": "a", "gold": None}, Fields(), "f:1: no value in column 'gold' for gold"),
        ({"input": "a", "gold": 1}, Fields(type="kind"), "f:1: no value in column 'kind' for type"),
        ({"input": "  ", "gold": 1}, Fields(), "f:1: the task's input is empty"),
        ({"input": ["a"], "gold": 1}, Fields(), "f:1: the task's input is list, not text"),
    ],
)
def test_a_missing_or_unusable_field_is_an_error_that_names_place_and_columns(columns, fields, message) -> None:
    with pytest.raises(DataError) as caught:
        tasks_from_rows(rows(columns), fields)
    assert caught.value.message.startswith(message)
    assert caught.value.hint


def test_gold_may_be_absent_where_the_scorer_does_not_need_it() -> None:
    assert tasks_from_rows(rows({"input": "a"}), Fields(), needs_gold=False)[0].gold is None


def test_a_template_builds_the_input_from_several_columns() -> None:
    columns = {
        "question": "Which {one}?",
        "n": 2,
        "choices": ["x", "y"],
        "mcq": {"all": [{"label": "A", "text": "z"}], "k": {"b": 1}},
        "gold": "A",
    }
    template = Template("{question} {n}\n{choices}\n{mcq.all}\n{mcq.k} {{kept}}", "env")
    (task,) = tasks_from_rows(rows(columns), Fields(), template=template)
    assert task.input == 'Which {one}? 2\nx\ny\n(A) z\n{"b":1} {kept}'
    assert task.data["question"] == "Which {one}?"


def test_a_template_that_names_a_missing_column_is_an_error() -> None:
    with pytest.raises(DataError, match="f:1: no value in column 'q' for template; columns: 'input', 'gold'"):
        tasks_from_rows(rows({"input": "a", "gold": 1}), Fields(), template=Template("{q}", "env"))


@pytest.mark.parametrize("text", ["{a", "a}", "no column", "{}"])
def test_a_template_that_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="env: template = "):
        Template(text, "env")
