"""Finding the form of a reply, and filling it."""

from etude.records import ChatRequest, system, user
from etude.simulation.schemas import wanted_form
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
