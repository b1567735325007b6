import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs.scorers.json import Json, JsonOptions, read_json
from etude.errors import DataError
from etude.records import Task
from etude.testing.scorer import ScorerContract
from rows import rows

GOLD = {"name": "Ada", "born": {"year": 1815, "city": "London"}, "tags": ["x", "y"], "alive": False}


def task(gold: object = GOLD) -> Task:
    return Task(id="t", input="i", gold=gold)


class TestJson(ScorerContract):
    def make_scorer(self) -> Json:
        return Json()

    def make_other_scorer(self) -> Json:
        return Json(JsonOptions(ordered=False))

    def right(self) -> list[tuple[Task, str]]:
        return [
            (task(), json.dumps(GOLD)),
            (task(), f"Here it is:\n```json\n{json.dumps(GOLD, indent=1)}\n```\nDone."),
            (task('{"a": 1}'), 'I found {"a": 1.0}, see [1]'),
            (task("Ada"), '"Ada"'),
            (task([1, None]), "[1, null]"),
            (task({}), "{}"),
        ]

    def wrong(self) -> list[tuple[Task, str]]:
        return [
            (task(), "no"),
            (task(), "{}"),
            (task([1, 2]), "[2, 1]"),
            (task({"a": 1}), '{"a": true}'),
            (task({}), "[]"),
        ]


@rows(
    ("options", "gold", "answer", "hard"),
    [
        ({"ordered": False}, ["x", "y", "x"], ["x", "x", "y"], 1),
        ({"ordered": False}, ["x", "y", "y"], ["x", "x", "y"], 0),
        ({"ordered": False}, [{"a": [1, 2]}, 3], [3, {"a": [2, 1]}], 1),
        ({"ordered": False, "tolerance": 0.1}, [1.0, 1.1], [1.15, 1.05], 1),
        ({"tolerance": 0.1}, {"a": 1.0}, {"a": 1.05}, 1),
        ({"tolerance": 0.1}, {"a": 1.0}, {"a": 1.2}, 0),
        ({"tolerance": 5}, True, 1, 0),
        ({"casefold": True}, {"a": "Ada"}, {"a": " ADA "}, 1),
        ({}, {"a": "Ada"}, {"a": "ada"}, 0),
        ({"allow_extra": True}, {"a": 1}, {"a": 1, "b": 2}, 1),
        ({}, {"a": 1}, {"a": 1, "b": 2}, 0),
        ({"allow_extra": True}, [{"a": 1}], [{"a": 1, "b": 2}], 1),
        ({}, [{"a": 1}], [{"a": 1, "b": 2}], 0),
    ],
)
def test_options_say_what_counts(options: dict, gold: object, answer: object, hard: int) -> None:
    assert Json(JsonOptions(**options)).compare(task(gold), json.dumps(answer)).hard == hard


@rows(
    ("text", "value"),
    [
        ('```\n{"a": 1}\n```\nor rather\n```json\n{"a": 2}\n```', {"a": 2}),
        ('```python\nprint(1)\n```\n{"a": 1}', {"a": 1}),
        ('see [1]: {"a": {"b": [1]}} and {"c": 1}', {"a": {"b": [1]}}),
        ("{not json} [2]", [2]),
        ('{"a": 1}, or rather {"a": 2}', {"a": 2}),
        (" 5 ", 5),
    ],
)
def test_json_is_found_in_an_answer(text: str, value: object) -> None:
    assert read_json(text) == (value,)


@rows(
    ("gold", "answer", "hard"),
    [
        ({"a": "caf\u00e9"}, '{"a": "cafe\u0301"}', 1),
        ({"a": "caf\u00e9"}, '{"a": "cafe\\u0301"}', 1),
        ({"cafe\u0301": 1}, '{"caf\u00e9": 1}', 1),
        ('{"a": "e\u0301"}', '```json\n{"a": "\u00e9"}\n```', 1),
        ({"a": 1}, '~~~json\n{"a": 1}\n~~~', 1),
        ({"a": 1}, '````json\r\n{"a": 1}\r\n````', 1),
        ({"a": "b```c"}, '```json\n{"a": "b```c"}\n```', 1),
        ({"a": ["x"]}, '\ufeff{"a":\u00a0["x\u200b"]}', 1),
        ({"a": "x\u00b2"}, '{"a": "x2"}', 0),
        ({"a": "x\u00b2"}, '{"a": "x"}', 0),
    ],
)
def test_keys_and_texts_that_look_the_same_are_the_same(gold: object, answer: str, hard: int) -> None:
    assert Json().compare(task(gold), answer).hard == hard


@rows("text", ["", "none", '{"a": NaN}', "1e999", '{"a": -1e999}', "```\n[1e999]\n```", "[" * 5000, "{" * 5000])
def test_an_answer_without_json_has_none(text: str) -> None:
    assert read_json(text) is None


@pytest.mark.parametrize("number", ["1e999", "9" * 400, "9" * 5000, "-" + "9" * 400])
@pytest.mark.parametrize("gold", [1.5, 2])
@pytest.mark.parametrize("ordered", [True, False])
def test_a_number_that_is_too_large_is_wrong(number: str, gold: float, ordered: bool) -> None:
    scorer = Json(JsonOptions(tolerance=0.5, ordered=ordered))
    assert scorer.compare(task({"a": gold}), f'{{"a": {number}}}').hard == 0
    assert scorer.compare(task([gold, 1]), f"[1, {number}]").hard == 0


def test_gold_is_needed() -> None:
    with pytest.raises(DataError, match="task 't' has no gold answer"):
        Json().compare(task(None), "{}")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(VALUES.filter(lambda value: value is not None and not isinstance(value, str)), st.booleans())
def test_every_gold_passes_its_own_scorer(gold: object, ordered: bool) -> None:
    scorer = Json(JsonOptions(ordered=ordered))
    assert scorer.compare(task(gold), scorer.gold_answer(task(gold))).hard == 1
