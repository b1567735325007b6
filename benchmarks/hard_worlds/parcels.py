"""The price of a parcel: few steps, most of which matter in most tasks, and rules that act on each other.

Tasks are made so that different mistakes lead to different prices and never make up for each other. Two things do not
show in a price: whether it was name or postcode of an island that was overlooked, and how the volume was counted when
the weight on the scales was charged instead.
"""

import random
import re
from collections.abc import Mapping
from pathlib import Path

from etude.simulation.families.family import Family, Faults, Solution, rules_of, table
from etude.simulation.rules import TeachableRule, Teaching

FOLDER = Path(__file__).parent
_OPENINGS = (
    "What does it cost in cents to send",
    "What is the price in cents of",
    "How many cents is the postage for",
)
ISLAND_NAMES = ("Ostrey", "Skarholm", "Linsay", "Vannoy")
_TOWNS = ("Marwick", "Tolden", "Brixby", "Harrow", "Ellsted", "Quenby")
_PER_KILOGRAM = (85, 95, 105, 115, 125, 135)
_EXTRAS = (310, 370, 430, 490, 530, 590)
"""None is a multiple of a price per kilogram."""
_CUBIC_CM = 5000
"""Volume that is charged as a kilogram. Weights are counted in these, so that nothing is rounded on the way."""


class Parcels(Family):
    """Postage by weight, size and destination, in cents."""

    name = "parcels"
    subject = r"\b(?:parcel|postage|tariff)"
    rules = rules_of("parcels", FOLDER)
    skill = table("parcels", FOLDER)["skill"]
    pattern = re.compile(
        r"(?:" + "|".join(_OPENINGS).replace(" ", r"\s+") + ")"
        r"\s+a\s+parcel\s+of\s+(?P<weight>\d{1,3}\.\d)\s+kg\s+and\s+"
        r"(?P<length>\d{1,3})\s+x\s+(?P<width>\d{1,3})\s+x\s+(?P<height>\d{1,3})\s+cm\s+to\s+"
        r"(?P<place>[A-Z][a-z]+)\s+\(postcode\s+(?P<code>\d{4})\)\?\s+The\s+tariff\s+is\s+(?P<base>\d+)\s+cents\s+plus\s+"
        r"(?P<rate>\d+)\s+cents\s+per\s+kilogram,\s+and\s+(?P<extra>\d+)\s+cents\s+extra\s+for\s+islands\."
    )

    def untaught(self, rule: TeachableRule, known: Mapping[str, Teaching]) -> float:
        acting = (one for one in table("parcels", FOLDER)["interactions"] if one["step"] == rule.id)
        return next((one["rate"] for one in acting if known[one["rule"]] == Teaching.TAUGHT), rule.untaught)

    def solve(self, text: str, faults: Faults) -> Solution:
        found = self.match(text)
        volume = int(found["length"]) * int(found["width"]) * int(found["height"])
        weights = (
            int(found["weight"].replace(".", "")) * _CUBIC_CM // 10,
            volume * 5 if "parcels.volume" in faults else volume,
        )
        charged = min(weights) if "parcels.heavier" in faults else max(weights)
        kilograms = charged // _CUBIC_CM if "parcels.rounding" in faults else -(-charged // _CUBIC_CM)
        price = int(found["base"]) + kilograms * int(found["rate"])
        overlooked = not faults.isdisjoint(("parcels.islands", "parcels.postcode"))
        if found["place"] in ISLAND_NAMES and not overlooked:
            price += int(found["extra"])
        return Solution(str(price), f"Charged {kilograms} kg.")

    def make(self, rng: random.Random) -> str:
        sides, tenths = _bulky(rng) if rng.random() < 0.75 else _heavy(rng)
        island = rng.random() < 0.55
        place = rng.choice(ISLAND_NAMES if island else _TOWNS)
        code = rng.randint(9000, 9999) if island else rng.randint(1000, 8999)
        size = " x ".join(str(side) for side in sides)
        return (
            f"{rng.choice(_OPENINGS)} a parcel of {tenths // 10}.{tenths % 10} kg and {size} cm to {place} "
            f"(postcode {code})? The tariff is {rng.randrange(300, 600, 10)} cents plus {rng.choice(_PER_KILOGRAM)} "
            f"cents per kilogram, and {rng.choice(_EXTRAS)} cents extra for islands."
        )


def _bulky(rng: random.Random) -> tuple[list[int], int]:
    """Lighter than its volume suggests: how the volume is counted matters."""
    while True:
        sides = sorted((rng.randint(28, 60) for _ in range(3)), reverse=True)
        if sides[0] * sides[1] * sides[2] % 1000:
            return sides, _tenths(rng, 0, 2)


def _heavy(rng: random.Random) -> tuple[list[int], int]:
    """Heavier than its volume, however that is counted."""
    return sorted((rng.randint(10, 20) for _ in range(3)), reverse=True), _tenths(rng, 9, 24)


def _tenths(rng: random.Random, least: int, most: int) -> int:
    """A weight in tenths of a kilogram, with a fraction: how it is rounded matters."""
    return rng.randint(least, most) * 10 + rng.randint(1, 9)
