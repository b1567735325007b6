"""What a night would do and cost, before anything is sent.

One range for each, from a night whose first rewrite works to one in which nothing does until the last epoch. How long
questions and answers are is taken from the transcripts.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from etude.models import price_of
from etude.models.wrappers.metered import cost
from etude.records import Record, Role, Usage
from etude.records.summary import Span
from etude.searches.forecast import parts
from etude.sleep.config import SleepConfig
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.tasks.mining import session_text
from etude.sleep.transcripts.sessions import Session

_PER_TOKEN = 4
"""Characters."""
_FEWEST_OF_A_SESSION = 0.5
"""Tasks that a session gives where sessions give few. Where they give many, it is one or two."""
_TURNS_OF_A_TASK = 3
_ANSWER = 400
"""Tokens of an answer, where there is no transcript to see it from."""
_LONGER = (0.6, 1.0)
"""How much longer than in the transcripts answers may be: the low end and the high one, as in all pairs below."""
_RULES = 4
"""That a candidate brings at most, for the trial of each alone."""
_GRADED = (0.25, 0.45)
"""Share of attempts that a judge sees: those at tasks with a rubric that pass the checks."""
_ATTEMPT, _ANALYSIS, _SHOWN, _GRADE, _MINE, _PING = 150, 900, 450, 300, 1_000, 60
"""Tokens of a call besides documents, questions and answers; `_SHOWN` for each attempt that an analysis is shown."""
_ANALYSED, _GRADED_OUT, _MINED = (60, 300), (12, 100), (80, 300)
"""Output tokens."""


class NightForecast(Record):
    """A range for each, in which a night lies that finds tasks."""

    sessions: int
    """Sessions that would be read."""
    calls: Span
    """Of all models together, and at most what `limits` allow; so are tokens and money."""
    tokens: Span
    """Input and output."""
    usd: Span | None
    """None when a price is unknown."""
    assumptions: tuple[str, ...]


class _Sizes(NamedTuple):
    """What the tokens of a call depend on."""

    document: int
    question: float
    answer: float


class _Work(NamedTuple):
    """Calls and tokens by role."""

    calls: int
    usage: dict[Role, Usage]


def forecast_night(
    config: SleepConfig, sessions: Sequence[Session], tasks: Sequence[MinedTask] | None, document_chars: int
) -> NightForecast:
    """What a night comes to, with the tasks of a file or what is mined from sessions. Asks no model. The documents
    that the agent reads have `document_chars` characters."""
    sizes = _sizes(sessions, tasks, document_chars // _PER_TOKEN)
    low, high = (_end(config, sessions, tasks, sizes, bound) for bound in (0, 1))
    cheap, dear = (_usd(config, end) for end in (low, high))
    few, many = (sum(usage.total for usage in end.usage.values()) for end in (low, high))
    limits = config.limits
    if tasks is None and not sessions:
        assumptions: tuple[str, ...] = ("each model is only asked whether it is there",)
    else:
        assumptions = (
            f"an answer has about {sizes.answer:,.0f} tokens, without what a model thinks before it",
            *(() if config.agent.name == "chat" else ("an attempt of a program is many calls",)),
        )
    if tasks is None and sessions:
        assumptions += (f"a night that finds no task ends after about {len(sessions) + 2} calls",)
    return NightForecast(
        sessions=len(sessions),
        calls=_within(low.calls, high.calls, limits.calls),
        tokens=_within(few, many, limits.tokens),
        usd=None if cheap is None or dear is None else _within(cheap, dear, limits.usd),
        assumptions=assumptions,
    )


def _within(low: float, high: float, limit: float | None) -> Span:
    return Span(low=low, high=high) if limit is None else Span(low=min(low, limit), high=min(high, limit))


def _usd(config: SleepConfig, work: _Work) -> float | None:
    models = {"target": config.target, "optimizer": config.optimizer, "judge": config.judge or config.optimizer}
    costs = [cost(usage, price_of(models[role], config.prices)) for role, usage in work.usage.items()]
    return None if None in costs else sum(each or 0.0 for each in costs)


def _sizes(sessions: Sequence[Session], tasks: Sequence[MinedTask] | None, document: int) -> _Sizes:
    """The first question of a session is the task, and its longest answer the one to it."""
    if tasks is not None:
        return _Sizes(document, _mean([len(task.intent) + len(task.context) for task in tasks]), _ANSWER)
    asked = [max(len(turn.prompt) for turn in session.turns) for session in sessions if session.turns]
    said = [max(len(turn.answer) for turn in session.turns) for session in sessions if session.turns]
    return _Sizes(document, _mean(asked), max(50, _mean(said)))


def _mean(chars: Sequence[int]) -> float:
    return fmean(chars) / _PER_TOKEN if chars else 0


def _end(
    config: SleepConfig, sessions: Sequence[Session], tasks: Sequence[MinedTask] | None, sizes: _Sizes, bound: int
) -> _Work:
    """The low end (0) or the high one (1)."""
    if tasks is None and not sessions:
        ping = Usage(input_tokens=_PING, output_tokens=(1, 50)[bound])
        roles: list[Role] = ["target", "optimizer", *(["judge"] if config.judge else [])]
        return _Work(len(roles), dict.fromkeys(roles, ping))
    mined = [] if tasks is not None else [len(session_text(session)) // _PER_TOKEN for session in sessions]
    count = _tasks(config, sessions, bound) if tasks is None else len(tasks)
    train, val, test = _sides(config, count, tasks)
    attempts, rounds = _training(config, train, val, bound)
    analyses = rounds * (parts(train, config.reflect.minibatch_size) + 1 + bound)
    dreams = config.sleep.dream * count * bound if tasks is None else 0
    probes, wishes = (count, bound) if tasks is None else (0, 0)
    grades = probes + round(attempts * _GRADED[bound])
    question, answer = sizes.question, sizes.answer * _LONGER[bound]
    read = analyses * (_ANALYSIS + sizes.document) + rounds * train * (question + answer + _SHOWN)
    usage: dict[Role, Usage] = {
        "target": _usage(
            _PING + (attempts + test) * (_ATTEMPT + sizes.document + question), (attempts + test) * answer
        ),
        "optimizer": _usage(
            _PING + len(mined) * _MINE + sum(mined) + read + (dreams + wishes) * _ANALYSIS,
            len(mined) * _MINED[bound] + (analyses + dreams + wishes) * _ANALYSED[bound],
        ),
        "judge": _usage(grades * (_GRADE + question + answer), grades * _GRADED_OUT[bound]),
    }
    calls = 2 + int(config.judge is not None) + len(mined) + attempts + test + analyses + dreams + wishes + grades
    return _Work(calls, usage)


def _usage(input_tokens: float, output_tokens: float) -> Usage:
    return Usage(input_tokens=round(input_tokens), output_tokens=round(output_tokens))


def _tasks(config: SleepConfig, sessions: Sequence[Session], bound: int) -> int:
    """How many tasks are mined: at the high end two of a session with turns enough for them."""
    many = sum(2 if len(session.turns) >= 2 * _TURNS_OF_A_TASK else 1 for session in sessions)
    few = min(len(sessions), max(2, round(len(sessions) * _FEWEST_OF_A_SESSION)))
    return min(config.sleep.max_tasks, many if bound else few)


def _sides(config: SleepConfig, count: int, tasks: Sequence[MinedTask] | None) -> tuple[int, int, int]:
    """How many tasks are for training, for the gate and for the test: those of a file where it says so."""
    splits = [task.split for task in tasks or ()]
    if set(splits) - {"train"}:
        return splits.count("train"), splits.count("val"), splits.count("test")
    val, test = round(count * config.sleep.val_fraction), round(count * config.test_fraction)
    train = max(0, count - val - test)
    return train * (1 + (2 * config.sleep.dream if tasks is None else 0)), val, test


def _training(config: SleepConfig, train: int, val: int, bound: int) -> tuple[int, int]:
    """Attempts to improve the documents, and how often the optimizer reads those at all training tasks.

    At the low end the first rewrite of the first document solves what is held out, and nothing is left for the other.
    At the high end either nothing helps, in any epoch and for any document, or the first candidate does and has
    several rules, which are tried one by one."""
    if not train:
        return 0, 0
    sleep, tries = config.sleep, train * config.train.attempts
    epochs = config.train.epochs if val else 1
    confirmed = 2 * val * sleep.confirm_trials
    found = val + tries + val + confirmed
    if not bound:
        return found, 1
    documents = bool(sleep.skill) + bool(sleep.memory)
    nothing = documents * (val + epochs * (tries + val))
    alone = (1 + _RULES) * (train + val) * sleep.confirm_trials if val else 0
    retired = 2 * sleep.retire * documents * (train + val) * sleep.confirm_trials
    return max(nothing, found + alone + (documents - 1) * val) + retired, documents * epochs
