"""What else the simulated optimizer does: merging, ranking, repair, slow update, meta skill; and the judge."""

import json

from simulation_prompts import PATCH_FORM, fenced, form, reported

from etude.records import ChatRequest, ResponseSchema, system, user
from rows import rows

SORT = "Sort the following words alphabetically: List: "
KEEP, DROP = ("Keep repeated words, all of them.", "List each repeated word only once.")
CASE = "Ignore case when you compare words."


def edit(content: str, *cites: str, op: str = "append", target: str = "") -> dict[str, object]:
    return {"op": op, "target": target, "content": content, "reason": "r", "cites": list(cites)}


def merge_request(*patches: list[dict[str, object]], extra: str = "") -> ChatRequest:
    shown = "\n\n".join(fenced("patch", json.dumps({"reasoning": "", "edits": edits}, indent=1)) for edits in patches)
    return ChatRequest(
        messages=(system("Merge the patches. Reply with JSON."), user(f"# Patches\n\n{extra}{shown}")),
        response_schema=PATCH_FORM,
    )


def asking(text: str, schema: ResponseSchema) -> ChatRequest:
    return ChatRequest(messages=(system("Reply with JSON."), user(text)), response_schema=schema)


def test_of_contradictory_edits_the_better_supported_stays() -> None:
    reply = reported("optimizer", merge_request([edit(KEEP, "a-1")], [edit(DROP, "a-2", "a-3")]))
    assert [one["content"] for one in reply["edits"]] == [DROP]
    reply = reported("optimizer", merge_request([edit(KEEP, "a-1")], [edit(DROP, "a-2")]))
    assert [one["content"] for one in reply["edits"]] == [KEEP]


def test_a_missed_anchor_is_found_where_one_line_is_similar() -> None:
    skill = f"# Words\n\n- {CASE}\n- Do something else entirely."
    rows = [
        {"index": 2, **edit(KEEP, "a-1", op="insert_after", target="- Ignore the case when you compare two words")},
        {"index": 5, **edit(KEEP, "a-1", op="insert_after", target="## Checklist before answering")},
    ]
    text = f"# Current skill\n\n{fenced('skill', skill)}\n\n{fenced('edits', chr(10).join(map(json.dumps, rows)))}"
    anchor = {"type": "object", "properties": {"index": {"type": "integer"}, "target": {"type": "string"}}}
    schema = form("anchors", {"anchors": {"type": "array", "items": anchor}})
    assert reported("optimizer", asking(text, schema)) == {"anchors": [{"index": 2, "target": f"- {CASE}"}]}


GRADE = form("grade", {"score": {"type": "number"}, "reason": {"type": "string"}})


@rows(("model", "answer", "score"), [("judge", "A  b.", 1.0), ("judge", "b a", 0.0), ("optimizer", "a b", 1.0)])
def test_the_judge_solves_the_task_and_compares(model: str, answer: str, score: float) -> None:
    text = f"<rubric-0a>\nRight?\n</rubric-0a>\n<task-0a>\n{SORT}b a\n</task-0a>\n<answer-0a>\n{answer}\n</answer-0a>"
    reply = reported(model, asking(text, GRADE))
    assert reply["score"] == score
    assert reply["reason"] == ("The answer is right." if score else "The answer should be 'a b'.")
