"""Why attempts failed: which faults of which steps would give exactly the wrong answers that were given.

One trajectory often has several explanations. Read on its own, the one that comes to mind first is taken, and a
subtle rule never comes first. Compared with others, the one that explains most failures and is not contradicted by
attempts that passed is taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etude.simulation.families import Family, telling_rules
from etude.simulation.families.family import Faults, explanations, relevant
from etude.simulation.optimizer.reading import Observation
from etude.simulation.rules import TeachableRule, Teaching

PASS_WEIGHT = 0.5
"""How much a passed attempt in which a step mattered counts against blaming that step."""


@dataclass(frozen=True)
class Diagnosis:
    """A step that goes wrong because the skill does not teach its rule, or teaches the opposite."""

    family: Family
    rule: TeachableRule
    attempts: tuple[str, ...]
    """Ids of the failures it explains."""


def rules_concerned(observations: Sequence[Observation]) -> tuple[TeachableRule, ...]:
    """The rules that a skill for these tasks may state."""
    families = dict.fromkeys(one.task.family for one in observations)
    return tuple(dict.fromkeys(rule for family in families for rule in telling_rules(family)))


def diagnose(
    observations: Sequence[Observation], known: Mapping[str, Teaching], *, compare: bool, taught: bool = False
) -> list[Diagnosis]:
    """Findings for the failed observations, most attempts first. Rules that are taught need no edit, since there the
    skill was right and the attempt was not: they are found with `taught`, and the others without."""
    blamed: dict[tuple[Family, str], list[str]] = {}
    for observation in observations:
        if observation.failed:
            for rule in _blame(observation, observations, known, compare):
                if (known[rule] == Teaching.TAUGHT) is taught:
                    blamed.setdefault((observation.task.family, rule), []).append(observation.id)
    findings = [
        Diagnosis(family, family.rule(rule), tuple(dict.fromkeys(filter(None, ids))))
        for (family, rule), ids in blamed.items()
    ]
    return sorted(findings, key=lambda finding: (-len(finding.attempts), finding.rule.id))


def _blame(
    observation: Observation, observations: Sequence[Observation], known: Mapping[str, Teaching], compare: bool
) -> Faults:
    fits = _explanations(observation)
    if not fits:
        return frozenset()
    if compare:
        others = [other for other in observations if other.task.family is observation.task.family]
        return max(fits, key=lambda faults: _weight(faults, others, known))
    family = observation.task.family
    plain = [faults for faults in fits if not any(family.rule(rule).subtle for rule in faults)]
    open_ones = [faults for faults in plain if any(known[rule] != Teaching.TAUGHT for rule in faults)]
    if open_ones or plain:
        return min(open_ones or plain, key=lambda faults: _haste(family, faults))
    return frozenset(rule for rule in fits[0] if len(fits[0]) == 1 or not family.rule(rule).subtle)


def _explanations(observation: Observation) -> tuple[Faults, ...]:
    if observation.task.family.prose:
        return (observation.blamed,) if observation.blamed else ()
    assert observation.answer is not None
    return explanations(observation.task.family, observation.task.text, observation.answer)


def _haste(family: Family, faults: Faults) -> tuple[int, ...]:
    order = [rule.id for rule in family.rules]
    return tuple(sorted(order.index(rule) for rule in faults))


def _weight(faults: Faults, others: Sequence[Observation], known: Mapping[str, Teaching]) -> tuple[bool, float, int]:
    """What the skill does not teach comes first, then what covers much and contradicts little."""
    is_open = all(known[rule] != Teaching.TAUGHT for rule in faults)
    return is_open, min(_coverage(rule, others) for rule in faults), -len(faults)


def _coverage(rule: str, others: Sequence[Observation]) -> float:
    covered = sum(1.0 for other in others if other.failed and any(rule in faults for faults in _explanations(other)))
    against = sum(
        PASS_WEIGHT
        for other in others
        if other.passed and any(rule == step.id for step in relevant(other.task.family, other.task.text))
    )
    return covered - against
