"""The simulated world of the benchmarks: that of the docs, and what is too hard or too special for them.

`parcels` are few rules that act on each other. `slips` are rules with exceptions: with the models whose names have
`harsh` in them, wrong rules look right on the failures shown, length costs, every change of the text draws again, and
optimizers repeat themselves, simplify and misread. `target-harsh-7` is of a world like that, with constants drawn by
the number.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from etude.config import ModelSection
from etude.models.simulated import SimulatedModel
from etude.simulation.families import FAMILIES, IN_TURN
from etude.simulation.noise import Reliability
from etude.simulation.optimizer.diagnosis import Diagnosis
from etude.simulation.optimizer.profiles import DraftEdit, Profile
from etude.simulation.rules import TeachableRule, statements
from etude.simulation.text import pick, uniform
from etude.simulation.world import OPTIMIZERS, TARGETS, SimulatedWorld
from hard_worlds.parcels import Parcels
from hard_worlds.slips import ExceptionRule, Slips

HARSH = Reliability(slip=0.022, long_skill=700, per_length=0.03, sampled=True)
"""100 tokens too many cost some points."""


@dataclass(frozen=True)
class HarshProfile(Profile):
    """Who finds rules in the harsh world also finds wrong and repeated ones."""

    broad: float = 0.2
    """An exception is stated as if it held everywhere."""
    misread: float = 0.1
    """The opposite of a rule that an attempt got right is proposed, with the failures as a reason."""
    simplifies: float = 0.06
    """With another edit, the statement of an exception is replaced by the one of the rule."""
    sweeping: float = 0.02
    """With another edit, a third of the skill's lines are deleted."""

    def misstated(self, rule: TeachableRule, draw: str) -> str:
        if isinstance(rule, ExceptionRule) and uniform("broad", draw) < self.broad:
            return pick(rule.broad, draw)
        return ""

    def besides(self, finding: Diagnosis, skill: str, draw: str) -> list[DraftEdit]:
        flawed: list[DraftEdit] = []
        if uniform("misread", draw) < self.misread:
            others = [one for one in finding.family.rules if one is not finding.rule]
            wrong = pick(others[int(uniform("which", draw) * len(others))].harmful, draw)
            flawed.append(DraftEdit("append", "", f"- {wrong}", "The attempts point to this.", finding.attempts))
        said = [
            (one.sentence, rule)
            for one in statements(skill, finding.family.rules)
            if one.sign > 0 and isinstance(rule := finding.family.rule(one.rule), ExceptionRule)
        ]
        if said and uniform("simplifies", draw) < self.simplifies:
            sentence, rule = said[int(uniform("which one", draw) * len(said))]
            plain = pick(rule.harmful, draw)
            flawed.append(DraftEdit("replace", sentence, plain, "Simpler, and true of most.", finding.attempts))
        lines = [line for line in skill.splitlines() if line.startswith("- ")]
        if len(lines) >= 6 and uniform("sweeping", draw) < self.sweeping:
            start = int(uniform("from", draw) * (len(lines) * 2 // 3))
            gone = "\n".join(lines[start : start + len(lines) // 3])
            if gone in skill:
                flawed.append(DraftEdit("delete", gone, "", "These lines do not help.", finding.attempts))
        return flawed


HARSH_RANGES: Mapping[str, tuple[float, float]] = {
    "repeats": (0.2, 0.6),
    "broad": (0.1, 0.3),
    "misread": (0.03, 0.15),
    "simplifies": (0.02, 0.1),
    "sweeping": (0.0, 0.04),
}


def harsh(profile: Profile, number: int | None = None) -> Profile:
    """The profile in the harsh world; with a number, in a world like it, with rates drawn from ranges."""
    if profile.vague == 1.0:
        return profile
    known: dict[str, Any] = {field.name: getattr(profile, field.name) for field in fields(profile)}
    rates: dict[str, Any] = (
        {} if number is None else {name: _between(*HARSH_RANGES[name], name, number) for name in HARSH_RANGES}
    )
    return HarshProfile(**known | {"name": f"{profile.name}-harsh", "repeats": 0.4} | rates)


def drawn(number: int) -> Reliability:
    """The target of a world like the harsh one, with constants drawn from ranges."""
    return replace(
        HARSH,
        slip=_between(0.01, 0.04, "slip", number),
        long_skill=round(_between(600, 900, "long", number)),
        per_length=_between(0.015, 0.045, "per length", number),
    )


def _between(low: float, high: float, *parts: object) -> float:
    return low + (high - low) * uniform("between", *parts)


_NUMBERED = re.compile(r"(?P<name>[a-z-]+-harsh)-(?P<number>[1-9]\d{0,5})")


class _Worlds(SimulatedWorld):
    """Also has the models of worlds that are drawn by a number."""

    def target(self, model: str) -> Reliability | None:
        found = _NUMBERED.fullmatch(model)
        if found is None:
            return super().target(model)
        return drawn(int(found["number"])) if found["name"] == "target-harsh" else None

    def optimizer(self, model: str) -> Profile | None:
        found = _NUMBERED.fullmatch(model)
        if found is None:
            return super().optimizer(model)
        profile = self.optimizers.get(found["name"].removesuffix("-harsh"))
        return None if profile is None else harsh(profile, int(found["number"]))


WORLD = _Worlds(
    families=(*IN_TURN, Parcels(), Slips(), *FAMILIES[len(IN_TURN) :]),
    targets={**TARGETS, "target-harsh": HARSH},
    optimizers={**OPTIMIZERS, **{f"{name}-harsh": harsh(profile) for name, profile in OPTIMIZERS.items()}},
)


def model(name: str) -> SimulatedModel:
    """A model of this world, in this process."""
    return SimulatedModel(name, ModelSection(model=f"simulated:{name}"), WORLD)
