"""How often verdicts and intervals are right, in simulated comparisons with a known truth, and in real attempts.

    python benchmarks/verdicts.py    two minutes

Each task has a chance of success under both skills, drawn again for every comparison; attempts are independent draws.
Where the records of `benchmarks/replay.py` lie beside the project, a second table is made of them: a skill that
changes nothing, at the gate.
"""

import random
from collections.abc import Sequence
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

from harness import compute
from replay import DATA, Records, recorded

from etude.comparison import FEWEST
from etude.records.summary import ComparedTask, ShipVerdict
from etude.stages.shared.contest import ERROR, decide, exchanged


class World(NamedTuple):
    """Where tasks come from. `gain` is the exact mean of what `effect` adds."""

    name: str
    mean: float
    """Mean chance of success under A."""
    alike: float
    """Correlation of two attempts at a task: 0 when all tasks are equally hard, near 1 when each is certain."""
    effect: str = "none"
    partial: bool = False
    """Scores between 0 and 1 instead of solved or not."""

    @property
    def gain(self) -> float:
        """Mean difference of B and A over all tasks."""
        return {"rare": 0.05, "gain": 0.18}.get(self.effect, 0.0) * (1 - self.mean)


WORLDS = (
    World("no effect, half solved", 0.5, 0.0),
    World("no effect, half solved, each task nearly certain", 0.5, 0.9),
    World("no effect, 5% solved", 0.05, 0.3),
    World("no effect, 95% solved", 0.95, 0.3),
    World("no effect, partial scores, half", 0.5, 0.3, partial=True),
    World("no effect, partial scores, 95%", 0.95, 0.3, partial=True),
    World("helps 15% of the tasks, harms 15%", 0.5, 0.3, "swap"),
    World("helps 90% a little, harms 10% a lot", 0.9, 0.0, "skew"),
    World("helps 90% a little, harms 10% a lot, partial scores", 0.9, 0.0, "skew", partial=True),
    World("fixes 5% of the tasks", 0.3, 0.9, "rare"),
    World("helps 30% of the tasks", 0.5, 0.5, "gain"),
)
SIZES = ((20, 1), (40, 3), (100, 3))
"""Tasks and trials."""
FEW, TRIALS = (1, 2, 3, 4, 5, 8, 12), (1, 2, 3, 5)
"""Of suites at the gate."""

LEARNABLE = (0.0, 0.1, 0.15, 0.2, 0.25)
"""Share of the tasks that the skill takes from .1 to .85."""
LOOKED_AT = ((20, 4), (40, 2))
"""Validation tasks, and fresh attempts at each in one look of the hand-out."""


class Rates(NamedTuple):
    """Shares of the comparisons."""

    ship: float
    difference: float
    """The true difference lies inside its interval."""


def rates(world: World, tasks: int, trials: int, comparisons: int) -> Rates:
    """Compare again and again."""
    rng = random.Random(f"0 {world} {tasks} {trials}")
    ship = difference = 0
    for _ in range(comparisons):
        chances = [_task(world, rng) for _ in range(tasks)]
        before = [_mean(world, rng, a, trials) for a, _ in chances]
        after = [_mean(world, rng, b, trials) for _, b in chances]
        decision = decide(before, after)
        ship += decision.verdict == "ship"
        difference += decision.difference.low <= world.gain <= decision.difference.high
    return Rates(ship / comparisons, difference / comparisons)


def unchanged(records: Records, tasks: int, trials: int, comparisons: int) -> tuple[float, float]:
    """How often the gate passes a skill that changes nothing, and how often the claim on just these tasks does. Each
    attempt at a task is one of those that are recorded of it, with the same chance for each."""
    rng = random.Random(f"{tasks} {trials}")
    known = [[float(one == "1") for one in outcomes] for outcomes in records.values()]
    passed = exact = 0
    for _ in range(comparisons):
        tried = [_dealt(rng, outcomes, trials) for outcomes in rng.sample(known, tasks)]
        # Which attempt of a task solved it makes no difference, and neither does which task is which.
        these = _exact(tuple(sorted((sum(one.a), sum(one.b)) for one in tried)), trials) == "ship"
        before, after = [fmean(one.a) for one in tried], [fmean(one.b) for one in tried]
        passed += these if tasks < FEWEST else decide(before, after).verdict == "ship"
        exact += these
    return passed / comparisons, exact / comparisons


def looked_at(learnable: float, tasks: int, trials: int, comparisons: int) -> tuple[float, float]:
    """How often fresh attempts show a gain: in one look with half of the error, and in two with a quarter each, of
    which the second has as many attempts more. Other tasks pass with .75, three of ten with .15, with both skills."""
    rng = random.Random(f"{learnable} {tasks} {trials}")
    one = two = 0
    for _ in range(comparisons):
        known = list[tuple[float, float]]()
        for _ in range(tasks):
            luck, other = rng.random(), 0.75 if rng.random() < 0.7 else 0.15
            known.append((0.1, 0.85) if luck < learnable else (other, other))
        tried = [
            ComparedTask(task="", a=_draws(rng, before, 2 * trials), b=_draws(rng, after, 2 * trials))
            for before, after in known
        ]
        first = [ComparedTask(task="", a=each.a[:trials], b=each.b[:trials]) for each in tried]
        found = exchanged(first, strict=False, error=ERROR / 4)
        one += exchanged(first, strict=False, error=ERROR / 2).verdict == "ship"
        again = found.verdict == "inconclusive"
        two += found.verdict == "ship" or (
            again and exchanged(tried, strict=False, error=ERROR / 4).verdict == "ship"
        )
    return one / comparisons, two / comparisons


