"""Which tasks a text is about."""

from etude.records import Task
from etude.stages.shared.nearest import about, common_words, nearest_first

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


def test_the_task_with_the_rarest_word_of_a_text_comes_first() -> None:
    assert names("Give the city, and the date, in capitals.") == ["b", "a", "c", "d", "e"]


def test_each_text_has_one_and_the_others_keep_their_order() -> None:
    assert names("The date goes last.", "The date goes first.", "Amount: twice.") == ["c", "d", "a", "b", "e"]


def test_a_text_of_common_words_or_of_none_is_about_no_task() -> None:
    assert names("Write the form.", "Be brief!", "") == ["a", "b", "c", "d", "e"]
    assert nearest_first([], ["The date."]) == []


def test_a_text_is_about_a_task_if_it_has_a_word_of_it_that_half_of_the_tasks_lack() -> None:
    inputs = ["Fill in form 1: city, owner.", "Fill in form 2: owner.", "Fill in form 3: weight.", "Fill in form 4."]
    tasks = [Task(id=f"t{number}", input=text) for number, text in enumerate(inputs)]
    common = common_words(tasks)
    assert common == {"fill", "in", "form", "owner"}
    lines = ["- Write the city in capitals.", "- Keep each form short.", "- The weight goes twice over.", ""]
    assert [about(task, common, lines) for task in tasks] == [[0], [], [2], []]
