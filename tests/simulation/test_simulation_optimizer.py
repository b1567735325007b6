"""The simulated optimizer: diagnosis, proposals, imperfections."""

from collections import Counter
from typing import Any

import pytest
from simulation_prompts import (
    DEEP,
    SHALLOW,
    answered_with,
    ask,
    attempt_block,
    reflect_request,
    reported,
    skill_without,
)

from etude.prompts import Prompts
from etude.records import ChatRequest, Message, TextPart, assistant, user
from etude.simulation import SEED_SKILL, make_tasks, respond
from etude.simulation.families import RULES, find_tasks
from etude.simulation.families.family import explanations, relevant
from etude.simulation.optimizer.profiles import GOOD, MISCITING, POOR, Profile
from etude.simulation.optimizer.reading import read_prompt
from etude.simulation.rules import statements
from rows import rows

SORT = "Sort the following words alphabetically: List: "
REPEATED = SORT + "beta alps beta"
PLANTED = {
    "sorting": ("sorting.prefix", ("sorting.letters", "sorting.case")),
    "counting": (
        "counting.last",
        ("counting.creatures", "counting.berries", "counting.measure", "counting.percussion"),
    ),
    "dates": ("dates.first_day", ("dates.thirty", "dates.february")),
}


def taught_by(reply) -> Counter:
    return Counter((one.rule, one.sign) for edit in reply["edits"] for one in statements(edit["content"], RULES))


def failed(id: str, task: str, *faults: str) -> str:
    return attempt_block(id, task, answered_with(task, *faults), f"expected: {answered_with(task)}; got: something")


def test_a_failure_is_traced_to_its_rule_and_cited() -> None:
    blocks = [failed("a-1", REPEATED, "sorting.repeats"), attempt_block("a-2", SORT + "b a", "a b")]
    reply = reported("optimizer-perfect", reflect_request(blocks))
    (edit,) = reply["edits"]
    assert taught_by(reply) == {("sorting.repeats", 1): 1}
    assert (edit["op"], edit["target"], edit["cites"]) == ("append", "", ["a-1"])
    assert edit["content"].startswith("- ")
    assert edit["reason"]
    assert "sorting: repeats (1)" in reply["reasoning"]


def test_it_solves_the_task_itself_where_the_prompt_does_not_say_what_was_expected() -> None:
    reply = reported("optimizer-perfect", reflect_request([attempt_block("a-1", REPEATED, "alps beta")]))
    assert set(taught_by(reply)) == {("sorting.repeats", 1)}


def test_successes_and_unreadable_attempts_give_no_edits() -> None:
    for blocks in (
        [attempt_block("a-1", REPEATED, "alps beta beta")],
        [attempt_block("a-1", REPEATED, "no idea")],
        [attempt_block("a-1", REPEATED, "")],
        [attempt_block("a-1", "Write a poem.", "Roses")],
    ):
        assert reported("optimizer-perfect", reflect_request(blocks))["edits"] == []


def test_a_rule_the_skill_teaches_is_not_proposed_again() -> None:
    request = reflect_request([failed("a-1", REPEATED, "sorting.repeats")], "Keep repeated words.")
    assert reported("optimizer-perfect", request)["edits"] == []


def test_a_harmful_line_is_replaced_and_a_contradicting_one_deleted() -> None:
    blocks = [failed("a-1", REPEATED, "sorting.repeats")]
    wrong = "List each repeated word only once."
    (edit,) = reported("optimizer-perfect", reflect_request(blocks, f"# Words\n\n- {wrong}\n- Be kind."))["edits"]
    assert (edit["op"], edit["target"]) == ("replace", wrong)
    assert [(one.rule, one.sign) for one in statements(edit["content"], RULES)] == [("sorting.repeats", 1)]
    skill = f"- {wrong}\n- Keep repeated words, all of them."
    (edit,) = reported("optimizer-perfect", reflect_request(blocks, skill))["edits"]
    assert (edit["op"], edit["target"], edit["content"]) == ("delete", wrong, "")


