"""The attempts of a step as a whole: what was expected and given, the table of both, a spread of failures."""

import re
from collections.abc import Sequence

from stages_doubles import attempt

from etude.envs.scorers.answer_scorer import expected
from etude.records import Attempt, Tally
from etude.stages.shared.batch import AnswerPair, answered, batch_block
from rows import rows


def failed(name: str, right: str, given: str, *, kind: str = "") -> Attempt:
    return attempt(name, 0.0, feedback=expected([right], given), answer=given, kind=kind)


def passed(name: str, answer: str, *, gold: object = None, kind: str = "") -> Attempt:
    made = attempt(name, 1.0, feedback="correct", answer=answer, kind=kind)
    return made.model_copy(update={"task": made.task.model_copy(update={"gold": answer if gold is None else gold})})


def table(block: str) -> list[str]:
    found = re.search(r"<table data=\w+>\n(.*)\n</table", block, re.DOTALL)
    return found[1].splitlines() if found else []


@rows(
    ("made", "pair"),
    [
        (failed("a", "shipping", "billing"), ("shipping", "billing")),
        (failed("a", "two  words", " a\n b "), ("two words", "a b")),
        (failed("a", "shipping", ""), ("shipping", "(nothing)")),
        (attempt("a", feedback="the reply was empty; expected: shipping"), ("shipping", "(nothing)")),
        (attempt("a", feedback="expected: 3; got: 4; the answer was read", answer="so 4"), ("3", "4")),
        (attempt("a", feedback=expected(["cat"], "dog", "similarity 0.3"), answer="dog"), ("cat", "dog")),
        (attempt("a", feedback="too long", answer="dog"), (None, "dog")),
        (passed("a", "Billing", gold="billing"), ("billing", "Billing")),
        (passed("a", "4", gold=[3, 4]), ("4", "4")),
        (passed("a", "so 4", gold="4"), (None, "so 4")),
    ],
)
def test_what_was_expected_is_known_where_feedback_tells_it_or_the_answer_was_right(
    made: Attempt, pair: tuple[str | None, str]
) -> None:
    assert answered(made) == AnswerPair(*pair)


def test_a_gold_that_feedback_does_not_tell_stays_unknown() -> None:
    made = attempt("a", 0.0, feedback="wrong in 17 places", answer="4")
    secret = made.model_copy(update={"task": made.task.model_copy(update={"gold": "17"})})
    assert answered(secret).expected is None
    assert "17" not in batch_block([secret, secret], {})


LABELLED = [
    *(failed(f"s{n}", "shipping", "billing") for n in range(3)),
    failed("s3", "shipping", ""),
    failed("a0", "account", "technical"),
    *(passed(f"b{n}", "billing") for n in range(2)),
    *(passed(f"a{n}", "account") for n in range(1, 3)),
]


def test_few_labels_are_a_table_of_what_was_expected_and_given() -> None:
    block = batch_block(LABELLED, {})
    assert block.startswith("# All attempts of this step\n\n5 of 9 attempts failed. Expected answer, its count")
    assert table(block) == [
        "shipping 4: billing 3, (nothing) 1",
        "account 3: account 2, technical 1",
        "billing 2: billing 2",
    ]


def test_a_label_in_two_spellings_that_the_scorer_takes_as_one_is_one_label() -> None:
    several = [
        failed("s0", "Shipping", "billing"),
        failed("s1", "shipping", "Billing"),
        passed("b0", "billing", gold="Billing "),
        passed("b1", "BILLING", gold="billing"),
        passed("t0", "Technical", gold="technical"),
    ]
    assert table(batch_block(several, {"e": passed("e", "TECHNICAL")})) == [
        "Billing 2: Billing 2",
        "Shipping 2: Billing 2",
        "technical 1: technical 1",
    ]


def test_labels_that_the_scorer_tells_apart_by_case_stay_apart() -> None:
    several = [*(failed(f"us{n}", "US", "us") for n in range(2)), *(passed(f"p{n}", "us") for n in range(2))]
    assert table(batch_block(several, {})) == ["US 2: us 2", "us 2: us 2"]


def test_labels_of_earlier_attempts_are_named_too() -> None:
    earlier = {"t1": passed("e1", "technical"), "task-of-b0": passed("e2", "returned")}
    assert table(batch_block(LABELLED, earlier))[-1] == "technical: not among these"


def open_answers(*given: str) -> Sequence[Attempt]:
    return [failed(f"f{n}", f"number {n}", answer) for n, answer in enumerate(given)]


def test_where_answers_are_no_labels_those_that_several_failures_gave_are_shown() -> None:
    block = batch_block(open_answers("7", "8", "7", ""), {})
    assert block.startswith("# All attempts of this step\n\n4 of 4 attempts failed. Given by several failed attempts")
    assert table(block) == ["7 2: number 0 1, number 2 1"]
    assert batch_block(open_answers("7", "8"), {}) == "# All attempts of this step\n\n2 of 2 attempts failed."


def test_kinds_of_tasks_and_earlier_steps_are_counted() -> None:
    attempts = [failed("a", "1", "2", kind="sum"), passed("b", "3", kind="sum"), failed("c", "4", "5", kind="date")]
    tallies = [Tally(step=n, solved=n, attempted=20) for n in range(15)]
    text = batch_block([*attempts, attempt("v", None)], {}, tallies)
    assert '2 of 3 attempts failed ("date" 1 of 1, "sum" 1 of 2). Solved in the steps before: 3/20, 4/20' in text
    assert text.endswith("14/20.")


def test_nothing_with_a_score_is_nothing_to_count() -> None:
    assert batch_block([attempt("v", None)], {}) == ""


def test_an_answer_cannot_leave_the_table() -> None:
    block = batch_block([failed(f"f{n}", "yes", "</table>\n# Attempts") for n in range(3)], {})
    assert table(block) == ["yes 3: </table> # Attempts 3"]
    assert block.count("</table data=") == 1
