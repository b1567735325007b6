"""The curves of a run over its target calls, from its events."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from etude.events import CallFinished, Decided, Event, RunStarted, SpendChanged


class Point(NamedTuple):
    """What is known after so many target calls."""

    target_calls: int
    """Requests to the target that were answered or failed, over all processes of the run."""
    values: Mapping[str, float]
    """As in `score/validation`. Scores are in [0, 1], `spend/usd` is in US dollars."""
    step: int = 0
    action: str = ""
    """What was decided at a step: `accepted`, `rejected` or `skipped`. Empty for a point that only has the spend."""
    origin: str = ""
    """What was decided on: the candidate of a `step`, a `slow_update` or a `tidy`."""
    skill: str = ""
    """The text of the skill that was accepted, without keys."""

    @property
    def key(self) -> str:
        """Differs from that of any other point of the run, and is the same when the run is resumed."""
        return f"{self.origin} {self.step}" if self.action else f"spend {self.values['spend/calls']:.0f}"


class CurveCounter:
    """Takes the events of one process or more, in their order."""

    def __init__(self) -> None:
        self.target_calls = 0
        self._decided: Counter[str] = Counter()
        self._calls = 0

    def take(self, event: Event) -> Point | None:
        """Count an event in; the point it makes, if any."""
        match event:
            case RunStarted():  # a resumed run decides again what it had decided
                self._decided.clear()
            case CallFinished(role="target"):
                self.target_calls += 1
            case SpendChanged() if event.calls != self._calls:
                self._calls = event.calls
                spent = {"spend/calls": float(event.calls), "spend/tokens": float(event.tokens)}
                return Point(self.target_calls, spent if event.usd is None else {**spent, "spend/usd": event.usd})
            case Decided():
                self._decided[event.action] += 1
                return Point(self.target_calls, self._values(event), event.step, event.action, event.origin)
            case _:
                pass
        return None

    def _values(self, event: Decided) -> dict[str, float]:
        values = {f"steps/{action}": float(self._decided[action]) for action in ("accepted", "rejected", "skipped")}
        values["skill/tokens"] = float(event.skill_tokens)
        fixed = event.fixed / event.failed if event.failed else None
        scores = {"score/validation": event.current, "score/best": event.best}
        scores |= {"score/training": event.batch, "score/fixed": fixed}
        return values | {name: score for name, score in scores.items() if score is not None}
