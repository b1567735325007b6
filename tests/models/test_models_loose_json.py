import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.models.wrappers.loose_json import find_object
from rows import rows

KEYS = st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(blacklist_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@settings(max_examples=40)
@given(OBJECTS, st.sampled_from([None, 2]), st.booleans())
def test_an_object_is_found_plain_fenced_and_in_prose(value: dict[str, object], indent: int | None, ascii: bool):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    assert find_object(text) == value
    assert find_object(f"Sure:\n```json\n{text}\n```\nHope it helps {{really}}.") == value
    assert find_object(f"I thought of {{x}} and {{y: z}}. {text} That is all.") == value
    assert find_object(f"<think>perhaps {{}} or {text}?</think>\n{text}") == value
    assert find_object(json.dumps(text)) == value


@settings(max_examples=40)
@given(OBJECTS.filter(bool), st.data())
def test_an_object_that_is_cut_off_is_never_taken_for_one(value: dict[str, object], data: st.DataObject):
    text = json.dumps({"outer": value})
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(ValueError):
        find_object(text[:cut])


@given(st.text(alphabet='{}[]":,\\ \n`abc0', max_size=60))
def test_any_text_gives_an_object_or_a_value_error(text: str):
    with contextlib.suppress(ValueError):
        assert isinstance(find_object(text), dict)


@rows(
    ("text", "problem"),
    [
        ("", "the reply has no JSON object"),
        ("[1, 2]", "the reply has no JSON object"),
        ('{"a": 1} or {"a": 2}', "the reply has 2 JSON objects where one is expected"),
        ('```\n{"a": 1}\n```\n```\n{"a": 2}\n```', "the reply has 2 JSON objects where one is expected"),
        ('{"a": {"b": 1}', "the JSON object in the reply is broken: Expecting ',' delimiter at character 14"),
        (
            '```\n{"a" 1}\n```\n{"b": 2}',
            "the JSON object in the reply is broken: Expecting ':' delimiter at character 5",
        ),
        ('{"a": ' * 100_000, "the JSON object in the reply is nested too deeply"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str):
    with pytest.raises(ValueError) as caught:
        find_object(text)
    assert str(caught.value) == problem


def test_the_same_object_twice_is_one():
    assert find_object('{"a": 1}\nAgain: {"a": 1}') == {"a": 1}


@rows("text", ['{"a": [1, 2,], "b": "x,}",}', 'So:\n```json\n{"a": [1, 2, ], "b": "x,}",\n}\n```'])
def test_a_comma_behind_a_last_item_is_let_pass(text: str):
    assert find_object(text) == {"a": [1, 2], "b": "x,}"}


@rows("text", ['{"a": [1,,]}', '{"a": 1, "b": "x,}', '{"a": 1,} or {"a": 2,}', "{,}"])
def test_nothing_else_is_guessed_of_commas(text: str):
    with pytest.raises(ValueError):
        find_object(text)


TAGS = [
    "</think>",
    "<think>",
    "[/THINK]",
    "[think]",
    "◁/think▷",
    "<|channel|>final<|message|>",
    "a </think>\nb",
    "<b>",
]


@rows(
    "before", ["", "<think>Hm.</think>", "Hm {so: it} goes.\n</think>\n", '<think>{"a": ...} or </think>', "Here: "]
)
@rows("tag", TAGS)
def test_tags_of_thoughts_in_texts_of_an_object_are_its_own(before: str, tag: str):
    said = {"reasoning": f"the tag {tag} is odd", "edits": [[tag], {"a": tag}]}
    for text in (json.dumps(said), json.dumps(said, ensure_ascii=False), f"```\n{json.dumps(said, indent=1)}\n```"):
        assert find_object(f"{before}{text}\nThat is all.") == said


@rows("thought", ['{"a": 1}', '{"a": "the </think> tag"}', '{"a": "the </think> tag', '{"a": [1,'])
def test_an_object_in_a_thought_is_not_what_was_said(thought: str):
    assert find_object(f'Perhaps {thought}</think>{{"b": "1 < 2"}}') == {"b": "1 < 2"}
    assert find_object(f'<think>Perhaps {thought} or so.</think>{{"b": 2}}') == {"b": 2}


@rows("thought", ['{"a": 1}', '{"a": "the </think> tag"}', "Hm"])
def test_a_thought_that_never_ends_has_no_object(thought: str):
    with pytest.raises(ValueError, match="never ends"):
        find_object(f"<think>Perhaps {thought}")
