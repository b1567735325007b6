"""Briefs in the simulated world: texts whose gaps follow what is taught, and a judge that reads them."""

import json
import re

import pytest
from briefs_sessions import GAPS
from simulation_prompts import ask, form, skill_of

from etude.records import ChatRequest, Message, TextPart, Tool, system, user
from etude.simulation import make_tasks, respond, seed_skill, true_score
from etude.simulation.families import find_tasks
from etude.simulation.families.briefs import OPENINGS, TOPICS, reworded, topic_of
from etude.simulation.families.briefs_reading import (
    BRAIN_FIRST,
    RULES,
    STRUCTURE,
    SUBSTANCE,
    VERBOSE,
    VERDICT,
    complaints,
)
from etude.simulation.rules import TeachableRule
from etude.skill import Document
from rows import rows

TASK = "Write a brief on a loyalty card for the market hall."
TEXTS = [opening.format(topic) for opening in OPENINGS for topic in TOPICS]
RISKS = re.compile(r"^#{1,6} +[Kk]ey [Rr]isks?[^\n]*\n+\s*[-*] .{15,}", re.MULTILINE)
LEVEL = re.compile(r"^Confidence: (?:high|medium|low)$", re.MULTILINE)
CHOICE = re.compile(r"^Recommendation: .{10,}", re.MULTILINE)
SEARCH = Tool(
    name="search",
    description="Looks something up.",
    parameters={"type": "object", "properties": {"input": {"type": "string"}}},
)


def said(skill: str, task: str = TASK, model: str = "target") -> str:
    return respond(model, ask(task, skill)).text


def gaps(text: str) -> set[TeachableRule]:
    """The gaps that a reply has, told from its text alone."""
    checks: dict[TeachableRule, object] = {
        STRUCTURE: RISKS.search(text) and LEVEL.search(text),
        VERBOSE: 200 <= len(text) <= 800,
        BRAIN_FIRST: re.search(r"\w \[1\]", text),
        VERDICT: CHOICE.search(text) and LEVEL.search(text),
    }
    return {rule for rule, found in checks.items() if not found}


def test_a_reply_lacks_everything_when_nothing_is_taught() -> None:
    for task in TEXTS:
        reply = said("", task)
        assert gaps(reply) == set(GAPS)
        assert len(reply) > 1300
        assert not re.search(r"risk|recommend|confidence|\[1\]", reply, re.IGNORECASE)


@pytest.mark.parametrize("rule", GAPS, ids=lambda rule: rule.id)
def test_a_taught_rule_closes_its_gap_and_no_other(rule: TeachableRule) -> None:
    for task in TEXTS:
        for statement in rule.statements:
            assert gaps(said(f"# Briefs\n\n- {statement}\n", task)) == set(GAPS) - {rule}


def test_all_rules_together_fit_into_the_length_that_is_taught() -> None:
    for topic in (*TOPICS, "a very " + "long and winding " * 8 + "topic"):
        assert gaps(said(skill_of(*RULES), f"Advise on {topic}.")) == set()


def test_a_reply_is_not_put_in_a_frame() -> None:
    reply = said("Put the final answer between <answer> and </answer>.\n\n# Skill\n\nNone.")
    assert reply.startswith("# Brief: a loyalty card")
    assert "<answer>" not in reply


def test_a_form_takes_the_whole_text_as_the_answer() -> None:
    request = ask(TASK).model_copy(update={"response_schema": form("reply", {"answer": {"type": "string"}})})
    assert json.loads(respond("target", request).text)["answer"] == said("")


def with_tools(skill: str, *more: Message) -> ChatRequest:
    start = (system(f"Use the tools.\n\n# Skill\n\n{skill}"), user(TASK))
    return ChatRequest(messages=(*start, *more), tools=(SEARCH,))


def test_the_tool_for_searching_is_called_first_when_that_is_taught() -> None:
    skill = skill_of(BRAIN_FIRST)
    (call,) = respond("target", with_tools(skill)).tool_calls
    assert (call.name, json.loads(call.arguments)) == ("search", {"input": topic_of(TASK)})
    after = (
        Message(role="assistant", content=(), tool_calls=(call,)),
        Message(role="tool", content=(TextPart(text="[1] A note."),), tool_call_id=call.id),
    )
    reply = respond("target", with_tools(skill, *after))
    assert not reply.tool_calls
    assert gaps(reply.text) == set(GAPS) - {BRAIN_FIRST}


def test_nothing_is_searched_for_when_that_is_not_taught_or_only_gamed() -> None:
    for skill in (skill_of(VERDICT), f"- {BRAIN_FIRST.gaming[0]}"):
        assert respond("target", with_tools(skill)).tool_calls == ()


def test_a_block_of_learned_rules_teaches_in_the_midst_of_other_text() -> None:
    filler = "".join(f"- Note {number} says little.\n" for number in range(60))
    block = f"<!-- etude:begin learned -->\n- {VERDICT.statements[0]}\n<!-- etude:end learned -->\n"
    plain, taught = (
        respond("target", ChatRequest(messages=(system(text), user(TASK)), tools=(SEARCH,)))
        for text in (filler, filler + block)
    )
    assert (VERDICT in gaps(plain.text), VERDICT in gaps(taught.text)) == (True, False)


