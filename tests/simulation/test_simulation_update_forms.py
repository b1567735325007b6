"""The simulated optimizer in other update modes: suggestions, whole documents, an edit budget, routed failures."""

import json
from typing import Any

from simulation_prompts import SHALLOW, answered_with, attempt_block, fenced

from etude.models.wrappers.schema import strict_schema
from etude.published.update_modes.forms import SuggestionsReply
from etude.records import ChatRequest, ResponseSchema, system, user
from etude.simulation import respond
from etude.simulation.families import RULES
from etude.simulation.rules import Teaching, states
from etude.stages.shared.proposals import Proposals

SORT = "Sort the following words alphabetically: List: "
REPEATED, MARKED = f"{SORT}beta alps beta", f"{SORT}beta can't alps"
KEEP, DROP, CASE = (
    "Keep repeated words, all of them.",
    "List each repeated word only once.",
    "Ignore case when you compare words.",
)


def reported(text: str, schema: dict[str, Any], model: str = "optimizer-perfect", instructions: str = SHALLOW) -> Any:
    form = ResponseSchema(name="form", body=schema)
    request = ChatRequest(messages=(system(instructions), user(text)), response_schema=form)
    return json.loads(respond(model, request).text)


def read(
    form: type[Proposals],
    *blocks: str,
    skill: str = "- Be kind.",
    model: str = "optimizer-perfect",
    how: str = SHALLOW,
) -> Any:
    text = "\n\n".join((f"# Current skill\n\n{fenced('skill', skill)}", "# Attempts", *blocks))
    return reported(text, strict_schema(form), model, how)


def failed(id: str, task: str, *faults: str) -> str:
    return attempt_block(id, task, answered_with(task, *faults))


def taught(text: str) -> set[str]:
    return {rule for rule, state in states(text, RULES).items() if state is Teaching.TAUGHT}


REPEATS = failed("a-1", REPEATED, "sorting.repeats")


def test_a_rule_that_misleads_is_to_be_clarified_and_one_that_contradicts_another_removed() -> None:
    (row,) = read(SuggestionsReply, REPEATS, skill=f"- {DROP}")["suggestions"]
    assert (row["op"], row["target"], taught(row["content"])) == ("clarify", DROP, {"sorting.repeats"})
    (row,) = read(SuggestionsReply, REPEATS, skill=f"- {DROP}\n- {KEEP}")["suggestions"]
    assert (row["op"], row["target"]) == ("remove", DROP)


def row(op: str, content: str, *cites: str, target: str = "") -> dict[str, object]:
    return {"op": op, "target": target, "content": content, "reason": "", "cites": list(cites)}
