"""The prompts of the systems that the benchmarks compare, read for the simulated optimizer."""

import json

import pytest
from peer_forms import by_example, shown_form
from peer_prompts import read_prompt

from etude.records import ChatRequest, system, user
from rows import rows

TITLED = "---\nname: words\n---\n\n# Everyday tasks\n\n- Keep repeated words.\n"
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


def skill_in(text: str) -> str:
    return read_prompt(ChatRequest(messages=(user(text),))).skill


def test_attempts_are_told_apart_by_ids_and_tasks() -> None:
    prompt = read_prompt(ChatRequest(messages=(user(ATTEMPTS),)))
    assert prompt.skill.strip() == "# Everyday\n\n- Be kind."
    assert [(one.id, one.answer, one.failed) for one in prompt.observations] == [
        ("task-17", "alps beta", True),
        ("task-18", "a b c", False),
    ]


@pytest.mark.parametrize("section", ["## Edit Budget\nAt most 4 edits.", "## Patches to merge (2 total)\n[]"])
def test_a_title_above_the_heading_of_the_skill_is_the_skills_own(section: str) -> None:
    assert skill_in(f"## Current Skill\n{TITLED}\n\n{section}").strip() == TITLED.strip()


def test_the_skill_of_the_current_epoch_is_the_current_one() -> None:
    text = f"## Previous Epoch's Skill\nOld.\n\n## Current Epoch's Skill\n{TITLED}\n\n## Previous Guidance\n(none)"
    assert skill_in(text).strip() == TITLED.strip()
    assert skill_in(text.replace("Current Epoch's", "Current Epoch Last-Step")).strip() == TITLED.strip()


def test_fenced_instructions_are_the_skill_where_no_skill_is_spoken_of() -> None:
    text = f"I gave an assistant the following instructions:\n```\n{TITLED}\n```\n\nExamples:\n```\nfew\n```"
    assert skill_in(text).strip() == TITLED.strip()
    assert skill_in("The following instructions are to be kept:\nnone") == ""


def test_a_limit_may_be_named_by_a_letter() -> None:
    assert read_prompt(ChatRequest(messages=(user("Produce at most L=4 edits."),))).limit == 4


def test_a_listed_edit_may_have_quotes_in_it() -> None:
    text = read_prompt(ChatRequest(messages=(user(r"[3] op=replace  target='don\'t'  content='do'"),))).text
    assert json.loads(text) == {"index": 3, "op": "replace", "target": "don't", "content": "do"}


@pytest.mark.parametrize(
    "feedback", ["answered 'b a', expected 'a b'", "The correct answer is 'a b'. Say it so.", "Expected: a b"]
)
def test_an_expected_answer_may_stand_in_quotes(feedback: str) -> None:
    block = f"### Task id=t-1\nSort these words alphabetically: b a\nModel answer: b a\nFailure reason: {feedback}\n"
    (seen,) = read_prompt(ChatRequest(messages=(user(block),))).observations
    assert (seen.answer, seen.expected) == ("b a", "a b")


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


def test_entries_of_different_kinds_are_united_and_what_all_have_is_required() -> None:
    items = by_example([{"op": "append", "content": "<text>"}, {"op": "delete", "target": "<text>"}])["items"]
    assert items["properties"]["op"] == {"type": "string", "enum": ["append", "delete"]}
    assert list(items["properties"]) == ["op", "content", "target"]
    assert items["required"] == ["op"]


def test_data_with_gaps_is_not_taken_for_the_form() -> None:
    form = 'Return JSON: {"reasoning": "<why>", "edits": [{"op": "...", "target": "...", "content": "..."}]}'
    content = "Write the answer in one line, separated by spaces."
    data = json.dumps([{"edits": [{"op": "append", "content": content, "note": ""}]}])
    found = shown_form(asked(form, "Patches, see the answer format above:", data))
    assert found is not None
    assert found.top == ("reasoning", "edits")