def test_no_edit_is_anchored_in_a_protected_region() -> None:
    wrong = "List each repeated word only once."
    skill = f"<!-- etude:begin slow_update -->\n- {wrong}\n<!-- etude:end slow_update -->\n- Be kind."
    (edit,) = reported("optimizer-perfect", reflect_request([failed("a-1", REPEATED, "sorting.repeats")], skill))[
        "edits"
    ]
    assert edit["op"] == "append"


def test_related_rules_are_sometimes_put_beside_each_other() -> None:
    skill = "- Be kind.\n- Ignore case when you compare words.\n- Keep it short."
    ops = set()
    for place in range(12):
        (edit,) = reported(
            "optimizer-perfect", reflect_request([failed(f"a-{place}", REPEATED, "sorting.repeats")], skill)
        )["edits"]
        ops.add(edit["op"])
        assert edit["target"] in ("", "- Ignore case when you compare words.")
    assert ops == {"append", "insert_after"}


def subtle_failures(name: str) -> tuple[list[str], set[str]]:
    """Attempts that fail by the planted rule alone, with different decoys, and two that pass."""
    planted, decoys = PLANTED[name]
    blocks: list[str] = []
    seen: set[str] = set()
    for task in make_tasks(name, 200, 21):
        (found,) = find_tasks(task.input)
        if planted in {rule.id for rule in relevant(found.family, found.text)} and len(blocks) < 8:
            blocks.append(failed(f"a-{len(blocks)}", task.input, planted))
            fits = explanations(found.family, found.text, answered_with(task.input, planted))
            seen |= {rule for faults in fits for rule in faults} & set(decoys)
    return blocks, seen


@pytest.mark.parametrize("name", list(PLANTED))
def test_the_planted_flaw_is_missed_one_by_one_and_found_by_comparison(name: str) -> None:
    planted, _ = PLANTED[name]
    blocks, seen = subtle_failures(name)
    assert len(seen) > 1
    shallow = reported("optimizer-perfect", reflect_request(blocks, instructions=SHALLOW))
    assert (planted, 1) not in taught_by(shallow)
    assert {rule for rule, _ in taught_by(shallow)} == seen
    deep = reported("optimizer-perfect", reflect_request(blocks, instructions=DEEP))
    assert set(taught_by(deep)) == {(planted, 1)}
    assert len(deep["edits"][0]["cites"]) == len(blocks)


def test_the_planted_flaw_stays_hidden_from_shallow_reading_when_the_decoys_are_taught() -> None:
    name = "counting"
    planted, _ = PLANTED[name]
    blocks, _ = subtle_failures(name)
    skill = skill_without(planted)
    assert reported("optimizer-perfect", reflect_request(blocks, skill))["edits"] == []
    deep = reported("optimizer-perfect", reflect_request(blocks, skill, DEEP))
    assert set(taught_by(deep)) == {(planted, 1)}


def test_attempts_that_passed_refute_an_explanation() -> None:
    fails = "Sort the following words alphabetically: List: bag carpet car"
    passes = [f"{SORT}{words}" for words in ("beta axe alps", "cow dog cat", "eel elk eat")]
    blocks = [failed("a-1", fails, "sorting.prefix")]
    assert set(taught_by(reported("optimizer-perfect", reflect_request(blocks, instructions=DEEP)))) == {
        ("sorting.letters", 1)
    }
    blocks += [attempt_block(f"a-{place}", task, answered_with(task)) for place, task in enumerate(passes, 5)]
    assert set(taught_by(reported("optimizer-perfect", reflect_request(blocks, instructions=DEEP)))) == {
        ("sorting.prefix", 1)
    }


