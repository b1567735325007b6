"""What a night would do and cost, before anything is sent."""

from collections.abc import Sequence
from typing import NamedTuple

from etude.models import price_of
from etude.models.wrappers.metered import cost
from etude.records import Record, Usage
from etude.records.summary import Span
from etude.searches import policy_of
from etude.searches.forecast import Known
from etude.sleep.config import SleepConfig
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.tasks.mining import session_text
from etude.sleep.transcripts.sessions import Session

__all__ = ["NightForecast", "forecast_night"]

_TASKS_OF_A_SESSION = (0.3, 1.5)
"""How many tasks a session is likely to give, after clustering: from little to much."""
_ATTEMPT = ((300, 100), (2_500, 1_200))
"""Tokens of an attempt, input and output, without the documents: from little to much."""
_ANALYSIS = ((2_000, 200), (20_000, 2_500))
_GRADE = ((500, 50), (3_000, 400))
_ASKED = ((40, 1), (300, 50))
"""Of the question whether a model is there."""
_MINED = (100, 1_500)
"""Output only: the input is known."""
_PER_TOKEN = 4


class NightForecast(Record):
    """A range for each: most nights lie inside, an idle one at the low end."""

    sessions: int
    """Sessions that would be read."""
    tasks: Span
    target_calls: Span
    optimizer_calls: Span
    judge_calls: Span
    """At most: only tasks with a rubric are graded."""
    tokens: Span
    """Input and output of all roles."""
    usd: Span | None
    """None when a price is unknown."""
    assumptions: tuple[str, ...]


class _Bound(NamedTuple):
    """One end of all ranges."""

    tasks: int
    calls: tuple[int, int, int]
    """Of target, optimizer and judge."""
    usages: tuple[Usage, Usage, Usage]


def forecast_night(
    config: SleepConfig, sessions: Sequence[Session], tasks: Sequence[MinedTask] | None, document_chars: int
) -> NightForecast:
    """What a night comes to. Asks no model.

    Args:
        sessions: those that would be mined.
        tasks: from a task file, in place of mining.
        document_chars: length of the documents that the agent reads.
    """
    low, high = (_bound(config, sessions, tasks, document_chars, bound) for bound in (0, 1))
    models = (config.target, config.optimizer, config.judge or config.optimizer)
    prices = [price_of(section, config.prices) for section in models]
    spent = [[cost(usage, price) for usage, price in zip(end.usages, prices, strict=True)] for end in (low, high)]
    money = [sum(each for each in end if each is not None) for end in spent]
    target, optimizer, judge = (Span(low=few, high=many) for few, many in zip(low.calls, high.calls, strict=True))
    if tasks is None and not sessions:
        assumptions = ("each model is only asked whether it is there",)
    else:
        rates = f"a session gives {_TASKS_OF_A_SESSION[0]} to {_TASKS_OF_A_SESSION[1]} tasks"
        assumptions = (
            rates if tasks is None else "the tasks of the file",
            "an attempt is one call" if config.agent.name == "chat" else "an attempt of a program is many calls",
            f"tokens of an attempt without the documents: {sum(_ATTEMPT[0])} to {sum(_ATTEMPT[1]):,}",
        )
    return NightForecast(
        sessions=len(sessions),
        tasks=Span(low=low.tasks, high=high.tasks),
        target_calls=target,
        optimizer_calls=optimizer,
        judge_calls=judge,
        tokens=Span(low=sum(u.total for u in low.usages), high=sum(u.total for u in high.usages)),
        usd=None if any(None in end for end in spent) else Span(low=money[0], high=money[1]),
        assumptions=assumptions,
    )


def _bound(
    config: SleepConfig,
    sessions: Sequence[Session],
    tasks: Sequence[MinedTask] | None,
    document_chars: int,
    bound: int,
) -> _Bound:
    """The low end (0) or the high one (1)."""
    mined = len(sessions) if tasks is None else 0
    count = min(config.sleep.max_tasks, round(mined * _TASKS_OF_A_SESSION[bound])) if tasks is None else len(tasks)
    attempts, analyses = _training(config, _sides(config, count, tasks), bound)
    probes = count if tasks is None and bound else 0
    dreams = probes if config.sleep.dream else 0
    other = mined * (3 if bound else 1)
    calls = (1 + attempts, 1 + other + dreams + analyses, (1 + probes + attempts) * bound)
    if tasks is None and not sessions:
        asked = _ASKED[bound]
        used = [Usage(input_tokens=each * asked[0], output_tokens=each * asked[1]) for each in calls]
        return _Bound(count, calls, (used[0], used[1], used[2]))
    text = sum(len(session_text(session)) for session in sessions) // _PER_TOKEN if tasks is None else 0
    attempt, analysis, grade = _ATTEMPT[bound], _ANALYSIS[bound], _GRADE[bound]
    rest = max(0, calls[1] - mined)
    documents = document_chars // _PER_TOKEN
    usages = (
        Usage(input_tokens=calls[0] * (attempt[0] + documents), output_tokens=calls[0] * attempt[1]),
        Usage(input_tokens=text + rest * analysis[0], output_tokens=mined * _MINED[bound] + rest * analysis[1]),
        Usage(input_tokens=calls[2] * grade[0], output_tokens=calls[2] * grade[1]),
    )
    return _Bound(count, calls, usages)


def _sides(config: SleepConfig, count: int, tasks: Sequence[MinedTask] | None) -> tuple[int, int, int]:
    """How many tasks are for training, for the gate and for the test: those of a file where it says so."""
    sleep = config.sleep
    if tasks is not None and any(task.split != "train" for task in tasks):
        splits = [task.split for task in tasks]
        return splits.count("train"), splits.count("val"), splits.count("test")
    val, test = round(count * sleep.val_fraction), round(count * config.test_fraction)
    train = max(0, count - val - test)
    return train + (0 if tasks is not None else 2 * train * sleep.dream), val, test


def _training(config: SleepConfig, sides: tuple[int, int, int], bound: int) -> tuple[int, int]:
    """Attempts and optimizer calls to improve the documents."""
    sleep, (train, val, test) = config.sleep, sides
    if not train:
        return 0, 0
    if not val:
        config = config.model_copy(update={"train": config.train.model_copy(update={"epochs": 1})})
    documents = bool(sleep.skill) + bool(sleep.memory)
    work = policy_of(config).forecast(Known(config, {"train": train, "val": val, "test": 0}))
    attempts = sum(part.attempts.high if bound else part.attempts.low for part in work)
    confirmed = bound * 2 * (val + sleep.retire * (train + val)) * sleep.confirm_trials
    calls = sum(part.calls.high if bound else part.calls.low for part in work)
    return int(documents * (attempts + confirmed) + test), int(documents * calls)
