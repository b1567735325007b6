"""What a family of tasks is: recognised by content, solved by a procedure whose steps can each go wrong."""

import random
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, cast

from etude.simulation.rules import TeachableRule, Teaching
from etude.simulation.text import same_answer, squeeze

Faults = frozenset[str]
"""Ids of the rules whose steps go wrong."""

SEED_SKILL = """\
---
name: everyday-tasks
description: Small everyday tasks with words, things and dates.
---

# Everyday tasks

- Read the task carefully and work step by step.
- Ignore case when you compare words: a capital letter counts the same as the small one.
- List each repeated word only once.
- Write day and month of a date with two digits.
- Keep the answer short.
"""


@dataclass(frozen=True)
class Solution:
    """What the procedure comes to."""

    answer: str
    work: str
    """A line or two of how it was found."""


class Family(ABC):
    """A kind of task. Task texts are white-space-folded matches of `pattern`."""

    name: str
    rules: tuple[TeachableRule, ...]
    """In the order in which a hasty reader blames them for a wrong answer."""
    pattern: re.Pattern[str]
    subject: str
    """A regular expression for what the description of a skill for these tasks speaks of."""
    skill: str = SEED_SKILL
    """A weak one to start from, with a wrong rule in it."""
    prose: bool = False
    """Answers are texts of several lines and the whole reply. None is the only right one: what a step that went wrong
    leaves behind is said by feedback (`blamed`), not by comparing answers."""

    @abstractmethod
    def solve(self, text: str, faults: Faults) -> Solution:
        """Carry out the procedure with the steps in `faults` done wrongly."""

    @abstractmethod
    def make(self, rng: random.Random) -> str:
        """A new task text."""

    def rule(self, id: str) -> TeachableRule:
        """The rule of that id."""
        return next(rule for rule in self.rules if rule.id == id)

    def untaught(self, rule: TeachableRule, known: Mapping[str, Teaching]) -> float:
        """How often the step of a rule that is not taught goes wrong, by what is known about the other rules."""
        del known
        return rule.untaught

    def match(self, text: str) -> re.Match[str]:
        """What the pattern finds in a task text."""
        found = self.pattern.search(text)
        assert found is not None
        return found

    def accepts(self, text: str) -> bool:
        """Whether a match of the pattern is a task of this family."""
        return bool(text)

    def kind(self, text: str) -> str:
        """The type of a task."""
        del text
        return self.name

    def looks_up(self, text: str, faults: Faults) -> str:
        """What to search for before anything is written, where there is a tool for that; empty for nothing."""
        del text, faults
        return ""

    def blamed(self, feedback: str, answer: str) -> Faults:
        """The steps that feedback on an answer in prose complains of."""
        del feedback, answer
        return frozenset()

    def grade(self, text: str, answer: str, rubric: str) -> tuple[float, str]:
        """How good an answer is, in [0, 1], and why."""
        del rubric
        right = right_answer(self, text)
        if same_answer(answer, right):
            return 1.0, "The answer is right."
        return 0.0, f"The answer should be {right!r}."


@dataclass(frozen=True)
class FoundTask:
    """A task found in a text, at [start, end)."""

    family: Family
    text: str
    start: int
    end: int


def find_in(text: str, family: Family) -> list[FoundTask]:
    """All tasks of the family in the text, in order."""
    found: list[FoundTask] = []
    for match in family.pattern.finditer(text):
        task = squeeze(match.group())
        if family.accepts(task):
            found.append(FoundTask(family, task, match.start(), match.end()))
    return found


@lru_cache(maxsize=8192)
def right_answer(family: Family, text: str) -> str:
    """The answer when every step is done right."""
    return family.solve(text, frozenset()).answer


@lru_cache(maxsize=8192)
def relevant(family: Family, text: str) -> tuple[TeachableRule, ...]:
    """The rules whose fault alone spoils this task."""
    right = right_answer(family, text)
    return tuple(
        rule for rule in family.rules if not same_answer(family.solve(text, frozenset((rule.id,))).answer, right)
    )


@lru_cache(maxsize=8192)
def explanations(family: Family, text: str, answer: str) -> tuple[Faults, ...]:
    """The faults that lead to a wrong answer: all single ones that do, else all pairs, else nothing."""
    steps = [rule.id for rule in relevant(family, text)]
    for size in (1, 2):
        fits = tuple(
            faults
            for faults in (frozenset(group) for group in combinations(steps, size))
            if same_answer(family.solve(text, faults).answer, answer)
        )
        if fits:
            return fits
    return ()


_FOLDER = Path(__file__).parent


@cache
def table(family: str, folder: Path = _FOLDER) -> dict[str, Any]:
    """What stands in the file of a family."""
    return tomllib.loads((folder / f"{family}.toml").read_text("utf-8"))


def texts(family: str, name: str) -> tuple[str, ...]:
    """A list of texts from the file of a family."""
    return tuple(table(family)[name])


@cache
def rules_of(family: str, folder: Path = _FOLDER) -> tuple[TeachableRule, ...]:
    """The rules of a family, in the order of its file."""
    return tuple(_rule(f"{family}.{step}", fields) for step, fields in table(family, folder)["rules"].items())


def _rule(id: str, fields: dict[str, Any]) -> TeachableRule:
    values: dict[str, Any] = {
        name: tuple(cast(list[str], value)) if isinstance(value, list) else value for name, value in fields.items()
    }
    return TeachableRule(id=id, **values)
