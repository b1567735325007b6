"""A task's own words are found in an edit, and the wording that tasks share is not taken for a copy."""

from etude.records import Task
from etude.records.tasks import for_each_target
from etude.stages.shared.own_words import OwnWords

TASKS = [
    Task(id="train-0017", input="Sort these words in the order of the alphabet please: brave echo lamp ink"),
    Task(id="train-0018", input="Sort these words in the order of the alphabet please: zebra apple tin can"),
]
COPY = "For 'order of the Alphabet, please: brave echo lamp ink' answer brave."


def test_wording_that_all_tasks_share_is_no_copy() -> None:
    text = "When asked to sort these words in the order of the alphabet please, do."
    assert OwnWords(TASKS).copied(text, "") == set()
    assert OwnWords(TASKS).why(text, "") == ""


def test_what_stands_in_the_skill_already_is_no_copy() -> None:
    assert OwnWords(TASKS).copied(COPY, f"# Skill\n\n{COPY}") == set()


def test_a_task_of_several_targets_is_one_task() -> None:
    tasks = for_each_target(TASKS, ["a", "b", "c"])
    assert OwnWords(tasks).copied(COPY, "") == {"train-0017@a", "train-0017@b", "train-0017@c"}
