"""The simulated optimizer: diagnosis, proposals, imperfections."""

from collections import Counter

from simulation_prompts import SHALLOW, answered_with, ask, attempt_block, reflect_request, reported

from etude.records import assistant, user
from etude.simulation import SEED_SKILL, make_tasks, respond
from etude.simulation.families import RULES
from etude.simulation.rules import statements


def taught_by(reply) -> Counter:
    return Counter((one.rule, one.sign) for edit in reply["edits"] for one in statements(edit["content"], RULES))


def failed(id: str, task: str, *faults: str) -> str:
    return attempt_block(id, task, answered_with(task, *faults), f"expected: {answered_with(task)}; got: something")


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
