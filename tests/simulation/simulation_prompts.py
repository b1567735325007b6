"""Requests as programs send them, for the tests of the simulated world."""

import json
from collections.abc import Sequence
from typing import Any

from etude.records import ChatRequest, Reply, ResponseSchema, Task, system, user
from etude.simulation import respond
from etude.simulation.endpoint import Endpoint
from etude.simulation.families import IN_TURN, find_tasks
from etude.simulation.rules import TeachableRule

SHALLOW = "Read each attempt on its own terms and propose edits. Reply with JSON."
DEEP = "Compare the attempts with each other: what do the failures have in common? Propose edits. Reply with JSON."


def skill_of(*rules: TeachableRule) -> str:
    """A skill that states these rules once."""
    return "\n".join(f"- {rule.statements[0]}" for rule in rules)


SMALL_RULES = tuple(rule for family in IN_TURN for rule in family.rules)
"""The many rules that hardly touch each other."""
FULL_SKILL = skill_of(*SMALL_RULES)


def skill_without(*rules: str) -> str:
    """Every small rule but these."""
    return skill_of(*(rule for rule in SMALL_RULES if rule.id not in rules))


def task_of(text: str, id: str = "t") -> Task:
    return Task(id=id, input=text)


def ask(task: Task | str, skill: str = "", seed: int | None = None) -> ChatRequest:
    text = task if isinstance(task, str) else task.input
    return ChatRequest(messages=(system(skill), user(text)), seed=seed)


def answer_of(reply: Reply) -> str:
    return reply.text.rpartition("Answer: ")[2]


def answered_with(task: str, *faults: str) -> str:
    """What the procedure comes to with these faults."""
    found = find_tasks(task)[-1]
    return found.family.solve(found.text, frozenset(faults)).answer


def attempt_block(id: str, task: str, answer: str, feedback: str = "(none)") -> str:
    return (
        f'<attempt id="{id}" outcome="completed">\n<task>\n{task}\n</task>\n'
        f"<transcript>\n[assistant] Answer: {answer}\n</transcript>\n"
        f"<answer>\n{answer}\n</answer>\n<feedback>\n{feedback}\n</feedback>\n</attempt>"
    )


def fenced(name: str, text: str) -> str:
    return f"<{name} data=0f>\n{text}\n</{name} data=0f>"


EDIT = {
    "type": "object",
    "properties": {
        "op": {"type": "string", "enum": ["append", "insert_after", "replace", "delete"]},
        "target": {"type": "string"},
        "content": {"type": "string"},
        "reason": {"type": "string"},
        "cites": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["op", "target", "content", "reason", "cites"],
    "additionalProperties": False,
}
PATCH = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "edits": {"type": "array", "items": EDIT}},
    "required": ["reasoning", "edits"],
    "additionalProperties": False,
}


def form(name: str, properties: dict[str, Any]) -> ResponseSchema:
    return ResponseSchema(name=name, body={"type": "object", "properties": properties, "required": list(properties)})


PATCH_FORM = ResponseSchema(name="patch", body=PATCH)  # type: ignore[arg-type]


def reflect_request(
    blocks: Sequence[str], skill: str = "", instructions: str = SHALLOW, extra: str = ""
) -> ChatRequest:
    shown = f"# Current skill\n\n<skill data=0a>\n{skill}\n</skill data=0a>" if skill else "# Current skill\n\n(none)"
    body = "\n\n".join((shown, extra, "# Attempts", *blocks))
    return ChatRequest(messages=(system(instructions), user(body)), response_schema=PATCH_FORM)


def root(endpoint: Endpoint) -> str:
    return endpoint.url.removesuffix("/v1")


def reported(model: str, request: ChatRequest) -> Any:
    return json.loads(respond(model, request).text)
