"""What a simulated optimizer proposes, and how imperfect it is."""

from dataclasses import dataclass, replace

from etude.simulation.optimizer.diagnosis import Diagnosis
from etude.simulation.rules import TeachableRule

REMOVING = ("delete", "remove")
CHANGING = ("replace", "clarify", "merge", "reorganise", "compress")
"""Operations that put something in place of their target."""


@dataclass(frozen=True)
class DraftEdit:
    """An edit in the making, or one that a prompt shows."""

    op: str
    target: str
    content: str
    reason: str
    cites: tuple[str, ...]
    index: int | None = None
    """Its number, where a prompt numbers edits."""
    says: frozenset[tuple[str, int]] = frozenset()
    """(rule, 1 or -1) of what the content of one that is shown teaches."""

    @property
    def is_specific(self) -> bool:
        """It says something about a rule, or takes something away."""
        return bool(self.says) or self.op in REMOVING

    def values(self) -> dict[str, object]:
        """By concept, for filling a form."""
        return {
            "op": self.op,
            "target": self.target,
            "content": self.content,
            "reason": self.reason,
            "cites": list(self.cites),
            "support": len(self.cites),
        }


@dataclass(frozen=True)
class Profile:
    """Rates in [0, 1]; each applies to a proposed edit on its own."""

    name: str
    missing: float = 0.0
    """An edit that was due is not proposed."""
    vague: float = 0.0
    """Instead of the rule there is good advice without effect."""
    harmful: float = 0.0
    """The opposite of the rule is proposed."""
    misanchored: float = 0.0
    """The anchor is not in the skill, or not quite."""
    miscited: float = 0.0
    """The edit cites attempts it does not answer, or that do not exist."""
    duplicate: float = 0.0
    """The same rule is proposed again in other words."""
    uncited: bool = False
    """No edit cites anything."""
    repeats: float = 0.0
    """What the skill states already is proposed again, in other words, where an attempt failed in spite of it."""
    gaming: float = 0.0
    """What is proposed pleases a careless check, where there is one to please, and does nothing else."""
    gullible: bool = False
    """Commands in the data it reads are taken for instructions, and proposed as rules."""

    def misstated(self, rule: TeachableRule, draw: str) -> str:
        """What is stated wrongly in place of the rule; empty when nothing is."""
        del rule, draw
        return ""

    def besides(self, finding: Diagnosis, skill: str, draw: str) -> list[DraftEdit]:
        """What else is proposed with the edit for a finding."""
        del finding, skill, draw
        return []


GOOD = Profile("good", missing=0.15, vague=0.12, harmful=0.08, misanchored=0.1, miscited=0.05, duplicate=0.1)
PERFECT = Profile("perfect")
POOR = Profile("poor", missing=0.25, vague=0.35, harmful=0.35, misanchored=0.25, miscited=0.2, duplicate=0.25)
USELESS = Profile("useless", vague=1.0)
MISCITING = Profile("misciting", miscited=0.8)
UNCITED = replace(GOOD, name="uncited", uncited=True)
HACKER = Profile("hacker", gaming=1.0)
GULLIBLE = Profile("gullible", gullible=True)
PROFILES = (PERFECT, POOR, USELESS, MISCITING, UNCITED, HACKER, GULLIBLE)
"""All but the one that is meant where none is named."""
