"""How imperfect a simulated optimizer is."""

from dataclasses import dataclass


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
    gaming: float = 0.0
    """What is proposed pleases a careless check, where there is one to please, and does nothing else."""
    gullible: bool = False
    """Commands in the data it reads are taken for instructions, and proposed as rules."""


GOOD = Profile("good", missing=0.15, vague=0.12, harmful=0.08, misanchored=0.1, miscited=0.05, duplicate=0.1)
PERFECT = Profile("perfect")
POOR = Profile("poor", missing=0.25, vague=0.35, harmful=0.35, misanchored=0.25, miscited=0.2, duplicate=0.25)
USELESS = Profile("useless", vague=1.0)
MISCITING = Profile("misciting", miscited=0.8)
HACKER = Profile("hacker", gaming=1.0)
GULLIBLE = Profile("gullible", gullible=True)
