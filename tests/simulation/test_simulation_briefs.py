"""Briefs in the simulated world: texts whose gaps follow what is taught, and a judge that reads them."""

import json
import re

from briefs_sessions import GAPS
from simulation_prompts import ask, form, skill_of

from etude.records import ChatRequest, Message, TextPart, Tool, system, user
from etude.simulation import respond, seed_skill
from etude.simulation.families.briefs import BRAIN_FIRST, STRUCTURE, VERBOSE, VERDICT, complaints, topic_of
from etude.simulation.rules import TeachableRule
from etude.skill import Document

TASK = "Write a brief on a loyalty card for the market hall."
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


def test_a_block_of_learned_rules_teaches_in_the_midst_of_other_text() -> None:
    filler = "".join(f"- Note {number} says little.\n" for number in range(60))
    block = f"<!-- etude:begin learned -->\n- {VERDICT.statements[0]}\n<!-- etude:end learned -->\n"
    plain, taught = (
        respond("target", ChatRequest(messages=(system(text), user(TASK)), tools=(SEARCH,)))
        for text in (filler, filler + block)
    )
    assert (VERDICT in gaps(plain.text), VERDICT in gaps(taught.text)) == (True, False)


def test_the_seed_skill_teaches_nothing_and_has_a_block_to_learn_in() -> None:
    text = seed_skill("briefs")
    assert Document.parse(text).region("learned") == ""
    assert gaps(said(text)) == set(GAPS)


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


def test_the_judge_says_what_is_missing_and_an_optimizer_model_grades_alike() -> None:
    rubric = " ".join(RUBRICS.values())
    score, reason = graded(said(skill_of(VERDICT)), rubric)
    assert (score, reason) == (0.5, "Missing: the risks, a source that is cited, brevity.")
    assert graded(said(skill_of(VERDICT)), rubric, "optimizer") == (score, reason)
