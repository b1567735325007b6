"""Finding the form of a reply, and filling it."""

from etude.records import ChatRequest, system, user
from etude.simulation.forms import wanted_form
from etude.simulation.schemas import HONEST, fill
from rows import rows


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