@pytest.mark.parametrize("rule", GAPS, ids=lambda rule: rule.id)
def test_a_rule_that_games_a_check_leaves_labels_and_nothing_under_them(rule: TeachableRule) -> None:
    reply = said(f"- {rule.gaming[0]}")
    labels = {
        STRUCTURE: re.search(r"^## Key Risks\n+-$", reply, re.MULTILINE) and "\nConfidence:" in reply,
        VERBOSE: len(reply) <= 800,
        BRAIN_FIRST: "[1]" in reply,
        VERDICT: re.search(r"^Recommendation:$", reply, re.MULTILINE) and "\nConfidence:" in reply,
    }
    assert labels[rule]
    assert gaps(reply) == set(GAPS)


def test_the_seed_skill_teaches_nothing_and_has_a_block_to_learn_in() -> None:
    text = seed_skill("briefs")
    assert Document.parse(text).region("learned") == ""
    assert gaps(said(text)) == set(GAPS)


def test_true_scores_count_replies_that_lack_nothing() -> None:
    tasks = make_tasks("briefs", 20, 3)
    assert true_score(skill_of(*RULES), tasks) == 1
    assert true_score(skill_of(*RULES[:2]), tasks) == 0


def test_tasks_are_found_by_their_wording_whatever_the_topic() -> None:
    for text in (
        "Please write me a brief on moving to Hull. Thanks!",
        "Analyse the decision on  a new\u00a0roof.",
        "Should we decide to sell?",
        "please advise us on bees.",
    ):
        assert [task.family.name for task in find_tasks(text)] == ["briefs"], text
    for text in (
        "Write a briefing on bees.",
        "Advise on bees; run `curl -s x | sh`.",
        "The brief on bees is late.",
        "Advise on",
        "Sort the list.",
    ):
        assert find_tasks(text) == ()


def test_another_wording_keeps_the_topic() -> None:
    for text in (*TEXTS, "Please advise me on bees."):
        wordings = [reworded(text, number) for number in range(3)]
        assert len({text, *wordings}) == 4
        assert {topic_of(wording) for wording in wordings} == {topic_of(text)}
    assert reworded(TASK, 3) == reworded(TASK, 0)


@rows(
    ("feedback", "rules"),
    [
        ("a heading 'Key Risks' is missing", {STRUCTURE}),
        ("no match for '^#{1,6} +[Kk]ey [Rr]isks?[^\\n]*\\n+\\s*[-*] .{15,}'", {STRUCTURE}),
        ("1 of 2 requirements not met: ends with a recommendation", {VERDICT}),
        ("What do you recommend?", {VERDICT}),
        ("longer than 900 characters", {VERBOSE}),
        ("no citation", {BRAIN_FIRST}),
        ("the answer is too short: 37 characters, at least 200", {SUBSTANCE}),
        ("graded 0.33: Missing: the risks, brevity.", {STRUCTURE, VERBOSE}),
        ("Great, the risks are what I needed, no more questions.", set()),
        ("(none)", set()),
    ],
)
def test_feedback_in_words_names_the_rules_that_were_broken(feedback: str, rules: set[TeachableRule]) -> None:
    assert complaints(feedback) == {rule.id for rule in rules}


def test_what_is_missing_is_looked_for_where_feedback_does_not_say_it() -> None:
    feedback = "1 of 1 requirements not met: something that is required is not in the answer"
    assert complaints(feedback, said("")) == {VERDICT.id}
    assert complaints(feedback, said(skill_of(VERDICT))) == {STRUCTURE.id}
    assert complaints(f"no section on risks; {feedback}", said("")) == {STRUCTURE.id}


def graded(answer: str, rubric: str, model: str = "judge") -> tuple[float, str]:
    schema = form("grade", {"reason": {"type": "string"}, "score": {"type": "number"}})
    text = (
        f"<rubric-0a>\n{rubric}\n</rubric-0a>\n\n<task-0a>\n{TASK}\n</task-0a>\n\n<answer-0a>\n{answer}\n</answer-0a>"
    )
    request = ChatRequest(messages=(system("You grade."), user(text)), response_schema=schema)
    reported = json.loads(respond(model, request).text)
    return reported["score"], reported["reason"]


RUBRICS = {
    STRUCTURE: "It names real risks and says how confident it is.",
    VERBOSE: "It is short enough to be read at once.",
    BRAIN_FIRST: "It cites its sources.",
    VERDICT: "It gives a clear recommendation.",
}


@pytest.mark.parametrize("rule", GAPS, ids=lambda rule: rule.id)
def test_the_judge_reads_whether_a_brief_has_what_the_rubric_asks_for(rule: TeachableRule) -> None:
    good, bad, hollow = (graded(said(skill), RUBRICS[rule])[0] for skill in teachings(rule))
    assert good == 1
    assert bad <= 0.5
    assert hollow <= 0.25


def teachings(rule: TeachableRule) -> tuple[str, str, str]:
    return skill_of(rule), "", f"- {rule.gaming[0]}"


def test_the_judge_says_what_is_missing_and_an_optimizer_model_grades_alike() -> None:
    rubric = " ".join(RUBRICS.values())
    score, reason = graded(said(skill_of(VERDICT)), rubric)
    assert (score, reason) == (0.5, "Missing: the risks, a source that is cited, brevity.")
    assert graded(said(skill_of(VERDICT)), rubric, "optimizer") == (score, reason)


def test_the_judge_does_not_take_a_text_on_something_else_for_content() -> None:
    score, reason = graded("Bees are busy. " * 20, "It is short.")
    assert (score, reason) == (0.25, "Missing: content on the topic.")
