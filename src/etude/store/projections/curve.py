"""How a run went, over the calls of its target: what a better skill cost."""

from etude.records import Record
from etude.store.projections.log import Log, Mark


class DecisionPoint(Record):
    """A decision, where it was taken."""

    calls: int
    """Requests that the target had been sent by then, over all processes."""
    step: int
    origin: str
    action: str
    batch: float | None
    """Mean score of the training attempts of its step, made with the skill before it."""
    val: float | None
    """Mean validation score of the skill after it; None where it was not measured."""
    solved: float | None
    """Share of the training tasks seen to fail so far that were solved when last attempted."""
    tokens: int
    """Of all roles, so far."""
    usd: float | None
    """Likewise, in US dollars; None when a price is unknown."""


class Curve(Record):
    """A run over the calls of its target."""

    points: tuple[DecisionPoint, ...]


def curve(log: Log) -> Curve:
    """The curve of a run so far. What a resumed run decides again, from what it knows, was decided before."""
    first: dict[tuple[int, str], Mark] = {}
    for mark in log.marks:
        first.setdefault((mark.step, mark.origin), mark)
    points = tuple(
        DecisionPoint(
            calls=mark.target_calls,
            step=mark.step,
            origin=mark.origin,
            action=mark.action,
            batch=mark.batch,
            val=mark.val,
            solved=mark.fixed / mark.failed if mark.failed else None,
            tokens=mark.tokens,
            usd=mark.usd,
        )
        for mark in first.values()
    )
    return Curve(points=points)
