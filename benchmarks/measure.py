"""Medians, spreads and calls to reach a score, over the runs of an arm."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

LEVELS = (0.8, 0.9)
"""Shares of the best attainable true score that are asked for."""

Row = Mapping[str, Any]
"""A run as it stands in a results file."""


class Spread(NamedTuple):
    """Median and quartiles. Infinite where that many runs never came there."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Median and quartiles (inclusive method) of at least one value."""
    ordered = sorted(values)
    return Spread(*(_quantile(ordered, share) for share in (0.5, 0.25, 0.75)))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low if low == high else low + (high - low) * (place - math.floor(place))


def calls_to_reach(run: Row, share: float) -> float:
    """Target calls after which the skill that the system would hand out first has this share of the best attainable
    true test score; infinite when it never has."""
    wanted = share * run["attainable"]
    return next((float(point["calls"]) for point in run["curve"] if point["test"] >= wanted), math.inf)


def done(runs: Sequence[Row], arm: str) -> list[Row]:
    """The runs of an arm that came to an end."""
    return [run for run in runs if run["arm"] == arm and not run["reason"]]


def reasons(runs: Sequence[Row], arm: str) -> list[str]:
    """Why runs of the arm came to nothing, each reason once."""
    return list(dict.fromkeys(run["reason"] for run in runs if run["arm"] == arm and run["reason"]))


def quantities(run: Row) -> dict[str, float]:
    """What is compared, by its heading."""
    known = {
        "wall clock, s": run["seconds"],
        "process, from start to end, s": run["process_seconds"],
        "target calls": run["target_calls"],
        "optimizer calls": run["optimizer_calls"],
        "true test score of the final skill": run["test"],
        "share of the best attainable": run["test"] / run["attainable"],
        "longest chain of requests": run["chain"],
        "most requests in flight": run["most_in_flight"],
        "client CPU per model call, ms": 1000 * run["cpu_seconds"] / (run["target_calls"] + run["optimizer_calls"]),
        "peak memory of the client, MB": run["peak_mb"],
        "tokens of the final skill": run["skill_tokens"],
        "load of the machine before the run": run["load"],
    }
    if run["reported"] is not None:
        known["score it reports itself, on validation"] = run["reported"]
        known["that minus the true one, points"] = 100 * (run["reported"] - run["val"])
    return known


def table(runs: Sequence[Row]) -> dict[str, Spread]:
    """The spread of every quantity that all of the runs have."""
    rows = [quantities(run) for run in runs]
    return {name: spread([row[name] for row in rows]) for name in rows[0] if all(name in row for row in rows)}


def mean_error(runs: Sequence[Row]) -> float | None:
    """Mean of reported minus true validation score, in points."""
    errors = [100 * (run["reported"] - run["val"]) for run in runs if run["reported"] is not None]
    return statistics.fmean(errors) if errors else None


def longest_chain(spans: Sequence[tuple[float, float]]) -> int:
    """Most requests of which each came after the one before it was answered."""
    count, free = 0, -math.inf
    for came, answered in sorted(spans, key=lambda span: span[1]):
        if came >= free:
            count, free = count + 1, answered
    return count
