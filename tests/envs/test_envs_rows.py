import pytest

from etude.envs.files import Row
from etude.envs.rows import Fields, Template, tasks_from_rows, with_ids
from etude.errors import ConfigError, DataError
from etude.records import Task


def rows(*columns: dict) -> list[Row]:
    return [Row(f"f:{number}", item) for number, item in enumerate(columns, 1)]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"id": 7, "input": "a", "gold": "b"}, {"id": "7", "input": "a", "gold": "b"}),
        ({"Question": "a", "ANSWER": "b"}, {"input": "a", "gold": "b"}),
        ({"prompt": 3, "target": ["b"], "category": "c"}, {"input": "3", "gold": ["b"], "type": "c"}),
        ({"task": "a", "label": 0, "group": 5}, {"input": "a", "gold": 0, "group": "5"}),
        ({"task_id": "t", "task": "a", "expected": {"k": 1}}, {"id": "t", "input": "a", "gold": {"k": 1}}),
        ({"question": "a", "answers": "b", "type": ["x", "y"]}, {"input": "a", "gold": "b", "type": "x, y"}),
        ({"input": "a", "question": "b", "gold": 1}, {"input": "a", "gold": 1, "data": {"question": "b"}}),
    ],
)
def test_usual_column_names_are_understood(columns: dict, expected: dict) -> None:
    assert tasks_from_rows(rows(columns), Fields()) == (Task(**{"id": "", **expected}),)


def test_other_columns_go_to_data() -> None:
    (task,) = tasks_from_rows(rows({"question": "a", "gold": "b", "level": 3}), Fields())
    assert task.data == {"level": 3}


def test_named_columns_win_over_guesses_and_may_lie_inside_objects() -> None:
    columns = {"question": "no", "mcq": {"question": "yes", "right": {"label": "A"}}}
    (task,) = tasks_from_rows(rows(columns), Fields(input="mcq.question", gold="mcq.right.label"))
    assert (task.input, task.gold) == ("yes", "A")
    assert task.data == columns


def test_a_column_whose_name_has_a_dot_is_found_as_it_is() -> None:
    (task,) = tasks_from_rows(rows({"a.b": "x", "gold": "y"}), Fields(input="a.b"))
    assert task.input == "x"


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


def test_a_row_that_lacks_what_the_first_row_has_is_named() -> None:
    with pytest.raises(DataError, match="f:2: no value in column 'question' for input"):
        tasks_from_rows(rows({"question": "a", "gold": 1}, {"gold": 2}), Fields())


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


def test_ids_come_from_the_input_so_that_other_tasks_do_not_change_them() -> None:
    first, second = Task(id="", input="a"), Task(id="", input="b")
    assert with_ids([first, second])[1] == with_ids([second])[0]
    assert len(with_ids([first])[0].id) == 10


def test_repeated_inputs_get_a_number_and_given_ids_are_kept() -> None:
    a = Task(id="", input="a")
    name = with_ids([a])[0].id
    assert [task.id for task in with_ids([a, a, Task(id=f"{name}-2", input="x"), a])] == [
        name,
        f"{name}-3",
        f"{name}-2",
        f"{name}-4",
    ]
