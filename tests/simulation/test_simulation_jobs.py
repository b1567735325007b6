"""What else the simulated optimizer does: merging, ranking, repair, slow update, meta skill; and the judge."""

import json

from simulation_prompts import PATCH_FORM, answered_with, attempt_block, fenced, form, reported

from etude.records import ChatRequest, ResponseSchema, system, user
from etude.simulation import respond
from etude.simulation.families import RULES
from etude.simulation.rules import Teaching, statements, states
from rows import rows

SORT = "Sort the following words alphabetically: List: "
KEEP, KEEP_TOO, DROP = (
    "Keep repeated words, all of them.",
    "Never remove duplicates from the list.",
    "List each repeated word only once.",
)
CASE = "Ignore case when you compare words."
VAGUE = "Be careful and check your work."


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


def test_edits_that_say_the_same_are_united_with_all_citations() -> None:
    reply = reported(
        "optimizer", merge_request([edit(KEEP, "a-1")], [edit(KEEP_TOO, "a-2", "a-1"), edit(CASE, "a-3")])
    )
    assert [(one["content"], one["cites"]) for one in reply["edits"]] == [(KEEP_TOO, ["a-1", "a-2"]), (CASE, ["a-3"])]


def test_a_replacement_takes_in_an_addition_that_says_the_same() -> None:
    reply = reported(
        "optimizer", merge_request([edit(KEEP, "a-1", "a-2")], [edit(KEEP_TOO, "a-3", op="replace", target=DROP)])
    )
    assert [(one["op"], one["target"], len(one["cites"])) for one in reply["edits"]] == [("replace", DROP, 3)]


def test_of_contradictory_edits_the_better_supported_stays() -> None:
    reply = reported("optimizer", merge_request([edit(KEEP, "a-1")], [edit(DROP, "a-2", "a-3")]))
    assert [one["content"] for one in reply["edits"]] == [DROP]
    reply = reported("optimizer", merge_request([edit(KEEP, "a-1")], [edit(DROP, "a-2")]))
    assert [one["content"] for one in reply["edits"]] == [KEEP]


def test_vague_edits_are_dropped_by_a_good_merger_and_kept_by_a_useless_one() -> None:
    patches = [edit(VAGUE, "a-1"), edit(CASE, "a-2")], [edit(VAGUE, "a-3")]
    assert [one["content"] for one in reported("optimizer-perfect", merge_request(*patches))["edits"]] == [CASE]
    kept = reported("optimizer-useless", merge_request(*patches))["edits"]
    assert [(one["content"], one["cites"]) for one in kept] == [(VAGUE, ["a-1", "a-3"]), (CASE, ["a-2"])]


def test_deletions_of_different_lines_stay_apart_and_limits_are_kept() -> None:
    first, second = (edit("", "a-1", op="delete", target=target) for target in ("One line.", "Another line."))
    reply = reported("optimizer", merge_request([first, second], [edit("", "a-2", op="delete", target="One line.")]))
    assert [(one["target"], one["cites"]) for one in reply["edits"]] == [
        ("One line.", ["a-1", "a-2"]),
        ("Another line.", ["a-1"]),
    ]
    limited = merge_request([first], [second, edit(CASE, "a-1")], extra="Choose at most 2 edits.\n")
    assert len(reported("optimizer", limited)["edits"]) == 2


def test_edits_tried_earlier_and_broken_json_are_not_merged() -> None:
    ledger = fenced("ledger", json.dumps({"step": 1, **edit(DROP, "a-1"), "outcome": "rejected"}))
    request = merge_request([edit(KEEP, "a-1")], [edit(CASE, "a-2")], extra=f'{ledger}\n{{"op": broken [ \n')
    assert {one["content"] for one in reported("optimizer", request)["edits"]} == {KEEP, CASE}


def test_edits_are_ranked_specific_and_well_supported_first() -> None:
    rows = [
        {"index": 0, **edit(VAGUE, "a-1", "a-2", "a-3")},
        {"index": 1, **edit(CASE, "a-1")},
        {"index": 2, **edit(KEEP, "a-1", "a-2")},
        {"index": 3, **edit("", "a-4", "a-5", "a-6", op="delete", target="x")},
    ]
    text = f"# Edits\n\n{fenced('edits', chr(10).join(map(json.dumps, rows)))}\n\nChoose at most 2 edits."
    schema = form("ranking", {"order": {"type": "array", "items": {"type": "integer"}}})
    assert reported("optimizer", asking(text, schema)) == {"order": [3, 2, 1, 0]}
    shown = ChatRequest(messages=(system('Reply with JSON: {"order": [integer]}'), user(text)))
    assert reported("optimizer", shown) == {"order": [3, 2, 1, 0]}


