"""The prompts of the systems that the benchmarks compare, read for the simulated optimizer."""

from peer_forms import shown_form
from peer_prompts import read_prompt

from etude.records import ChatRequest, system, user
from rows import rows

SORT = "Sort the following words alphabetically: List: "
ATTEMPTS = f"""
## Current Skill
# Everyday

- Be kind.

## Failed trajectories (2)

### 1. task-17
Task: {SORT}beta alps beta
[assistant] Sorted.
Final answer: alps beta
Expected answer: alps beta beta

---
### 2. task-18
Task: {SORT}c b a
predicted: "a b c"
gold: a b c
"""


def asked(*parts: str) -> ChatRequest:
    return ChatRequest(messages=(system(parts[0]), user("\n\n".join(parts[1:]))))


def names_in(text: str) -> tuple[str, ...] | None:
    found = shown_form(asked("You are kind.", text))
    return None if found is None else found.top


def test_attempts_are_told_apart_by_ids_and_tasks() -> None:
    prompt = read_prompt(ChatRequest(messages=(user(ATTEMPTS),)))
    assert prompt.skill.strip() == "# Everyday\n\n- Be kind."
    assert [(one.id, one.answer, one.failed) for one in prompt.observations] == [
        ("task-17", "alps beta", True),
        ("task-18", "a b c", False),
    ]


@rows(
    ("text", "names"),
    [
        ('Reply with JSON: {"a": string, "b": [{"c": integer, "d": [string]}]}', ("a", "b")),
        ('Return JSON of this form:\n{"a": "...", // why\n "b": [1, 2, ...], }', ("a", "b")),
        ('JSON schema:\n{"type": "object", "properties": {"x": {"type": "string"}}}', ("x",)),
        (
            'Answer in JSON, as in {"op": "append | delete", "ok": true, "n": null, "p": 0.0-1.0}',
            ("op", "ok", "n", "p"),
        ),
        ('JSON please. The data: {"a": 1}\nRespond with exactly {"b": <text>}', ("b",)),
        (
            '<edits data=1f>\n{"index": 0, "op": "x"}\n</edits data=1f>\nReply with JSON: {"order": [integer]}',
            ("order",),
        ),
        ('Output JSON {"a": }', None),
        ("JSON without braces", None),
        ('{"a": "..."} is no form unless somebody asks', None),
        ("Reply with JSON: {}", None),
        ("Reply with JSON: {a b c}", None),
    ],
)
def test_a_skeleton_in_the_prompt_is_found(text: str, names: tuple[str, ...] | None) -> None:
    assert names_in(text) == names