def test_an_unambiguous_subtle_failure_is_seen_without_comparison() -> None:
    task = "I have a cow and two dogs. How many animals do I have?"
    reply = reported("optimizer-perfect", reflect_request([failed("a-1", task, "counting.last")]))
    assert set(taught_by(reply)) == {("counting.last", 1)}


def many(count: int, skill: str = SEED_SKILL) -> list[str]:
    """Blocks of what the target really did."""
    blocks: list[str] = []
    for place, task in enumerate(make_tasks(None, count, 31)):
        answer = respond("target", ask(task, skill)).text.rpartition("Answer: ")[2]
        blocks.append(attempt_block(f"a-{place:04x}", task.input, answer, f"expected: {task.gold}; got: {answer}"))
    return blocks


def test_a_stated_limit_is_kept_and_the_best_supported_stay() -> None:
    free = reported("optimizer-perfect", reflect_request(many(60)))["edits"]
    limited = reported("optimizer-perfect", reflect_request(many(60), extra="Propose at most 3 edits."))["edits"]
    assert len(free) > 3
    assert [set(edit["cites"]) for edit in limited] == [set(edit["cites"]) for edit in free[:3]]


def test_the_same_content_gives_the_same_edits_whatever_is_around_it() -> None:
    blocks = many(40)
    plain = reflect_request(blocks, SEED_SKILL)
    edits = reported("optimizer", plain)["edits"]
    assert edits
    worded = reflect_request(
        blocks, SEED_SKILL.replace("step by step", "one step  at a time"), SHALLOW + " Be brief.", "Some more words."
    )
    reasked = plain.model_copy(
        update={"messages": (*plain.messages, assistant("{"), user(f"No JSON. Again: {blocks[0]}"))}
    )
    shuffled = reflect_request(blocks[::-1], SEED_SKILL)
    one_message = plain.model_copy(
        update={"messages": (user(f"{plain.messages[0].text}\n{plain.messages[1].text}"),)}
    )
    for request in (worded, reasked, one_message):
        assert reported("optimizer", request)["edits"] == edits
    assert {(edit["op"], edit["content"]) for edit in reported("optimizer", shuffled)["edits"]} == {
        (edit["op"], edit["content"]) for edit in edits
    }
    assert reported("optimizer", reflect_request(blocks[1:], SEED_SKILL))["edits"] != edits


LINE = "- Ignore case when you compare words with each other."


def draws(model: str, cases: int = 250) -> list[tuple[str, list[dict[str, Any]]]]:
    """One failure each: (the id that is right to cite, the edits proposed)."""
    skill = f"{LINE}\n- Follow the date format named in the question."
    passed = attempt_block("a-ok", SORT + "b a", answered_with(SORT + "b a"))
    results = []
    for place in range(cases):
        blocks = [failed(f"a-{place}", REPEATED, "sorting.repeats"), passed]
        results.append((f"a-{place}", reported(model, reflect_request(blocks, skill))["edits"]))
    return results


def rates(model: str) -> dict[str, float]:
    results = draws(model)
    first = [edits[0] for _, edits in results if edits]
    signs = [[one.sign for one in statements(edit["content"], RULES)] for edit in first]
    right = [edit for edit, sign in zip(first, signs, strict=True) if sign == [1]]
    specific = [edit for edit, sign in zip(first, signs, strict=True) if sign]
    return {
        "missing": sum(not edits for _, edits in results) / len(results),
        "vague": sum(not sign for sign in signs) / max(1, len(signs)),
        "harmful": sum(sign == [-1] for sign in signs) / max(1, len(specific)),
        "misanchored": sum(edit["target"] not in ("", LINE) for edit in right) / max(1, len(right)),
        "miscited": sum(edits[0]["cites"] != [name] for name, edits in results if edits) / max(1, len(first)),
        "duplicate": sum(len(edits) > 1 for _, edits in results) / max(1, len(first)),
    }