def test_the_index_may_stand_around_the_edit_or_be_missing() -> None:
    schema = form("ranking", {"reasoning": {"type": "string"}, "selected_indices": {"items": {"type": "integer"}}})
    nested = json.dumps([{"index": 4, "edit": edit(VAGUE)}, {"index": 7, "edit": edit(CASE)}])
    assert reported("optimizer", asking(nested, schema))["selected_indices"] == [7, 4]
    bare = json.dumps([edit(VAGUE), edit(CASE)])
    assert reported("optimizer", asking(bare, schema))["selected_indices"] == [1, 0]


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


GUIDANCE = form("guidance", {"reasoning": {"type": "string"}, "guidance": {"type": "string"}})


def pairs(guidance: str = "", skill: str = "- Be kind.") -> str:
    repeats, marked, upper = SORT + "b a b", SORT + "b can't a", SORT + "beta alps Axel"
    return f"""# Previous skill

{fenced("skill", KEEP)}

# Current skill

{fenced("skill", skill)}

{guidance}

# regressed: 1 tasks

Under the previous skill:
{attempt_block("p-1", repeats, "a b b")}
Under the current skill:
{attempt_block("c-1", repeats, answered_with(repeats, "sorting.repeats"))}

# persistent_fail: 1 tasks

Under the previous skill:
{attempt_block("p-2", marked, answered_with(marked, "sorting.marks"))}
Under the current skill:
{attempt_block("c-2", marked, answered_with(marked, "sorting.marks"))}

# improved: 1 tasks

Under the previous skill:
{attempt_block("p-3", upper, answered_with(upper, "sorting.case"))}
Under the current skill:
{attempt_block("c-3", upper, answered_with(upper))}

# stable_success: 4 tasks"""


def test_guidance_answers_what_got_worse_and_what_never_worked() -> None:
    reply = reported("optimizer-perfect", asking(pairs(), GUIDANCE))
    lines = reply["guidance"].splitlines()
    assert all(line.startswith("- ") for line in lines)
    taught = {(one.rule, one.sign) for one in statements(reply["guidance"], RULES)}
    assert taught == {("sorting.repeats", 1), ("sorting.marks", 1)}


def test_guidance_keeps_what_earlier_guidance_teaches_and_does_not_repeat_the_skill() -> None:
    earlier = fenced("guidance", f"- {CASE}\n- {VAGUE}")
    skill = f"- Keep punctuation inside a word.\n- {CASE}"
    reply = reported("optimizer-perfect", asking(pairs(earlier, skill), GUIDANCE))
    known = states(reply["guidance"], RULES)
    assert {rule for rule, state in known.items() if state is Teaching.TAUGHT} == {"sorting.case", "sorting.repeats"}
    assert VAGUE not in reply["guidance"]


MEMORY = form("memory", {"reasoning": {"type": "string"}, "memory": {"type": "string"}})


def test_the_memory_tells_which_kinds_of_edits_were_accepted() -> None:
    rows = [
        {**edit(KEEP), "outcome": "accepted, validation +0.050"},
        {**edit(CASE), "outcome": "rejected, validation -0.020"},
        {**edit(VAGUE), "outcome": "rejected"},
        {**edit(VAGUE), "outcome": "not made (missed)"},
    ]
    text = fenced("ledger", "\n".join(map(json.dumps, rows))) + "\nWhat was accepted elsewhere does not count."
    memory = reported("optimizer", asking(text, MEMORY))["memory"]
    assert "one rule of the task: 1 accepted, 1 rejected" in memory
    assert "General advice: 0 accepted, 1 rejected" in memory
    assert statements(memory, RULES) == ()


GRADE = form("grade", {"score": {"type": "number"}, "reason": {"type": "string"}})


@rows(("model", "answer", "score"), [("judge", "A  b.", 1.0), ("judge", "b a", 0.0), ("optimizer", "a b", 1.0)])
def test_the_judge_solves_the_task_and_compares(model: str, answer: str, score: float) -> None:
    text = f"<rubric-0a>\nRight?\n</rubric-0a>\n<task-0a>\n{SORT}b a\n</task-0a>\n<answer-0a>\n{answer}\n</answer-0a>"
    reply = reported(model, asking(text, GRADE))
    assert reply["score"] == score
    assert reply["reason"] == ("The answer is right." if score else "The answer should be 'a b'.")


def test_the_judge_cannot_tell_for_unknown_tasks() -> None:
    text = "<task>\nWrite a poem.\n</task>\n<answer>\nRoses.\n</answer>"
    reply = reported("judge", asking(text, GRADE))
    assert reply["score"] == 0.5
    assert "cannot tell" in reply["reason"]
    plain = respond("judge", ChatRequest(messages=(user(text),)))
    assert plain.text.startswith("Score: 0.5\n")
