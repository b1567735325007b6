"""Rules that an instruction text can teach, and their recognition in free wording.

A sentence speaks about a rule when it matches every concept group of its `topic`. What it says about it follows
from the words in `good` and `bad`, each turned round by a negation before it in the same clause: "never drop
repeated words" teaches what "drop repeated words" unteaches.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from etude.simulation.text import sentences


class Teaching(Enum):
    """What an instruction text does about a rule."""

    UNTAUGHT = "untaught"
    TAUGHT = "taught"
    HARMED = "harmed"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, eq=False)
class TeachableRule:
    """One step of a procedure, and the statements that teach it or the opposite. One object for each."""

    id: str
    """`family.step`."""
    topic: tuple[str, ...]
    """Regular expressions that must all match a sentence; the first one marks the clause that counts."""
    good: str
    bad: str
    statements: tuple[str, ...]
    """Ways to teach the rule."""
    harmful: tuple[str, ...]
    """Ways to teach the opposite."""
    untaught: float
    """How often the step goes wrong in a task where it matters, when nothing is said about it."""
    unless: str = ""
    """A sentence that matches this is about something else."""
    slip: float | None = None
    """How often the step goes wrong when the rule is taught; None leaves it to the target."""
    harmed: float | None = None
    """How often the step goes wrong when the opposite is taught; None leaves it to the target."""
    gaming: tuple[str, ...] = ()
    """Ways to please a careless check of the step without doing it."""
    subtle: bool = False
    """Always has another explanation in a single trajectory; only comparing several brings it out."""

    @property
    def family(self) -> str:
        return self.id.partition(".")[0]


_NEGATION = re.compile(
    r"\b(?:not|never|avoid|without|cannot|nor|neither|none|nothing|no|stop|refrain|rather than|instead of)\b|n't\b"
)
_NOT_A_NEGATION = re.compile(r"\b(?:does not|doesn't|do not|did not) (?:exist|occur)\b|\bno such\b|\bnot only\b")
_COPULA = re.compile(r"\b(?:is|are|is an?|are an?|counts?|belongs?)$")
_COPULA_NOT = re.compile(r"\s*(?:not|never|n't)\b")
_CLAUSE_END = re.compile(r"[,;:()–—]|\s-+\s|\bbut\b|\band\b|\binstead\b(?! of)|\bbecause\b|\bthen\b")


@lru_cache(maxsize=512)
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def stance(sentence: str, rule: TeachableRule) -> int:
    """1 when the sentence teaches the rule, -1 when it teaches the opposite, 0 when it says nothing about it."""
    text = _plain(sentence)
    if not all(_regex(group).search(text) for group in rule.topic):
        return 0
    if rule.unless and _regex(rule.unless).search(text):
        return 0
    clauses = _CLAUSE_END.split(text)
    signs = _signs(clauses, rule)
    key = _regex(rule.topic[0])
    about = [sign for clause, sign in zip(clauses, signs, strict=True) if key.search(clause)]
    for group in (about, signs):
        if any(group):
            return min(sign for sign in group if sign)
    return 0


def _plain(sentence: str) -> str:
    text = sentence.lower().replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    return _NOT_A_NEGATION.sub("is missing", text.replace("*", "").replace("_", " "))


def _signs(clauses: list[str], rule: TeachableRule) -> list[int]:
    """The sign of each clause. A negation reaches into the next clause when that goes on in the same vein:
    "never drop, merge or skip"."""
    signs: list[int] = []
    negated_kind = 0
    for clause in clauses:
        kind, start, end = _kind(clause, rule)
        negated = kind != 0 and any(
            found.start() < end and found.start() != start for found in _NEGATION.finditer(clause)
        )
        carried = kind != 0 and not negated and kind == negated_kind
        signs.append(-kind if negated or carried else kind)
        negated_kind = kind if negated or carried else 0
    return signs


def _kind(clause: str, rule: TeachableRule) -> tuple[int, int, int]:
    """1, -1 or 0 by the words of the clause, and where the decisive ones are. "Are not" belongs together."""
    for kind, pattern in ((-1, rule.bad), (1, rule.good)):
        found = _regex(pattern).search(clause)
        if found:
            copula = _COPULA_NOT.match(clause, found.end())
            return kind, found.start(), copula.end() if copula and _COPULA.search(found.group()) else found.end()
    return 0, 0, 0


@dataclass(frozen=True)
class Statement:
    """A sentence of an instruction text that says something about a rule."""

    rule: str
    sign: int
    sentence: str


@lru_cache(maxsize=16384)
def _said(sentence: str, rules: tuple[TeachableRule, ...]) -> tuple[Statement, ...]:
    signs = ((rule.id, stance(sentence, rule)) for rule in rules)
    return tuple(Statement(rule, sign, sentence) for rule, sign in signs if sign)


@lru_cache(maxsize=1024)
def _statements(text: str, rules: tuple[TeachableRule, ...]) -> tuple[Statement, ...]:
    return tuple(one for sentence in sentences(text) for one in _said(sentence, rules))


def statements(text: str, rules: Iterable[TeachableRule]) -> tuple[Statement, ...]:
    """Everything the text says about the rules, in its order."""
    return _statements(text, tuple(rules))


def states(text: str, rules: Iterable[TeachableRule]) -> Mapping[str, Teaching]:
    """What the text does about each rule, by rule id."""
    every = tuple(rules)
    signs: dict[str, set[int]] = {rule.id: set() for rule in every}
    for statement in _statements(text, every):
        signs[statement.rule].add(statement.sign)
    return {rule: _state(seen) for rule, seen in signs.items()}


def taught(known: Mapping[str, Teaching]) -> list[str]:
    """What is said about rules, in their order: what draws depend on."""
    return [f"{rule}={state.value}" for rule, state in known.items() if state != Teaching.UNTAUGHT]


def _state(signs: set[int]) -> Teaching:
    if not signs:
        return Teaching.UNTAUGHT
    if len(signs) == 2:
        return Teaching.CONTRADICTED
    return Teaching.TAUGHT if 1 in signs else Teaching.HARMED
