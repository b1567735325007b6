"""The simulated optimizer in another update mode: suggestions."""

from typing import Any

from simulation_prompts import SHALLOW, answered_with, attempt_block, fenced, reported

from etude.models.wrappers.schema import strict_schema
from etude.published.update_modes.forms import SuggestionsReply
from etude.records import ChatRequest, ResponseSchema, system, user
from etude.simulation.families import RULES
from etude.simulation.rules import Teaching, states

SORT = "Sort the following words alphabetically: List: "
REPEATED = f"{SORT}beta alps beta"
KEEP, DROP = "Keep repeated words, all of them.", "List each repeated word only once."


def suggested(skill: str) -> Any:
    """The only suggestion for a skill under which repeated words were dropped."""
    text = "\n\n".join((f"# Current skill\n\n{fenced('skill', skill)}", "# Attempts", REPEATS))
    form = ResponseSchema(name="form", body=strict_schema(SuggestionsReply))
    request = ChatRequest(messages=(system(SHALLOW), user(text)), response_schema=form)
    (row,) = reported("optimizer-perfect", request)["suggestions"]
    return row


def taught(text: str) -> set[str]:
    return {rule for rule, state in states(text, RULES).items() if state is Teaching.TAUGHT}


REPEATS = attempt_block("a-1", REPEATED, answered_with(REPEATED, "sorting.repeats"))


def test_a_rule_that_misleads_is_to_be_clarified_and_one_that_contradicts_another_removed() -> None:
    row = suggested(f"- {DROP}")
    assert (row["op"], row["target"], taught(row["content"])) == ("clarify", DROP, {"sorting.repeats"})
    row = suggested(f"- {DROP}\n- {KEEP}")
    assert (row["op"], row["target"]) == ("remove", DROP)
