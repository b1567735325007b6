"""Families of tasks that the simulated world knows."""

from functools import lru_cache

from skillgrad.simulation.families.base import Family, FoundTask, find_in
from skillgrad.simulation.families.counting import Counting
from skillgrad.simulation.families.dates import Dates
from skillgrad.simulation.families.sorting import Sorting
from skillgrad.simulation.rules import Rule

__all__ = ["FAMILIES", "RULES", "Family", "FoundTask", "find_tasks", "rule_by_id"]

FAMILIES: tuple[Family, ...] = (Sorting(), Counting(), Dates())
RULES: tuple[Rule, ...] = tuple(rule for family in FAMILIES for rule in family.rules)


@lru_cache(maxsize=1024)
def find_tasks(text: str) -> tuple[FoundTask, ...]:
    """All tasks in a text, whatever is around them, in order."""
    found = [task for family in FAMILIES for task in find_in(text, family)]
    return tuple(sorted(found, key=lambda task: task.start))


def rule_by_id(rule: str) -> Rule:
    """The rule of that id."""
    return next(known for known in RULES if known.id == rule)