def _draws(rng: random.Random, chance: float, trials: int) -> tuple[float, ...]:
    return tuple(float(rng.random() < chance) for _ in range(trials))


@cache
def _exact(solved: tuple[tuple[float, float], ...], trials: int) -> ShipVerdict:
    tried = [ComparedTask(task="", a=_outcomes(a, trials), b=_outcomes(b, trials)) for a, b in solved]
    return exchanged(tried, strict=False).verdict


def _outcomes(solved: float, trials: int) -> tuple[float, ...]:
    return tuple(float(number < solved) for number in range(trials))


def _dealt(rng: random.Random, outcomes: Sequence[float], trials: int) -> ComparedTask:
    a, b = (tuple(rng.choices(outcomes, k=trials)) for _ in "ab")
    return ComparedTask(task="", a=a, b=b)


def _task(world: World, rng: random.Random) -> tuple[float, float]:
    chance = world.mean
    if world.alike > 0:
        size = (1 - world.alike) / world.alike
        chance = rng.betavariate(world.mean * size, (1 - world.mean) * size)
    luck = rng.random()
    match world.effect:
        case "swap" if luck < 0.15:
            return chance, chance + 0.8 * (1 - chance)
        case "swap" if luck > 0.85:
            return chance, chance - 0.8 * chance
        case "skew":
            return chance, chance + 0.1 if luck < 0.9 else chance - 0.9
        case "rare" if luck < 0.05:
            return chance, 1.0
        case "gain" if luck < 0.3:
            return chance, chance + 0.6 * (1 - chance)
        case _:
            return chance, chance


def _mean(world: World, rng: random.Random, chance: float, trials: int) -> float:
    if world.partial:
        a, b = max(3 * chance, 1e-6), max(3 * (1 - chance), 1e-6)
        return sum(rng.betavariate(a, b) for _ in range(trials)) / trials
    return sum(rng.random() < chance for _ in range(trials)) / trials


def tables(comparisons: int) -> list[dict[str, Any]]:
    """All worlds and sizes, for the page."""
    sizes = [f"{tasks} x {trials}" for tasks, trials in SIZES]
    rows: list[list[str]] = []
    for world in WORLDS:
        found = [rates(world, tasks, trials, comparisons) for tasks, trials in SIZES]
        cells = [f"{100 * r.ship:.1f} / {100 * r.difference:.0f}" for r in found]
        rows.append([world.name, f"{world.gain:+.3f}", *cells])
    note = (
        f"{comparisons:,} simulated comparisons a cell. Percentages: verdict `ship`, a mistake where the true gain "
        "is 0; true difference inside its interval."
    )
    table = {"caption": "Verdicts of a comparison", "columns": ["tasks x trials", "true gain", *sizes], "rows": rows}
    return [{**table, "note": note}, _at_the_hand_out(comparisons // 5), *_at_the_gate(comparisons)]


def _at_the_hand_out(comparisons: int) -> dict[str, Any]:
    rows: list[list[str]] = []
    for share in LEARNABLE:
        found = [looked_at(share, *size, comparisons) for size in LOOKED_AT]
        rows.append([f"{0.75 * share:+.3f}", *(f"{100 * one:.0f} / {100 * two:.0f}" for one, two in found)])
    return {
        "caption": "Fresh attempts at the hand-out",
        "columns": ["true gain", *(f"{tasks} x {trials}" for tasks, trials in LOOKED_AT)],
        "rows": rows,
        "note": f"{comparisons:,} comparisons a cell. Percentages that show the gain: with one look, and with a "
        "second where the first does not, each with half of the error.",
    }


def _at_the_gate(comparisons: int) -> list[dict[str, Any]]:
    agents = recorded(DATA).values()
    if not agents:
        return []
    rows: list[list[str]] = []
    for tasks in FEW:
        found = [[unchanged(records, tasks, trials, comparisons) for records in agents] for trials in TRIALS]
        cells = ["/".join(f"{100 * max(each):.1f}" for each in zip(*some, strict=True)) for some in found]
        rows.append([str(tasks), *cells])
    note = (
        f"{comparisons:,} comparisons for each of {len(agents)} recorded agents; percentages of the worst: the gate "
        "passes; `ship` on just these tasks."
    )
    columns = ["tasks", *(f"{trials} trial{'s' * (trials > 1)}" for trials in TRIALS)]
    return [{"caption": "A skill that changes nothing, at the gate", "columns": columns, "rows": rows, "note": note}]


if __name__ == "__main__":
    compute(__doc__, "comparisons", "verdicts", "How often verdicts are right", tables)
