"""What trackers are told of the story of a run, as points over its target calls."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from etude.events import Decided, Event, SpendChanged
from etude.story import Story


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


def point_of(before: Story, event: Event, now: Story) -> Point | None:
    """The point that an event makes of the story before and after it, if any."""
    if isinstance(event, Decided) and len(now.turns) > len(before.turns):
        turn = now.turns[-1]
        counts = Counter(each.action for each in now.turns)
        values = {f"steps/{action}": float(counts[action]) for action in ("accepted", "rejected", "skipped")}
        values |= {"skill/tokens": float(turn.skill_tokens), "tasks/solved": float(turn.solved)}
        share = turn.solved / turn.tasks if turn.tasks else None
        scores = {"score/validation": turn.current, "score/best": turn.best, "score/training": share}
        values |= {name: score for name, score in scores.items() if score is not None}
        return Point(turn.target_calls, values, turn.step, turn.action, turn.origin)
    if isinstance(event, SpendChanged):
        spent = {"spend/calls": float(event.calls), "spend/tokens": float(event.tokens)}
        return Point(now.target_calls, spent if event.usd is None else {**spent, "spend/usd": event.usd})
    return None
