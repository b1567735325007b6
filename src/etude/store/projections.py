"""What a person asks of a run folder, gathered from its journal, events and views. Nothing here writes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from etude.config import LimitsSection
from etude.errors import DataError
from etude.records import Attempt, Record, Role, Usage
from etude.store.journal import SqliteJournal
from etude.store.spend import SpendTotals, SqliteSpend
from etude.store.views import JOURNAL, read_events

OUTSIDE = "-"
"""Stands for the stage of calls that no event tells of: requests that a killed process had under way."""

_ASKING_OPTIMIZER = ("reflect", "aggregate", "select", "update", "slow_update", "meta_skill", "tidy")
_WITHOUT_ATTEMPTS = ("reflect", "aggregate", "select", "update", "meta_skill")
_ATTEMPTS = TypeAdapter(tuple[Attempt, ...])


class StageCost(Record):
    """What a role used in a stage, over all processes of the run."""

    role: Role
    stage: str
    calls: int
    """Requests that were sent, those that failed included."""
    failed: int
    usage: Usage
    usd: float | None
    """US dollars; None when a price is unknown."""


class RunCost(Record):
    """What a run used."""

    stages: tuple[StageCost, ...]
    """By role and stage. Where two stages overlap, a call counts for the one that began last of those that ask this
    role."""
    calls: int
    usage: Usage
    usd: float | None


@dataclass
class _Sum:
    calls: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    usd: float | None = 0.0


def read_cost(path: Path | str) -> RunCost:
    """What a run used, by role and stage; the sums are those of its account. Raises DataError: there is no run."""
    totals = _totals(Path(path))
    sums: dict[tuple[Role, str], _Sum] = {}
    for role, stage, event in _calls(path):
        found = sums.setdefault((role, stage), _Sum())
        found.calls += 1
        found.failed += bool(event.get("error"))
        found.usage += Usage.model_validate(event.get("usage", {}))
        usd = cast("float | None", event.get("usd"))
        found.usd = None if found.usd is None or usd is None else found.usd + usd
    for role, calls in totals.calls.items():
        told = [each for (of, _), each in sums.items() if of == role]
        missing = calls - sum(each.calls for each in told)
        if missing > 0:
            sums[role, OUTSIDE] = _Sum(missing, usd=None)
    stages = tuple(
        StageCost(role=role, stage=stage, calls=each.calls, failed=each.failed, usage=each.usage, usd=each.usd)
        for (role, stage), each in sums.items()
    )
    usage = sum(totals.usage.values(), Usage())
    return RunCost(stages=stages, calls=totals.total_calls, usage=usage, usd=totals.usd)


def find_attempt(path: Path | str, name: str) -> Attempt | None:
    """The attempt of that id, as the last step that used it wrote it down; None when no step kept it.
    Raises DataError: a file is damaged."""
    for file in sorted(Path(path).glob("steps/*/rollout.json"), reverse=True):
        text = file.read_bytes()
        if f'"{name}"'.encode() not in text:
            continue
        try:
            attempts = _ATTEMPTS.validate_json(text)
        except ValidationError as error:
            hint = "run the same command again: it is written again"
            raise DataError(f"{str(file)!r} is damaged: {error.errors()[0]['msg']}", hint=hint) from None
        for attempt in attempts:
            if attempt.id == name:
                return attempt
    return None


def _totals(path: Path) -> SpendTotals:
    journal = SqliteJournal(path / JOURNAL, read_only=True)
    try:
        return SqliteSpend(journal, LimitsSection()).totals()
    finally:
        journal.close()


def _calls(path: Path | str) -> Iterator[tuple[Role, str, dict[str, JsonValue]]]:
    """Every call that was told of, with its role and the stage that it was made in."""
    under_way: list[str] = []
    for event in read_events(path, "run_started", "stage_started", "stage_finished", "call_finished"):
        stage = str(event.get("stage"))
        match event["kind"]:
            case "run_started":  # what a killed process left open is over
                under_way.clear()
            case "stage_started":
                under_way.append(stage)
            case "stage_finished" if stage in under_way:
                under_way.remove(stage)
            case "call_finished":
                role = cast(Role, event["role"])
                yield role, _stage(role, under_way), event
            case _:
                pass


def _stage(role: Role, under_way: list[str]) -> str:
    fitting = [
        stage
        for stage in under_way
        if (stage in _ASKING_OPTIMIZER if role == "optimizer" else stage not in _WITHOUT_ATTEMPTS)
    ]
    return (fitting or under_way or [OUTSIDE])[-1]
