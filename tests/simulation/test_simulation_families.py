"""The families of tasks: recognised, solved, spoiled by faults, and made so that hasty reading misleads."""

import datetime
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation_prompts import answered_with, family_named

from etude.errors import ConfigError
from etude.simulation import SEED_SKILL, make_tasks, seed_skill
from etude.simulation.families import FAMILIES, RULES, find_tasks
from etude.simulation.families.family import explanations, relevant, right_answer
from etude.simulation.families.sorting import MARKED_WORDS, PREFIX_PAIRS, WORDS
from etude.simulation.families.things import KINDS, in_words, kind_of, plural
from etude.simulation.rules import statements
from rows import rows

SORT = "Sort the following words alphabetically: List: "
SUBTLE = {"sorting": "sorting.prefix", "counting": "counting.last", "dates": "dates.first_day"}


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


@rows(
    ("task", "fault", "answer"),
    [
        (SORT + "beta alps acid", "sorting.letters", "alps acid beta"),
        (SORT + "beta alps Axel", "sorting.case", "Axel alps beta"),
        (SORT + "h g f e d c b a", "sorting.complete", "b c d e f g h"),
        (SORT + "beta alps beta", "sorting.repeats", "alps beta"),
        (SORT + "beta can't alps", "sorting.marks", "alps beta can"),
        (SORT + "beta alps", "sorting.format", "1. alps 2. beta"),
        (SORT + "car carpet apple", "sorting.prefix", "apple carpet car"),
        ("I have a cow and a fish. How many animals do I have?", "counting.creatures", "1"),
        ("I have two plums and three grapes. How many fruits do I have?", "counting.berries", "2"),
        ("I have two yams and a stalk of celery. How many vegetables do I have?", "counting.measure", "2"),
        ("I have two flutes and a drum. How many musical instruments do I have?", "counting.percussion", "2"),
        ("I have two lamps and a cow. How many objects do I have?", "counting.living", "2"),
        ("I have two lamps and a bed. How many objects do I have?", "counting.numbers", "2"),
        ("I have two lamps and a bed. How many objects do I have?", "counting.articles", "2"),
        ("I have two lamps and a cow. How many animals do I have?", "counting.category", "3"),
        ("I have two lamps and a bed. How many objects do I have?", "counting.format", "three"),
        ("I have two lamps and a bed. How many objects do I have?", "counting.last", "2"),
        ("What date is 5 days after April 28, 2023? Answer in MM/DD/YYYY.", "dates.thirty", "05/02/2023"),
        ("What date is 5 days after February 26, 2023? Answer in MM/DD/YYYY.", "dates.february", "03/02/2023"),
        ("What date is 5 days after December 28, 2023? Answer in MM/DD/YYYY.", "dates.year", "01/02/2023"),
        ("Write the date July 4, 1976 in the format YYYY-MM-DD.", "dates.padding", "1976-7-4"),
        ("Write the date July 4, 1976 in the format YYYY-MM-DD.", "dates.order", "07/04/1976"),
        ("Write the British date 02/01/1987 in the format MM/DD/YYYY.", "dates.british", "02/01/1987"),
        ("How many days are there from May 1, 1999 to May 3, 1999, counting both days?", "dates.both_ends", "2"),
        ("What date is 1 month after January 31, 2023? Answer in MM/DD/YYYY.", "dates.month_end", "03/03/2023"),
        ("What date is 5 days after April 28, 2023? Answer in MM/DD/YYYY.", "dates.first_day", "05/02/2023"),
    ],
)
def test_each_fault_is_really_carried_out(task: str, fault: str, answer: str) -> None:
    assert answered_with(task, fault) == answer
    (found,) = find_tasks(task)
    assert fault in {rule.id for rule in relevant(found.family, found.text)}


def test_a_british_date_that_can_only_be_read_one_way_is_not_misread() -> None:
    task = "Write the British date 25/01/1987 in the format MM/DD/YYYY."
    assert answered_with(task, "dates.british") == answered_with(task) == "01/25/1987"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_made_tasks_are_recognised_and_every_rule_matters_in_some(family) -> None:
    rng = random.Random(5)
    texts = [family.make(rng) for _ in range(300)]
    assert all([(task.family, task.text) for task in find_tasks(text)] == [(family, text)] for text in texts)
    used = {rule.id for text in texts for rule in relevant(family, text)}
    assert used == {rule.id for rule in family.rules}


@pytest.mark.parametrize("name", list(SUBTLE))
def test_the_subtle_rule_always_has_another_explanation_in_a_single_trajectory(name: str) -> None:
    family, subtle, others = family_named(name), SUBTLE[name], set()
    cases = 0
    for task in make_tasks(name, 300, 9):
        if subtle in {rule.id for rule in relevant(family, task.input)}:
            wrong = family.solve(task.input, frozenset((subtle,))).answer
            decoys = {rule for faults in explanations(family, task.input, wrong) for rule in faults} - {subtle}
            assert decoys
            others |= decoys
            cases += 1
    assert cases > 60
    assert len(others) > 1, "one decoy for all would not be refuted by comparing"


def test_explanations_are_single_faults_else_pairs_else_none() -> None:
    family = family_named("sorting")
    task = SORT + "beta can't alps beta"
    assert explanations(family, task, "alps beta can't") == (frozenset({"sorting.repeats"}),)
    assert explanations(family, task, "alps beta can") == (frozenset({"sorting.repeats", "sorting.marks"}),)
    assert explanations(family, task, "something else") == ()


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


def test_no_word_begins_another_so_that_only_pairs_are_about_prefixes() -> None:
    every = (*WORDS, *MARKED_WORDS)
    assert [(a, b) for a in every for b in every if a != b and b.startswith(a)] == []
    assert all(long.startswith(short) and long != short for short, long in PREFIX_PAIRS)


@rows(("number", "words"), [(0, "zero"), (20, "twenty"), (42, "forty-two"), (100, "100")])
def test_numbers_are_written_out(number: int, words: str) -> None:
    assert in_words(number) == words


def test_things_are_known_in_singular_and_plural() -> None:
    for kind in KINDS:
        for thing in (*kind.plain, *kind.doubtful):
            assert kind_of(thing) is kind_of(plural(thing)) is kind
    assert (plural("mouse"), plural("blackberry"), plural("donkey"), plural("peach")) == (
        *("mice", "blackberries", "donkeys", "peaches"),
    )
    assert kind_of("spaceship").name == "objects"


@given(st.lists(st.sampled_from((*WORDS, *MARKED_WORDS)), min_size=2, max_size=15))
def test_sorting_keeps_all_words_and_orders_them(words: list[str]) -> None:
    assert answered_with(SORT + " ".join(words)).split() == sorted(words)


@given(st.dates(datetime.date(1000, 1, 1), datetime.date(9990, 1, 1)), st.integers(1, 400))
def test_counting_days_agrees_with_the_calendar(day: datetime.date, count: int) -> None:
    later = day + datetime.timedelta(days=count)
    name = f"{day:%B} {day.day}, {day.year}"
    end = f"{later:%B} {later.day}, {later.year}"
    assert answered_with(f"What date is {count} days after {name}? Answer in YYYY-MM-DD.") == later.isoformat()
    assert answered_with(f"What date is {count} days before {end}? Answer in YYYY-MM-DD.") == day.isoformat()
    assert answered_with(f"How many days are there from {name} to {end}?") == str(count)
