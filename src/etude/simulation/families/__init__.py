"""Families of tasks: what the world of the demo, the docs and the nights has."""

from functools import lru_cache

from etude.errors import ConfigError, did_you_mean
from etude.simulation.families.briefs import Briefs
from etude.simulation.families.counting import Counting
from etude.simulation.families.dates import Dates
from etude.simulation.families.family import Family, FoundTask, find_in
from etude.simulation.families.sorting import Sorting
from etude.simulation.families.summaries import Summaries
from etude.simulation.rules import TeachableRule

Families = tuple[Family, ...]

IN_TURN: Families = (Sorting(), Counting(), Dates())
"""Many small rules that hardly touch each other."""
FAMILIES: Families = (*IN_TURN, Briefs(), Summaries())


def families_named(name: str | None, families: Families = FAMILIES) -> Families:
    """The family of that name; the three `IN_TURN` without a name. Raises ConfigError: no family has that name."""
    if name is None:
        return IN_TURN
    chosen = tuple(family for family in families if family.name == name)
    if not chosen:
        hint = did_you_mean(name, [family.name for family in families])
        raise ConfigError(f"unknown family of simulated tasks {name!r}", hint=hint)
    return chosen


@lru_cache(maxsize=1024)
def find_tasks(text: str, families: Families = FAMILIES) -> tuple[FoundTask, ...]:
    """All tasks in a text, whatever is around them, in order."""
    found = [task for family in families for task in find_in(text, family)]
    return tuple(sorted(found, key=lambda task: task.start))


@lru_cache(maxsize=64)
def rules_in(families: Families) -> tuple[TeachableRule, ...]:
    """All rules of the families."""
    return tuple(rule for family in families for rule in family.rules)


RULES = rules_in(FAMILIES)


def telling_rules(family: Family) -> tuple[TeachableRule, ...]:
    """The rules by which a text is known to teach, for tasks of the family: one skill may be about all that are
    `IN_TURN`."""
    return rules_in(IN_TURN if family in IN_TURN else (family,))
