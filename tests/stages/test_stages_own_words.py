"""A task's own words are found in an edit, and the wording that tasks share is not taken for a copy."""

import random

import pytest

from etude.records import Task
from etude.records.tasks import for_each_target
from etude.stages.shared.own_words import OwnWords

TASKS = [
    Task(id="train-0017", input="Sort these words in the order of the alphabet please: brave echo lamp ink"),
    Task(id="train-0018", input="Sort these words in the order of the alphabet please: zebra apple tin can"),
]
COPY = "For 'order of the Alphabet, please: brave echo lamp ink' answer brave."


def test_an_edit_that_copies_a_task_is_found_out() -> None:
    found = OwnWords(TASKS)
    assert found.copied(COPY, "") == {"train-0017"}
    assert found.why(COPY, "") == "it copies 'order of the alphabet please brave echo lamp'"


def test_wording_that_all_tasks_share_is_no_copy() -> None:
    text = "When asked to sort these words in the order of the alphabet please, do."
    assert OwnWords(TASKS).copied(text, "") == set()
    assert OwnWords(TASKS).why(text, "") == ""


def test_what_stands_in_the_skill_already_is_no_copy() -> None:
    assert OwnWords(TASKS).copied(COPY, f"# Skill\n\n{COPY}") == set()


def test_a_task_of_several_targets_is_one_task() -> None:
    tasks = for_each_target(TASKS, ["a", "b", "c"])
    assert OwnWords(tasks).copied(COPY, "") == {"train-0017@a", "train-0017@b", "train-0017@c"}


@pytest.mark.parametrize("letter", "wé")
def test_every_run_of_eight_words_is_found_wherever_it_stands(letter: str) -> None:
    words = [f"{letter}{n}" for n in range(40)]
    found = OwnWords([Task(id="t", input=" ".join(words)), Task(id="other", input="Nothing alike.")])
    for start in range(len(words)):
        run = words[start : start + 8]
        assert found.copied(f"So: {', '.join(run)}!", "") == ({"t"} if len(run) == 8 else set())


def test_only_runs_of_one_task_count_among_texts_that_have_much_in_common() -> None:
    chance = random.Random(1)
    tasks = [Task(id=f"t{n}", input=" ".join(chance.choices("abc", k=300))) for n in range(6)]
    found = OwnWords(tasks)
    for _ in range(200):
        run = chance.choices("abc", k=8)
        owners = {task.id for task in tasks if f" {' '.join(run)} " in f" {task.input} "}
        assert found.copied(" ".join(run), "") == (owners if len(owners) == 1 else set())
