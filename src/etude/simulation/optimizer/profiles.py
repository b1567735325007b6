"""How imperfect a simulated optimizer is."""

from dataclasses import dataclass, replace

from etude.simulation.text import between


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
    broad: float = 0.0
    """An exception is stated as if it held everywhere."""
    misread: float = 0.0
    """The opposite of a rule that an attempt got right is proposed, with the failures as a reason."""
    simplifies: float = 0.0
    """With another edit, the statement of an exception is replaced by the one of the rule."""
    sweeping: float = 0.0
    """With another edit, a third of the skill's lines are deleted."""
    gaming: float = 0.0
    """What is proposed pleases a careless check, where there is one to please, and does nothing else."""
    gullible: bool = False
    """Commands in the data it reads are taken for instructions, and proposed as rules."""


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

HARSH_RATES = {"repeats": 0.4, "broad": 0.2, "misread": 0.1, "simplifies": 0.06, "sweeping": 0.02}
HARSH_RANGES = {
    "repeats": (0.2, 0.6),
    "broad": (0.1, 0.3),
    "misread": (0.03, 0.15),
    "simplifies": (0.02, 0.1),
    "sweeping": (0.0, 0.04),
}


def harsh(profile: Profile, number: int | None = None) -> Profile:
    """The profile in the harsh world: who finds rules there also finds wrong and repeated ones. With a number, in a
    world like it, with rates drawn from ranges."""
    if profile.vague == 1.0:
        return profile
    rates = HARSH_RATES if number is None else {n: between(*HARSH_RANGES[n], n, number) for n in HARSH_RANGES}
    return replace(profile, name=f"{profile.name}-harsh", **rates)
