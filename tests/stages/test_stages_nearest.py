"""Which tasks a text is about."""

from etude.records import Task
from etude.stages.shared.nearest import nearest_first

TASKS = [
    Task(id=name, input=text)
    for name, text in {
        "a": "Write the amount of the form.",
        "b": "Write the AMOUNT and the city of the form.",
        "c": "Write the date of the form.",
        "d": "Write the date and the street of the form.",
        "e": "Write the weight of the form.",
    }.items()
]


def names(*texts: str) -> list[str]:
    return [task.id for task in nearest_first(TASKS, texts)]


def test_each_text_has_one_and_the_others_keep_their_order() -> None:
    assert names("The date goes last.", "The date goes first.", "Amount: twice.") == ["c", "d", "a", "b", "e"]


def test_a_text_of_common_words_or_of_none_is_about_no_task() -> None:
    assert names("Write the form.", "Be brief!", "") == ["a", "b", "c", "d", "e"]
    assert nearest_first([], ["The date."]) == []
