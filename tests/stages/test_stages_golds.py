"""Gold answers that stand in an edit are seen, and what a rule can say for its own reasons is not taken for one."""

from etude.records import Task
from etude.records.tasks import for_each_target
from etude.stages.shared.golds import Golds
from rows import rows

LONG = "the parcel goes by rail to the harbour and from there by ship to the north"


def golds(*answers: object) -> Golds:
    return Golds([Task(id=f"t{n}", input=f"Task {n}: urgent or later?", gold=gold) for n, gold in enumerate(answers)])


@rows(
    ("gold", "text"),
    [
        ("apple, Banana", "- Here the answer is `APPLE,banana`."),
        ("1,234", "It is 1234."),
        (1234.0, "It is 1,234."),
        (["Oslo fjord", "the fjord"], "Say: the fjord"),
        ("so 3 + 4 is seven\n#### 391", "Answer 391 here."),
        ({"city": "Oslo", "days": 3}, 'Reply {"city": "Oslo", "days": 3}.'),
        (LONG, "Write that it goes by rail to the harbour and from there on by ship."),
    ],
)
def test_an_answer_is_found_whatever_its_case_blanks_and_punctuation(gold: object, text: str) -> None:
    found = golds(gold, "something else", "and another", "and more")
    assert found.copied(text, "") == {"t0"}
    assert found.why(text, "") == "it copies the gold answer of 't0'"
    assert found.copied(text, f"# Skill\n\n{text}") == set()


@rows("gold", ["B", "yes", 12, None, True, "urgent", {"checks": [{"op": "contains", "arg": "total"}]}])
def test_short_answers_and_what_tasks_name_themselves_are_not_taken_for_copies(gold: object) -> None:
    text = "- B: say yes, 12 or True where it is urgent; the answer contains the total."
    assert golds(gold, "something else", "and another").copied(text, "") == set()


def test_a_part_of_a_word_is_not_an_answer() -> None:
    assert golds("apple", "x", "y").copied("Pineapples are no apples.", "") == set()


def test_an_answer_of_one_task_is_its_own_however_many_targets_attempt_it() -> None:
    tasks = [Task(id=f"t{n}", input=f"Task {n}", gold=f"answer number {n}") for n in range(4)]
    found = Golds(for_each_target(tasks, ["a", "b", "c"]))
    assert found.copied("Say: answer number 2.", "") == {"t2@a", "t2@b", "t2@c"}
