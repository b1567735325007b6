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

_TASKS_OF_A_SESSION = (0.3, 1.5)
"""How many tasks a session is likely to give, after clustering: from little to much, as all below."""
_ATTEMPT, _ANALYSIS, _GRADE = ((300, 100), (2_500, 1_200)), ((2_000, 200), (20_000, 2_500)), ((500, 50), (3_000, 400))
"""Tokens of a call, input and output; an attempt has those of the documents as well."""
_PING = ((40, 1), (300, 50))
"""The question whether a model is there."""
_MINED = (100, 1_500)
"""Output tokens about a session, whose length is known."""
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
    """What a night comes to, with the tasks of a file or what is mined from sessions. Asks no model. The documents
    that the agent reads have `document_chars` characters."""
    low, high = (_end(config, sessions, tasks, document_chars // _PER_TOKEN, bound) for bound in (0, 1))
    spans = {name: None if high[name] is None else Span(low=low[name] or 0, high=high[name] or 0) for name in low}
    few, many = _TASKS_OF_A_SESSION
    assumptions = (
        f"a session gives {few} to {many} tasks" if tasks is None else "the tasks of the file",
        "an attempt is one call" if config.agent.name == "chat" else "an attempt of a program is many calls",
        f"tokens of an attempt without the documents: {sum(_ATTEMPT[0])} to {sum(_ATTEMPT[1]):,}",
    )
    if tasks is None and not sessions:
        assumptions = ("each model is only asked whether it is there",)
    return NightForecast.model_validate({"sessions": len(sessions), "assumptions": assumptions, **spans})


def _end(
    config: SleepConfig, sessions: Sequence[Session], tasks: Sequence[MinedTask] | None, document: int, bound: int
) -> dict[str, float | None]:
    """The low end (0) or the high one (1) of each range."""
    mined = [] if tasks is not None else [len(session_text(session)) // _PER_TOKEN for session in sessions]
    count = (
        min(config.sleep.max_tasks, round(len(mined) * _TASKS_OF_A_SESSION[bound])) if tasks is None else len(tasks)
    )
    attempts, analyses = _training(config, _sides(config, count, tasks), bound)
    probes = count * bound if tasks is None else 0
    dreams = probes if config.sleep.dream else 0
    calls = (1 + attempts, 1 + len(mined) * (1, 3)[bound] + dreams + analyses, (1 + probes + attempts) * bound)
    kinds, more = (_ATTEMPT, _ANALYSIS, _GRADE), ((calls[0] * document, 0), (sum(mined), len(mined) * _MINED[bound]))
    if tasks is None and not sessions:
        kinds, more = (_PING, _PING, _PING), ((0, 0), (0, 0))
    usages = [
        Usage(input_tokens=number * kind[bound][0] + extra[0], output_tokens=number * kind[bound][1] + extra[1])
        for number, kind, extra in zip(
            (calls[0], calls[1] - len(mined), calls[2]), kinds, (*more, (0, 0)), strict=True
        )
    ]
    models = (config.target, config.optimizer, config.judge or config.optimizer)
    costs = [cost(usage, price_of(model, config.prices)) for usage, model in zip(usages, models, strict=True)]
    return {
        "tasks": count,
        **dict(zip(("target_calls", "optimizer_calls", "judge_calls"), calls, strict=True)),
        "tokens": sum(usage.total for usage in usages),
        "usd": None if None in costs else sum(each or 0 for each in costs),
    }


def _sides(config: SleepConfig, count: int, tasks: Sequence[MinedTask] | None) -> tuple[int, int, int]:
    """How many tasks are for training, for the gate and for the test: those of a file where it says so."""
    splits = [task.split for task in tasks or ()]
    if set(splits) - {"train"}:
        return splits.count("train"), splits.count("val"), splits.count("test")
    val, test = round(count * config.sleep.val_fraction), round(count * config.test_fraction)
    train = max(0, count - val - test)
    return train * (1 + (2 * config.sleep.dream if tasks is None else 0)), val, test


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
