"""The families of tasks: recognised, solved, spoiled by faults, and made so that hasty reading misleads."""

import random

import pytest
from simulation_prompts import answered_with

from etude.errors import ConfigError
from etude.simulation import SEED_SKILL, make_tasks, seed_skill
from etude.simulation.families import FAMILIES, RULES, find_tasks
from etude.simulation.families.family import relevant, right_answer
from etude.simulation.rules import statements
from rows import rows

SORT = "Sort the following words alphabetically: List: "


@rows(
    ("task", "answer"),
    [
        (SORT + "pear apple fig", "apple fig pear"),
        ("Put these words in alphabetical order: delta, alpha, charlie", "alpha charlie delta"),
        (SORT + "carpet Apple car can't apple", "Apple apple can't car carpet"),
        ("I have a flute, a piano, four stoves, and two drums. How many musical instruments do I have?", "4"),
        ("I have a fridge and 3 chairs. How many objects do I have?", "4"),
        ("I have two heads of broccoli, a cow, and an onion. How many vegetables do I have?", "3"),
        ("I have moths, and a dog. How many animals do I have?", "2"),
        ("What date is 30 days after January 31, 2023? Answer in MM/DD/YYYY.", "03/02/2023"),
        ("What date is 1 day before March 1, 2024? Answer in YYYY-MM-DD.", "2024-02-29"),
        ("What date is 1 month after January 31, 1900? Answer in DD/MM/YYYY.", "28/02/1900"),
        ("How many days are there from December 30, 1999 to January 2, 2000, counting both days?", "4"),
        ("How many days are there from December 30, 1999 to January 2, 2000?", "3"),
        ("Write the date July 4, 1976 in the format YYYY-MM-DD.", "1976-07-04"),
        ("Write the British date 02/01/1987 in the format MM/DD/YYYY.", "01/02/1987"),
    ],
)
def test_the_procedure_solves_tasks(task: str, answer: str) -> None:
    assert answered_with(task) == answer


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_made_tasks_are_recognised_and_every_rule_matters_in_some(family) -> None:
    rng = random.Random(5)
    texts = [family.make(rng) for _ in range(300)]
    assert all([(task.family, task.text) for task in find_tasks(text)] == [(family, text)] for text in texts)
    used = {rule.id for text in texts for rule in relevant(family, text)}
    assert used == {rule.id for rule in family.rules}


def test_tasks_are_found_wherever_they_stand_and_whatever_surrounds_them() -> None:
    wrapped = "Write the date July 4, 1976 in the format YYYY-MM-DD.".replace(" ", "\n")
    text = f'x\n{{"task": "{SORT}b a"}}\n{wrapped}\nI have a dog and two cats.\nHow many\n animals do I have? <end>'
    assert [(task.family.name, right_answer(task.family, task.text)) for task in find_tasks(text)] == [
        ("sorting", "a b"),
        ("dates", "1976-07-04"),
        ("counting", "3"),
    ]
    assert find_tasks("I have two ideas. How many plans do I have? Sort it out.") == ()


def test_made_tasks_are_different_reproducible_and_the_first_of_more() -> None:
    tasks = make_tasks(None, 90, 4)
    assert make_tasks(None, 90, 4) == tasks
    assert make_tasks(None, 30, 4) == tasks[:30]
    assert len({task.input for task in tasks}) == len({task.id for task in tasks}) == 90
    assert [task.type for task in tasks[:6]] == ["sorting", "counting", "dates"] * 2
    assert {task.type for task in make_tasks("dates", 5, 4)} == {"dates"}
    assert make_tasks("dates", 5, 4) != make_tasks("dates", 5, 5)
    assert all(task.gold == answered_with(task.input) for task in tasks)
    assert {seed_skill(name) for name in (None, "sorting", "counting", "dates")} == {SEED_SKILL}
    assert [one.sign for one in statements(SEED_SKILL, RULES)].count(-1) == 1
    with pytest.raises(ConfigError, match="unknown family of simulated tasks 'date'\nhint: did you mean 'dates'"):
        make_tasks("date", 1, 1)
