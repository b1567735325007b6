"""Families of tasks that the simulated world knows."""

from functools import lru_cache

from etude.errors import ConfigError, did_you_mean
from etude.simulation.families.briefs import Briefs
from etude.simulation.families.counting import Counting
from etude.simulation.families.dates import Dates
from etude.simulation.families.family import Family, FoundTask, find_in
from etude.simulation.families.parcels import Parcels
from etude.simulation.families.slips import Slips
from etude.simulation.families.sorting import Sorting
from etude.simulation.families.summaries import Summaries
from etude.simulation.rules import TeachableRule

IN_TURN: tuple[Family, ...] = (Sorting(), Counting(), Dates())
"""The world of many small rules that hardly touch each other."""
FAMILIES: tuple[Family, ...] = (*IN_TURN, Parcels(), Slips(), Briefs(), Summaries())
RULES: tuple[TeachableRule, ...] = tuple(rule for family in FAMILIES for rule in family.rules)
_OF_EXACT_ANSWERS = tuple(rule for family in FAMILIES if not family.prose for rule in family.rules)


def families_named(name: str | None) -> tuple[Family, ...]:
    """The family of that name; the three `IN_TURN` without a name. Raises ConfigError: no family has that name."""
    if name is None:
        return IN_TURN
    chosen = tuple(family for family in FAMILIES if family.name == name)
    if not chosen:
        names = [family.name for family in FAMILIES]
        raise ConfigError(f"unknown family of simulated tasks {name!r}", hint=did_you_mean(name, names))
    return chosen


@lru_cache(maxsize=1024)
def find_tasks(text: str) -> tuple[FoundTask, ...]:
    """All tasks in a text, whatever is around them, in order."""
    found = [task for family in FAMILIES for task in find_in(text, family)]
    return tuple(sorted(found, key=lambda task: task.start))


def telling_rules(family: Family) -> tuple[TeachableRule, ...]:
    """The rules by which a text is known to teach, for tasks of the family: rules about prose use words that many
    texts have, so they tell for their own family only."""
    return family.rules if family.prose else _OF_EXACT_ANSWERS


def rule_by_id(rule: str) -> TeachableRule:
    """The rule of that id."""
    return next(known for known in RULES if known.id == rule)
