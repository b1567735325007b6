"""Faults of the endpoint: which ones, how often, and never for ever."""

import random

from pydantic import Field

from etude.records import Record
from etude.simulation.text import uniform

IN_A_ROW = 2
"""Faults that may hit the same question one after the other; the next time it is answered."""


def _rate() -> float:
    return Field(default=0.0, ge=0, le=1)


class Faults(Record):
    """How often requests go wrong: each a rate in [0, 1], tried in this order until one strikes."""

    rate_limit: float = _rate()
    """429 with `Retry-After`."""
    rate_limit_bare: float = _rate()
    """429 without."""
    server_error: float = _rate()
    """500."""
    unavailable: float = _rate()
    """503."""
    hang: float = _rate()
    """No answer until the client leaves, or for `hang_seconds`; then the connection is dropped."""
    drop: float = _rate()
    """The connection is closed before anything is answered."""
    broken_json: float = _rate()
    """200 with a body that is not JSON."""
    truncated: float = _rate()
    """200 with a body shorter than announced; a stream that stops half-way."""
    empty: float = _rate()
    """200 with an empty message."""
    cut_structured: float = _rate()
    """JSON content that stops in the middle. Only for requests that ask for JSON."""
    outage_after: int | None = Field(default=None, ge=0)
    """After this many answered requests every connection is dropped until the faults are changed."""
    bad_seeds: float = _rate()
    """Share of seeds under which every answer in text is wrong, whatever is asked: the luck comes from the seed of
    the request alone, as from a server that draws the same numbers for all that send the same seed."""
    retry_after: float = Field(default=1.0, ge=0)
    """Seconds in `Retry-After`."""
    hang_seconds: float = Field(default=60.0, ge=0)
    """Longest hang."""
    seed: int = 0
    """Seed of the draws."""


_NOT_DRAWN = {"seed", "bad_seeds"}
_DRAWN = tuple(n for n, field in Faults.model_fields.items() if field.default == 0.0 and n not in _NOT_DRAWN)


class FaultDice:
    """Draws faults. Unlike replies, faults may depend on what came before."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self._rng = random.Random(faults.seed)
        self._in_a_row: dict[str, int] = {}
        self._answered = 0

    def draw(self, question: str, *, wants_json: bool, seed: int | None = None) -> str | None:
        """The fault that strikes a request with this question (its hash) and seed, None to answer it.

        A question that is asked again with corrections below it is the same question.
        """
        limit = self.faults.outage_after
        if limit is not None and self._answered >= limit:
            return "outage"
        row = self._in_a_row.get(question, 0)
        fault = self._throw(wants_json) if row < IN_A_ROW else None
        if fault is None:
            self._in_a_row.pop(question, None)
            fault = "bad_seeds" if self._is_bad(seed) and not wants_json else None
        else:
            self._in_a_row[question] = row + 1
        return fault

    def answered(self) -> None:
        """A request was answered; counts towards `outage_after`."""
        self._answered += 1

    def _is_bad(self, seed: int | None) -> bool:
        return seed is not None and uniform("seed", self.faults.seed, seed) < self.faults.bad_seeds

    def _throw(self, wants_json: bool) -> str | None:
        names = _DRAWN if wants_json else _DRAWN[:-1]  # the last one cuts JSON
        return next((name for name in names if self._rng.random() < getattr(self.faults, name)), None)
