"""Finding the form of a reply, and filling it."""

import json

from etude.records import ChatRequest, Tool, system, user
from etude.simulation.forms import wanted_form
from etude.simulation.schemas import HONEST, by_example, fill
from rows import rows


def asked(*parts: str) -> ChatRequest:
    return ChatRequest(messages=(system(parts[0]), user("\n\n".join(parts[1:]))))


def shown(text: str):
    found = wanted_form(ChatRequest(messages=(system("You are kind."), user(text))))
    return None if found is None else found.top


@rows(
    ("text", "names"),
    [
        ('Reply with JSON: {"a": string, "b": [{"c": integer, "d": [string]}]}', ("a", "b")),
        ('Reply with JSON: {"a": "yes" | "no", "b": boolean, "c": number} and nothing else', ("a", "b", "c")),
        ('Reply with one JSON object of this form:\n{\n "a": "add | drop",\n "b": true\n}', ("a", "b")),
        ('As in JSON: {"a": 1}. No: reply with JSON: {"b": string}', ("b",)),
        ('<task>\nReply with JSON: {"a": 1}\n</task>\nReply with JSON: {"b": string}', ("b",)),
        ('Reply with JSON: {"b": string}\n<task data=1f>\nReply with JSON: {"a": 1}\n</task data=1f>', ("b",)),
        ('Output JSON: {"a": }', None),
        ("JSON without braces", None),
        ('{"a": "..."} is no form unless somebody asks', None),
        ("Reply with JSON: {}", None),
    ],
)
def test_a_skeleton_in_the_prompt_is_found(text: str, names: tuple[str, ...] | None) -> None:
    assert shown(text) == names


def test_types_and_choices_of_a_skeleton_are_its_schema() -> None:
    text = 'Reply with JSON: {"a": "yes" | "no", "b": [number], "c": boolean, "d": integer, "e": "say \\"x\\""}'
    form = wanted_form(asked("", text))
    assert form is not None
    assert form.schema["properties"] == {
        "a": {"type": "string", "enum": ["yes", "no"]},
        "b": {"type": "array", "items": {"type": "number"}},
        "c": {"type": "boolean"},
        "d": {"type": "integer"},
        "e": {"type": "string"},
    }


def test_a_forced_tool_that_was_not_offered_is_no_form() -> None:
    tool = Tool(name="a", parameters={"type": "object", "properties": {"x": {"type": "string"}}})
    request = ChatRequest(messages=(user("hello"),), tools=(tool,), forced_tool="b")
    assert wanted_form(request) is None
    assert wanted_form(request.model_copy(update={"forced_tool": "a"})) is not None


def test_synonyms_and_nested_objects_are_filled_from_what_is_known() -> None:
    edit = {
        "type": "object",
        "properties": {
            "type": {"enum": ["add", "modify", "remove"]},
            "instruction": {"type": "string"},
            "support_count": {"type": "integer"},
            "attempt_ids": {"type": "array", "items": {"type": "string"}},
        },
    }
    schema = {
        "type": "object",
        "properties": {
            "batch_size": {"type": "integer"},
            "failure_summary": {
                "type": "array",
                "items": {"type": "object", "properties": {"x": {"type": "string"}}},
            },
            "patch": {
                "type": "object",
                "properties": {"rationale": {"type": "string"}, "operations": {"type": "array", "items": edit}},
            },
        },
    }
    known = {"op": "append", "target": "", "content": "Do it.", "reason": "r", "cites": ["a-1"], "support": 1}
    filled = fill(schema, {"reasoning": "why", "edits": [known, {**known, "op": "replace"}], "batch_size": 3})
    row = {"type": "add", "instruction": "Do it.", "support_count": 1, "attempt_ids": ["a-1"]}
    assert filled == {
        "batch_size": 3,
        "failure_summary": [],
        "patch": {"rationale": "why", "operations": [row, {**row, "type": "modify"}]},
    }


def test_references_and_alternatives_are_followed() -> None:
    schema = {
        "$defs": {"Reply": {"type": "object", "properties": {"score": {"type": "number"}}}},
        "type": "object",
        "properties": {
            "reply": {"$ref": "#/$defs/Reply"},
            "score": {"anyOf": [{"type": "null"}, {"type": "number"}]},
            "reason": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "lost": {"$ref": "#/$defs/Nothing/at/all"},
            "maybe": {"type": ["null", "string"]},
        },
    }
    assert fill(schema, {"score": 0.5, "reason": "r"}) == {
        "reply": {"score": 0.5},
        "score": 0.5,
        "reason": "r",
        "lost": HONEST,
        "maybe": HONEST,
    }


def test_what_nothing_is_known_for_gets_an_empty_value_of_its_type_when_required() -> None:
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer", "minimum": 1},
            "share": {"type": "number"},
            "flag": {"type": "boolean"},
            "nothing": {"type": "null"},
            "fixed": {"const": 7},
            "choice": {"enum": ["x", "y"]},
            "list": {"items": {"type": "string"}},
            "inner": {"properties": {"deep": {"type": "string"}}},
            "free": {"type": "object"},
            "closed": {"type": "object", "additionalProperties": False},
            "optional": {"type": "string"},
        },
    }
    schema["required"] = [name for name in schema["properties"] if name != "optional"]
    assert fill(schema, {}) == {
        "text": HONEST,
        "count": 1,
        "share": 0.0,
        "flag": False,
        "nothing": None,
        "fixed": 7,
        "choice": "x",
        "list": [],
        "inner": {"deep": HONEST},
        "free": {},
        "closed": {},
    }


def test_values_are_turned_into_the_type_the_schema_wants() -> None:
    properties = {
        "answer": {"type": "array", "items": {"type": "string"}},
        "edits": {"type": "string"},
        "score": {"type": "integer"},
        "reason": {"type": "array", "items": {"type": "string"}},
    }
    filled = fill({"properties": properties}, {"answer": "a b", "edits": ["x", "y"], "score": "n/a", "reason": 5})
    assert filled == {"answer": ["a", "b"], "edits": "x\ny", "score": 0, "reason": ["5"]}


def test_an_example_becomes_a_schema() -> None:
    example = {"a": "x | y", "b": [1.5], "c": True, "d": [], "e": 3, "f": {"g": "text"}}
    schema = by_example(example)
    assert schema["required"] == list(example)
    kinds = {name: part.get("type") for name, part in schema["properties"].items()}
    assert kinds == {"a": "string", "b": "array", "c": "boolean", "d": "array", "e": "integer", "f": "object"}
    assert schema["properties"]["a"]["enum"] == ["x", "y"]
    assert json.loads(json.dumps(fill(schema, {}))) == {
        "a": "x",
        "b": [],
        "c": False,
        "d": [],
        "e": 0,
        "f": {"g": HONEST},
    }
