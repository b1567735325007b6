"""The prompts of the systems that the benchmarks compare, read for the simulated optimizer."""

import json
import sys
from pathlib import Path

import pytest

from etude.records import ChatRequest, user

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from peer_prompts import read_prompt

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
