"""Layouts of prompts that programs other than this one send, told apart by shape."""

import json

import pytest
from simulation_prompts import told

from etude.records import ChatRequest, system, user
from etude.simulation.forms import wanted_form
from etude.simulation.optimizer.reading import read_prompt
from etude.simulation.schemas import by_example

TITLED = "---\nname: words\n---\n\n# Everyday tasks\n\n- Keep repeated words.\n"
RULES = ("Keep repeated words.", "Be careful.", "Never leave out a word.")


def skill_in(text: str) -> str:
    return read_prompt(ChatRequest(messages=(user(text),))).skill


def asked(*parts: str) -> ChatRequest:
    return ChatRequest(messages=(system(parts[0]), user("\n\n".join(parts[1:]))))


def test_choices_between_quoted_words_are_a_form() -> None:
    text = 'Return JSON: {"edits": [{"op": "append" | "insert_after" | "delete", "content": "<text (or none)>"}]}'
    found = wanted_form(asked(text, "Go."))
    assert found is not None
    entry = found.schema["properties"]["edits"]["items"]
    assert entry["properties"]["op"] == {"type": "string", "enum": ["append", "insert_after", "delete"]}


def test_entries_of_different_kinds_are_united_and_what_all_have_is_required() -> None:
    items = by_example([{"op": "append", "content": "<text>"}, {"op": "delete", "target": "<text>"}])["items"]
    assert items["properties"]["op"] == {"type": "string", "enum": ["append", "delete"]}
    assert list(items["properties"]) == ["op", "content", "target"]
    assert items["required"] == ["op"]


def test_entries_that_are_no_objects_go_by_the_first_one() -> None:
    assert by_example(["a", 1])["items"] == {"type": "string"}


@pytest.mark.parametrize(
    ("shown", "kind"), [("<int>", "integer"), ("<number of attempts>", "number"), ("<integer: how many>", "integer")]
)
def test_a_placeholder_says_which_kind_of_number_it_stands_for(shown: str, kind: str) -> None:
    assert by_example(shown) == {"type": kind}


def test_data_with_gaps_is_not_taken_for_the_form() -> None:
    form = 'Return JSON: {"reasoning": "<why>", "edits": [{"op": "...", "target": "...", "content": "..."}]}'
    content = "Write the answer in one line, separated by spaces."
    data = json.dumps([{"edits": [{"op": "append", "content": content, "note": ""}]}])
    found = wanted_form(asked(form, "Patches, see the answer format above:", data))
    assert found is not None
    assert found.top == ("reasoning", "edits")


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


@pytest.mark.parametrize(
    ("text", "compares"),
    [
        ("Identify the root cause shared across the failed trajectories.", True),
        ("Find the common failure patterns in the batch.", True),
        ("What is common among them?", True),
        ("A common word is shared with everybody.", False),
    ],
)
def test_asking_for_what_attempts_share_is_asking_to_compare(text: str, compares: bool) -> None:
    assert read_prompt(ChatRequest(messages=(user(text),))).compares is compares


def test_a_limit_may_be_named_by_a_letter() -> None:
    assert read_prompt(ChatRequest(messages=(user("Produce at most L=4 edits."),))).limit == 4


@pytest.mark.parametrize("quote", ["'", '"'])
def test_edits_listed_by_number_can_be_ranked(quote: str) -> None:
    form = 'Return JSON: {"reasoning": "<why>", "selected_indices": [<int>, <int>]}'
    pool = "\n".join(f"[{i}] op=append  content={quote}- {rule}{quote}  support=8" for i, rule in enumerate(RULES))
    assert told("optimizer-perfect", asked(form, "## Edit Pool", pool))["selected_indices"] == [0, 2, 1]


def test_a_listed_edit_may_have_quotes_in_it() -> None:
    text = read_prompt(ChatRequest(messages=(user(r"[3] op=replace  target='don\'t'  content='do'"),))).text
    assert json.loads(text) == {"index": 3, "op": "replace", "target": "don't", "content": "do"}


def test_an_edit_that_only_shows_the_form_is_no_edit() -> None:
    form = 'Return JSON: {"edits": [{"op": "append", "content": "<text>"}, {"op": "delete", "target": "<text>"}]}'
    patches = json.dumps([{"edits": [{"op": "append", "content": f"- {RULES[0]}"}]}] * 2)
    merged = told("optimizer-perfect", asked(form, "## Patches to merge", patches))
    assert [edit["content"] for edit in merged["edits"]] == [f"- {RULES[0]}"]


@pytest.mark.parametrize(
    "feedback", ["answered 'b a', expected 'a b'", "The correct answer is 'a b'. Say it so.", "Expected: a b"]
)
def test_an_expected_answer_may_stand_in_quotes(feedback: str) -> None:
    block = f"### Task id=t-1\nSort these words alphabetically: b a\nModel answer: b a\nFailure reason: {feedback}\n"
    (seen,) = read_prompt(ChatRequest(messages=(user(block),))).observations
    assert (seen.answer, seen.expected) == ("b a", "a b")