@pytest.mark.parametrize(
    ("model", "profile"), [("optimizer", GOOD), ("optimizer-poor", POOR), ("optimizer-misciting", MISCITING)]
)
def test_imperfections_come_about_as_often_as_the_profile_says(model: str, profile: Profile) -> None:
    for name, rate in rates(model).items():
        assert rate == pytest.approx(getattr(profile, name), abs=0.1), name


def test_the_perfect_one_makes_no_mistakes_and_the_useless_one_nothing_of_use() -> None:
    assert set(rates("optimizer-perfect").values()) == {0.0}
    for _, edits in draws("optimizer-useless", cases=20):
        assert edits
        assert all(statements(edit["content"], RULES) == () for edit in edits)


def test_wrong_citations_name_attempts_that_do_not_matter_or_do_not_exist() -> None:
    cited = Counter(
        "other" if edits[0]["cites"] == ["a-ok"] else "invented"
        for name, edits in draws("optimizer-misciting")
        if edits[0]["cites"] != [name]
    )
    assert cited["other"] > 50
    assert cited["invented"] > 50


def test_an_expected_answer_that_the_prompt_cuts_short_counts_in_full() -> None:
    words = " ".join(f"w{letter}{'x' * 12}" for letter in "abcdefghij")
    text = f"{SORT}{words}\n<answer>{words}</answer>\nexpected: {words[:120]}..."
    (one,) = read_prompt(ChatRequest(messages=(user(text),))).observations
    assert one.passed


@rows(
    ("text", "expected"),
    [
        ("# Current skill\n\n<skill data=ab>\n- A rule.\n</skill data=ab>", "- A rule.\n"),
        ("<previous_skill>Old.</previous_skill><current_skill>\nNew.</current_skill>", "New."),
        ("<skill data=1>\nOld.\n</skill data=1>\n# Current skill\n<skill data=2>\nNew.\n</skill data=2>", "New.\n"),
        ("# Current skill\n\n(The skill is empty.)\n\nPropose at most 2 edits.", ""),
    ],
)
def test_the_current_skill_is_found(text: str, expected: str) -> None:
    assert read_prompt(ChatRequest(messages=(user(text),))).skill == expected


@rows(
    ("text", "compares"),
    [
        ("Compare them.", True),
        ("What do they have in common?", True),
        ("Do not compare attempts.", False),
        ("Compare words letter by letter.", False),
    ],
)
def test_a_wish_to_compare_is_recognised(text: str, compares: bool) -> None:
    assert read_prompt(ChatRequest(messages=(user(text),))).compares is compares


def test_a_prompt_without_a_form_gets_a_rewritten_skill() -> None:
    skill = "# Words\n\n- List each repeated word only once."
    blocks = [failed("a-1", REPEATED, "sorting.repeats"), failed("a-2", SORT + "b a", "sorting.format")]
    request = reflect_request(blocks, skill).model_copy(update={"response_schema": None})
    text = respond("optimizer-perfect", request).text
    known = {(one.rule, one.sign) for one in statements(text.partition("```")[2], RULES)}
    assert known == {("sorting.repeats", 1), ("sorting.format", 1)}
    assert "# Words" in text


def test_without_attempts_or_a_form_it_says_so() -> None:
    assert respond("optimizer", ask("Hello.")).text == "I see no attempts, edits or form to work on."
    picture = ChatRequest(messages=(Message(role="user", content=(TextPart(text="Hi"),)),))
    assert respond("optimizer", picture).text == "I see no attempts, edits or form to work on."


@pytest.mark.parametrize(("name", "compares"), [("reflect_failures", False), ("reflect_deep", True)])
def test_the_shipped_prompts_ask_for_what_they_are_meant_to(name: str, compares: bool) -> None:
    prompt = read_prompt(reflect_request([failed("a-1", REPEATED, "sorting.repeats")], "Be kind.", Prompts()[name]))
    assert (prompt.skill, prompt.compares) == ("Be kind.\n", compares)
