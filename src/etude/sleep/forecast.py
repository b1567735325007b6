"""What a night would do and cost, before anything is sent."""

from collections.abc import Sequence

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
"""Tokens of an attempt, input and output, beside the documents: from little to much."""
_READING = ((2_000, 200), (20_000, 2_500))
_GRADE = ((500, 50), (3_000, 400))
_ASKED = ((40, 1), (300, 50))
"""Of the question whether a model is there."""
_MINED = ((0, 100), (0, 1_500))
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


def forecast_night(
    config: SleepConfig, sessions: Sequence[Session], tasks: Sequence[MinedTask] | None, document_chars: int
) -> NightForecast:
    """What a night comes to. Asks nobody.

    Args:
        sessions: those that would be mined.
        tasks: from a task file, in place of mining.
        document_chars: length of the documents that the agent reads.
    """
    sleep = config.sleep
    if tasks is None:
        few, many = (min(sleep.max_tasks, round(len(sessions) * rate)) for rate in _TASKS_OF_A_SESSION)
        wanted = Span(low=few, high=max(few, many))
    else:
        wanted = Span(low=len(tasks), high=len(tasks))
    documents = bool(sleep.skill) + bool(sleep.memory)
    low, high = (_calls(config, *_sides(config, int(count), tasks), documents) for count in (wanted.low, wanted.high))
    mining = 0 if tasks is not None else len(sessions)
    dreams = int(wanted.high) if sleep.dream and tasks is None else 0
    target = Span(low=1 + low[0].low, high=1 + high[0].high)
    optimizer = Span(low=1 + mining + low[1].low, high=1 + 3 * mining + dreams + high[1].high)
    probes = 0 if tasks is not None else int(wanted.high)
    judge = Span(low=0, high=1 + probes + high[0].high)
    idle = tasks is None and not sessions
    mined = sum(len(session_text(session)) for session in sessions) // _PER_TOKEN if tasks is None else 0
    calls = (target, optimizer, judge)
    bounds = [
        _asked(bound, calls) if idle else _usage(bound, calls, (mined, mining), document_chars // _PER_TOKEN)
        for bound in (0, 1)
    ]
    prices = [price_of(section, config.prices) for section in (config.target, config.optimizer)]
    judged = config.judge or config.optimizer
    prices.append(price_of(judged, config.prices))
    spent = [[cost(usage, price) for usage, price in zip(bound, prices, strict=True)] for bound in bounds]
    money = [[each for each in bound if each is not None] for bound in spent]
    known = all(len(bound) == len(prices) for bound in money)
    return NightForecast(
        sessions=len(sessions),
        tasks=wanted,
        target_calls=target,
        optimizer_calls=optimizer,
        judge_calls=judge,
        tokens=Span(low=sum(u.total for u in bounds[0]), high=sum(u.total for u in bounds[1])),
        usd=Span(low=sum(money[0]), high=sum(money[1])) if known else None,
        assumptions=("each model is only asked whether it is there",)
        if idle
        else (
            f"a session gives {_TASKS_OF_A_SESSION[0]} to {_TASKS_OF_A_SESSION[1]} tasks"
            if tasks is None
            else "the tasks of the file",
            "an attempt is one call" if config.agent.name == "chat" else "an attempt of a program is many calls",
            f"tokens of an attempt beside the documents: {sum(_ATTEMPT[0])} to {sum(_ATTEMPT[1]):,}",
        ),
    )


def _sides(config: SleepConfig, count: int, tasks: Sequence[MinedTask] | None) -> tuple[int, int, int]:
    """How many tasks are for training, for the gate and for the test: those of a file where it says so."""
    sleep = config.sleep
    if tasks is not None and any(task.split != "train" for task in tasks):
        splits = [task.split for task in tasks]
        return splits.count("train"), splits.count("val"), splits.count("test")
    val, test = round(count * sleep.val_fraction), round(count * config.test_fraction)
    train = max(0, count - val - test)
    more = 0 if tasks is not None else 2 * train * sleep.dream
    return train + more, val, test


def _calls(config: SleepConfig, train: int, val: int, test: int, documents: int) -> tuple[Span, Span]:
    """Attempts and optimizer calls, for so many documents."""
    sleep = config.sleep
    if not train:
        return Span(low=0, high=0), Span(low=0, high=0)
    if not val:
        config = config.model_copy(update={"train": config.train.model_copy(update={"epochs": 1})})
    known = Known(config, {"train": train, "val": val, "test": 0})
    work = policy_of(config).forecast(known)
    confirmed = 2 * (val + sleep.retire * (train + val)) * sleep.confirm_trials
    attempts = Span(
        low=documents * sum(part.attempts.low for part in work) + test,
        high=documents * (sum(part.attempts.high for part in work) + confirmed) + test,
    )
    calls = Span(
        low=documents * sum(part.calls.low for part in work), high=documents * sum(part.calls.high for part in work)
    )
    return attempts, calls


def _asked(bound: int, calls: tuple[Span, Span, Span]) -> list[Usage]:
    """As `_usage`, of a night that only asks whether its models are there."""
    asked = _ASKED[bound]
    counts = [int(span.high if bound else span.low) for span in calls]
    return [Usage(input_tokens=count * asked[0], output_tokens=count * asked[1]) for count in counts]


def _usage(bound: int, calls: tuple[Span, Span, Span], mined: tuple[int, int], documents: int) -> list[Usage]:
    """Tokens of target, optimizer and judge at the low (0) or the high (1) end."""
    counts = [int(span.high if bound else span.low) for span in calls]
    attempt, reading, grade, mine = _ATTEMPT[bound], _READING[bound], _GRADE[bound], _MINED[bound]
    text, sessions = mined
    return [
        Usage(input_tokens=counts[0] * (attempt[0] + documents), output_tokens=counts[0] * attempt[1]),
        Usage(
            input_tokens=text + max(0, counts[1] - sessions) * reading[0],
            output_tokens=sessions * mine[1] + max(0, counts[1] - sessions) * reading[1],
        ),
        Usage(input_tokens=counts[2] * grade[0], output_tokens=counts[2] * grade[1]),
    ]
