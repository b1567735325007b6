"""What trackers are told of a run that is text. It is read from the run folder, where no key is written. A skill also
loses what merely looks like a key: it may leave the machine."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, cast

from pydantic import JsonValue

from etude.events import Decided, Event, RunStarted, SpendChanged, event_of
from etude.records import Role, digest
from etude.records.summary import Interval, Summary
from etude.redaction import Redactor
from etude.safe_yaml import load_yaml
from etude.store.views import EVENTS, read_events
from etude.story import Story, after


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


class TrackedRun(NamedTuple):
    """A run, as a tracker is told of it."""

    id: str
    """Eight letters and digits; the same whenever the run is resumed, and of no other run."""
    name: str
    config: Mapping[str, JsonValue]
    """All settings, section by section."""
    models: Mapping[Role, str]
    """As in `openai:gpt-5.5`, by role."""
    simulated: bool
    """The models are simulated: scores say nothing about a real one."""

    @property
    def flat(self) -> dict[str, str | int | float | bool]:
        """The settings by their dotted names, as in `train.epochs`; lists as JSON."""
        return dict(_flat(self.config))


def _flat(values: Mapping[str, JsonValue], before: str = "") -> Iterator[tuple[str, str | int | float | bool]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, str | int | float):
            yield f"{before}{name}", value
        else:
            yield f"{before}{name}", json.dumps(value, ensure_ascii=False)


class Ending(NamedTuple):
    """How a run ended."""

    state: Literal["finished", "stopped", "failed"]
    """`stopped` early, and can be resumed; `failed` where an error ended it."""
    verdict: str = ""
    """`ship`, `do not ship` or `inconclusive`, with `on just these tasks` where these are too few to say more; empty
    where that was not asked."""
    values: Mapping[str, float] = {}
    """As in `final/test_best`. Scores are in [0, 1], a gain in [-1, 1], `final/usd` is in US dollars."""
    why: str = ""
    """What stopped it."""


def tracked_run(event: RunStarted) -> TrackedRun:
    """The run that an event tells of. Raises OSError: its folder cannot be read."""
    folder = Path(event.folder)
    with (folder / EVENTS).open("rb") as file:
        first = file.readline().decode(errors="replace")  # it has the time
    config = cast("dict[str, JsonValue]", load_yaml((folder / "config.yaml").read_text(encoding="utf-8")))
    return TrackedRun(digest([folder.name, first])[:8], folder.name, config, event.models, event.simulated)


def accepted_skill(folder: Path, point: Point) -> Point:
    """The point with the text of the skill, if one was accepted. Raises OSError: it cannot be read."""
    if point.action != "accepted":
        return point
    text = (folder / f"skills/{point.step:04d}.md").read_bytes().decode(errors="replace")
    return point._replace(skill=Redactor().redact(text))


def earlier_points(folder: Path) -> tuple[int, list[Point]]:
    """Target calls and points of the processes that worked on the run before this one. Raises OSError: the folder
    cannot be read."""
    story, points = Story(), dict[str, Point]()
    for event in _earlier_events(folder):
        before, story = story, after(story, event)
        point = point_of(before, event, story)
        if point is not None and point.key not in points:
            points[point.key] = accepted_skill(folder, point)
    return story.target_calls, list(points.values())


def ending_of(path: Path) -> Ending:
    """How a run ended, from its `summary.json`. Raises OSError, ValueError: it cannot be read."""
    summary = Summary.model_validate_json(path.read_bytes())
    means = {
        "test_initial": summary.initial.test,
        "test_best": summary.best.test,
        "test_gain": summary.test_gain,
        "validation_initial": summary.initial.val,
        "validation_best": summary.best.val,
    }
    values = {f"final/{name}": found.mean for name, found in means.items() if found is not None}
    values |= {} if summary.test_gain is None else _bounds(summary.test_gain)
    values["final/target_calls"] = float(summary.cost.target_calls)
    if summary.cost.usd is not None:
        values["final/usd"] = summary.cost.usd
    state = "finished" if summary.stopped is None else "stopped"
    verdict = summary.said if summary.claim == "these tasks" else summary.verdict
    return Ending(state, verdict or "", values, summary.stopped or "")


def _bounds(gain: Interval) -> dict[str, float]:
    return {"final/test_gain_low": gain.low, "final/test_gain_high": gain.high}


def _earlier_events(folder: Path) -> Iterator[Event]:
    """Those before the last start."""
    kept: list[Event] = []
    for data in read_events(folder, "run_started", "call_finished", "decided", "spend_changed"):
        event = event_of(data)
        if isinstance(event, RunStarted):
            yield from kept
            kept.clear()
        kept.append(event)
