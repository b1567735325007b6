"""The true score of a skill: an expectation in closed form, nothing is sampled."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import product

from etude.records import Task
from etude.simulation.families import FAMILIES, Families, Family, find_tasks
from etude.simulation.families.family import relevant, right_answer
from etude.simulation.noise import Reliability, draw_faults, fault_rates
from etude.simulation.text import same_answer


def expected_hard(
    target: Reliability, skill_text: str, tasks: Iterable[Task], families: Families = FAMILIES
) -> float:
    """Mean over the tasks of the probability that the answer equals the gold answer; 0 for tasks it cannot do.
    Raises ValueError: there are no tasks."""
    chances = [_chance(target, skill_text, task, families) for task in tasks]
    if not chances:
        raise ValueError("a true score needs at least one task")
    return sum(chances) / len(chances)


def best_skill(tasks: Iterable[Task], families: Families = FAMILIES) -> str:
    """Every rule of the families that the tasks are of, by its first statement, and nothing else."""
    of_tasks = dict.fromkeys(found.family for task in tasks for found in find_tasks(task.input, families)[-1:])
    return "".join(f"- {rule.statements[0]}\n" for family in of_tasks for rule in family.rules)


def _chance(target: Reliability, skill_text: str, task: Task, families: Families) -> float:
    found = find_tasks(task.input, families)
    if not found:
        return 0.0
    family, text = found[-1].family, found[-1].text
    gold = task.gold if isinstance(task.gold, str) else right_answer(family, text)
    if target.steady:
        faults = draw_faults(target, family, text, skill_text, 0)
        return float(same_answer(family.solve(text, faults).answer, gold))
    rates = list(fault_rates(target, family, text, skill_text).values())
    chance = 0.0
    for wrong in _right_outcomes(family, text, gold):
        weight = 1.0
        for rate, is_wrong in zip(rates, wrong, strict=True):
            weight *= rate if is_wrong else 1 - rate
        chance += weight
    return chance


@lru_cache(maxsize=8192)
def _right_outcomes(family: Family, text: str, gold: str) -> tuple[tuple[bool, ...], ...]:
    """The combinations of faults, in the order of `relevant`, that still give the gold answer."""
    steps = [rule.id for rule in relevant(family, text)]
    return tuple(
        wrong
        for wrong in product((False, True), repeat=len(steps))
        if same_answer(
            family.solve(text, frozenset(step for step, bad in zip(steps, wrong, strict=True) if bad)).answer, gold
        )
    )
