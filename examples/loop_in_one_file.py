"""The published loop in one file, for reading. With `search.policy: paper` the library does the same, with resume,
budgets, attempts that error and parallelism; what its default policy does instead: docs/method.md.

A skill is a Markdown text. A frozen target attempts tasks with it; an optimizer reads scored attempts and proposes
small edits; a gate keeps a candidate only if it scores strictly higher on validation tasks. Run it:

    python examples/loop_in_one_file.py

Both models are simulated here. To use real ones, replace `ask` by a call to your provider.
"""

import json
import math
import random

from etude.records import ChatRequest, ResponseSchema, Task, system, user
from etude.simulation import SEED_SKILL, make_tasks, respond, true_score

EPOCHS, BATCH, MINIBATCH, MAX_EDITS, MIN_EDITS = 3, 20, 8, 4, 2

PATCH = ResponseSchema(
    name="patch",
    body={
        "type": "object",
        "properties": {
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "op": {"type": "string"},
                        "target": {"type": "string"},
                        "content": {"type": "string"},
                        "cites": {"type": "array", "items": {"type": "string"}},
                    },
                },
            }
        },
    },
)


def ask(model: str, instructions: str, question: str, schema: ResponseSchema | None = None) -> str:
    """One model call."""
    request = ChatRequest(messages=(system(instructions), user(question)), response_schema=schema)
    return respond(model, request).text


def rollout(skill: str, tasks: list[Task]) -> list[tuple[Task, str, bool]]:
    """Attempt every task with the skill: (task, answer, solved)."""
    attempts = []
    for task in tasks:
        text = ask(
            "target", f"Put the final answer between <answer> and </answer>.\n\n# Skill\n\n{skill}", task.input
        )
        answer = text.split("<answer>")[-1].split("</answer>")[0].strip()
        attempts.append((task, answer, answer.casefold() == str(task.gold).casefold()))
    return attempts


def reflect(skill: str, failures: list[tuple[Task, str, bool]], budget: int) -> list[dict]:
    """Show failures to the optimizer, a minibatch at a time; every edit must cite the attempts it answers."""
    edits = []
    for start in range(0, len(failures), MINIBATCH):
        part = {f"a-{start + i}": attempt for i, attempt in enumerate(failures[start : start + MINIBATCH])}
        shown = "\n".join(
            f'<attempt id="{name}" outcome="failed">\n<task>\n{task.input}\n</task>\n<answer>\n{answer}\n</answer>\n'
            f"<feedback>\nexpected: {task.gold}\n</feedback>\n</attempt>"
            for name, (task, answer, _) in part.items()
        )
        question = f"# Current skill\n\n{skill}\n\nPropose at most {budget} edits.\n\n# Attempts\n\n{shown}"
        reply = ask("optimizer", "Improve the skill so that attempts like these succeed.", question, PATCH)
        edits += [edit for edit in json.loads(reply)["edits"] if set(edit["cites"]) & set(part)]
    return edits


def aggregate(edits: list[dict]) -> list[dict]:
    """One statement is one edit; its evidence is united."""
    merged: dict[tuple, dict] = {}
    for edit in edits:
        key = (edit["op"], edit["target"], edit["content"].casefold())
        first = merged.setdefault(key, {**edit, "cites": []})
        first["cites"] = sorted({*first["cites"], *edit["cites"]})
    return list(merged.values())


def select(edits: list[dict], budget: int) -> list[dict]:
    """Keep the best supported."""
    return sorted(edits, key=lambda edit: -len(edit["cites"]))[:budget]


def update(skill: str, edits: list[dict]) -> str:
    """Make the edits; one whose anchor is not there exactly once is missed."""
    for edit in edits:
        op, target, content = edit["op"], edit["target"], edit["content"].strip()
        if op == "append":
            skill = f"{skill.rstrip()}\n{content}\n"
        elif skill.count(target) == 1:
            new = {"insert_after": f"{target}\n{content}", "replace": content, "delete": ""}[op]
            skill = skill.replace(target, new)
    return skill


def score(skill: str, tasks: list[Task]) -> float:
    """Share of tasks solved."""
    return sum(solved for _, _, solved in rollout(skill, tasks)) / len(tasks)


def train(skill: str, train_tasks: list[Task], val_tasks: list[Task]) -> str:
    """The loop: rollout, reflect, aggregate, select, update, gate."""
    steps = EPOCHS * math.ceil(len(train_tasks) / BATCH)
    bar, step = score(skill, val_tasks), 0
    for epoch in range(EPOCHS):
        order = random.Random(epoch).sample(train_tasks, len(train_tasks))
        for start in range(0, len(order), BATCH):
            step += 1
            progress = (1 + math.cos(math.pi * step / steps)) / 2
            budget = round(MIN_EDITS + (MAX_EDITS - MIN_EDITS) * progress)
            failures = [attempt for attempt in rollout(skill, order[start : start + BATCH]) if not attempt[2]]
            candidate = update(skill, select(aggregate(reflect(skill, failures, budget)), budget))
            value = score(candidate, val_tasks) if candidate != skill else bar
            verdict = "accepted" if value > bar else "rejected"
            print(f"step {step:2} of {steps}: {len(failures):2} failures, validation {value:.3f}, {verdict}")
            if value > bar:
                skill, bar = candidate, value
    return skill


if __name__ == "__main__":
    tasks = make_tasks(None, 200, seed=1)
    trained = train(SEED_SKILL, tasks[:60], tasks[60:100])
    before, after = true_score(SEED_SKILL, tasks[100:]), true_score(trained, tasks[100:])
    print(f"\n{trained}\ntrue score on 100 unseen tasks, simulated: {before:.3f} -> {after:.3f}")
