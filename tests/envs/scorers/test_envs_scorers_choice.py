import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs.scorers.choice import Choice, ChoiceOptions, read_label, read_options
from etude.errors import DataError
from etude.records import Task
from etude.testing.scorer import ScorerContract

QUESTION = "What is the date?\nOptions:\n(A) 12/11/1937\n(B) 12/25/1937\n(C) New York\n"
LISTED = {"A": "12/11/1937", "B": "12/25/1937", "C": "New York"}


def task(gold: object, text: str = QUESTION) -> Task:
    return Task(id="t", input=text, gold=gold)


class TestChoice(ScorerContract):
    def make_scorer(self) -> Choice:
        return Choice()

    def make_other_scorer(self) -> Choice:
        return Choice(ChoiceOptions(labels="AB"))

    def right(self) -> list[tuple[Task, str]]:
        return [
            (task("(B)"), "B"),
            (task("b"), "The answer is (B)."),
            (task("new york"), "C"),
            (task(["A", "B"]), "a"),
        ]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(task("B"), "A"), (task("B"), "I do not know"), (task("B"), "(A) or (B)?"), (task("B"), "D")]


@pytest.mark.parametrize(
    "answer",
    [
        "B",
        "(B)",
        "**B**",
        "$\\boxed{B}$",
        "\\text{B}",
        "Let me think.\n\nB",
        "**Answer:** (B)",
        "Answer:\nB",
        "The correct answer is option B, as A is too early.",
        "B) 12/25/1937",
        "Some thoughts.\n**B. 12/25/1937**",
        "12/25/1937",
        "It is 12/25/1937, of course.",
        "So I choose B here",
        "Clearly (B) fits.",
        "Option B fits",
    ],
)
def test_an_answer_can_name_its_choice_in_many_ways(answer: str) -> None:
    assert read_label(answer, LISTED, "ABC") == "B"


@pytest.mark.parametrize("answer", ["", "I think a dog", "both (A) and (B)", "New Yorker", "Z"])
def test_an_answer_without_a_clear_choice_has_none(answer: str) -> None:
    assert read_label(answer, LISTED, "ABC") is None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Q?\n(A) x\n(B) y z", {"A": "x", "B": "y z"}),
        ("A. foo\nB. bar", {"A": "foo", "B": "bar"}),
        ("[A] foo\n [B] bar", {"A": "foo", "B": "bar"}),
        ("Q? (A) x (B) y z", {"A": "x", "B": "y z"}),
        ("(B) x\n(C) y", {}),
        ("A. Smith wrote this.", {}),
    ],
)
def test_options_are_read_from_the_task(text: str, options: dict) -> None:
    assert read_options(text) == options


def test_labels_come_from_the_options_else_from_the_settings_else_all_letters() -> None:
    assert Choice().compare(task("F", "no list"), "F").hard == 1
    with pytest.raises(DataError, match="task 't': gold 'F' is neither a label out of ABC nor a listed option"):
        Choice().compare(task("F"), "F")
    with pytest.raises(DataError, match="is neither a label out of ABCD"):
        Choice(ChoiceOptions(labels="abcd")).compare(task("F", "no list"), "F")


def test_feedback_shows_labels_and_texts() -> None:
    assert Choice().compare(task("B"), "(A)").feedback == "expected: (B) 12/25/1937; got: (A) 12/11/1937"
    assert "no choice could be read" in Choice().compare(task("B"), "hm").feedback


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ABCab()[]{}.:* \nanswer$\\", max_size=80))
def test_what_is_read_is_always_a_label(text: str) -> None:
    assert read_label(text, LISTED, "ABC") in {"A", "B", "C", None}


@pytest.mark.parametrize("odd", ["*_", " ", "boxed{", "(", "(A) ", "answer "])
def test_the_time_to_read_an_answer_grows_with_its_length_only(odd: str) -> None:
    # Ends within moments, or, should a repetition be unbounded again, not for many minutes.
    assert read_label("answer" + odd * 100_000 + "?", LISTED, "BC") is None
    assert read_options("(A)" + odd * 100_000) == {}


def test_an_answer_that_repeats_the_task_chooses_nothing_until_it_says_more() -> None:
    task = Task(id="t", input="Which is a fruit?\n\n(A) stone\n(B) mud\n(C) apple", gold="C")
    scorer = Choice()
    assert scorer.compare(task, task.input).hard == 0
    assert scorer.compare(task, "(A) stone\n(B) mud\n(C) apple").hard == 0
    assert scorer.compare(task, f"{task.input}\n(C) apple").hard == 1
    assert scorer.compare(task, f"{task.input}\nC").hard == 1
