"""What a night may use, before anything is sent.

The low end is a night that finds no task, or whose held-out tasks pass as they are. The high end is one in which
nothing helps until the last epoch, for any document, and everything is confirmed all the same. How long questions and
answers are is taken from the transcripts.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from etude.models import price_of
from etude.records import Record, Role, Split
from etude.records.summary import Span
from etude.searches import Known, StageWork, policy_of
from etude.searches.base import between
from etude.sleep.config import SleepConfig
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.tasks.mining import session_text
from etude.sleep.transcripts.sessions import Session

_PER_TOKEN = 4
"""Characters."""
_TURNS_OF_A_TASK = 3
"""A session with twice as many gives two tasks at most, any other one."""
_ANSWER = 400
"""Tokens of an answer, where there is no transcript to see it from."""
_RULES = 4
"""That a candidate brings at most, for the trial of each alone."""
_PROMPT, _SHOWN = 1_000, 450
"""Tokens of a call besides documents, questions and answers, and of each attempt that an analysis is shown."""
_REPLY = Span(low=1, high=300)
"""Tokens of what optimizer and judge reply."""
_NOTHING = between(0, 0)


class NightForecast(Record):
    """From the least to the most that a night uses."""

    sessions: int
    """Sessions that would be read."""
    calls: Span
    """Of all models together, and at most what `limits` allow; so are tokens and money."""
    tokens: Span
    """Input and output."""
    usd: Span | None
    """None when a price is unknown."""
    assumptions: tuple[str, ...]


class _Work(NamedTuple):
    """Calls of a role, and the tokens of each."""

    role: Role
    calls: Span
    asked: float = 0
    said: Span = _REPLY


def forecast_night(
    config: SleepConfig, sessions: Sequence[Session], tasks: Sequence[MinedTask] | None, document_chars: int
) -> NightForecast:
    """What a night comes to, with the tasks of a file or what is mined from sessions. Asks no model. The documents
    that the agent reads have `document_chars` characters."""
    roles: list[Role] = ["target", "optimizer", *(["judge"] if config.judge else [])]
    works = [_Work(role, between(1, 1), 0, Span(low=1, high=50)) for role in roles]  # whether it is there
    answer = _answer(sessions) if tasks is None else _ANSWER
    assumptions = ["each model is only asked whether it is there"]
    if tasks is not None or sessions:
        works += _night(config, sessions, tasks, document_chars / _PER_TOKEN, answer)
        assumptions = [f"an answer has about {answer:,.0f} tokens, without what a model thinks before it"]
        assumptions.append(f"a candidate has at most {_RULES} new rules")
        assumptions += [] if config.agent.name == "chat" else ["an attempt of a program is many calls"]
    limits = config.limits
    models = {"target": config.target, "optimizer": config.optimizer, "judge": config.judge or config.optimizer}
    usd, tokens = _NOTHING, _NOTHING
    priced = True
    for role, calls, asked, said in works:
        price = price_of(models[role], config.prices)
        tokens += calls * (said + between(asked, asked))
        priced = priced and (price is not None or not calls.high)
        if price is not None:
            usd += calls * (said * (price.output / 1e6) + Span(low=asked, high=asked) * (price.input / 1e6))
    return NightForecast(
        sessions=len(sessions),
        calls=sum((work.calls for work in works), _NOTHING).capped(limits.calls),
        tokens=tokens.capped(limits.tokens),
        usd=usd.capped(limits.usd) if priced else None,
        assumptions=tuple(assumptions),
    )


def _answer(sessions: Sequence[Session]) -> float:
    """The longest answer of a session is the one to its task."""
    said = [max(len(turn.answer) for turn in session.turns) for session in sessions if session.turns]
    return max(50, _mean(said))


def _mean(chars: Sequence[int]) -> float:
    return fmean(chars) / _PER_TOKEN if chars else 0


def _night(
    config: SleepConfig,
    sessions: Sequence[Session],
    tasks: Sequence[MinedTask] | None,
    document: float,
    answer: float,
) -> list[_Work]:
    """What there is to do beside asking whether the models are there."""
    sleep, mined = config.sleep, sessions if tasks is None else ()
    if tasks is None:
        asked = [max(len(turn.prompt) for turn in session.turns) for session in sessions if session.turns]
        several = sum(2 if len(session.turns) >= 2 * _TURNS_OF_A_TASK else 1 for session in sessions)
        least, most = _sides(config, 0, None), _sides(config, min(sleep.max_tasks, several), None)
    else:
        asked = [len(task.intent) + len(task.context) for task in tasks]
        least = most = _sides(config, len(tasks), tasks)
    read = _mean([len(session_text(session)) for session in mined])
    documents = bool(sleep.skill) + bool(sleep.memory)
    low, high = (_searched(config, sides) for sides in (least, most))
    both = most["train"] + most["val"]
    confirmed = 2 * most["val"] + (1 + _RULES + 2 * sleep.retire) * both if most["train"] and most["val"] else 0
    again = documents * confirmed * sleep.confirm_trials
    attempts = between(low.attempts.low + least["test"], documents * high.attempts.high + again + most["test"])
    analyses = between(low.calls.low, documents * high.calls.high)
    found = both + most["test"] if tasks is None else 0
    shown = min(config.reflect.minibatch_size, most["train"]) * (_mean(asked) + answer + _SHOWN)
    others = between(0, (sleep.dream * found + 1) if tasks is None else 0)
    return [
        _Work("optimizer", between(len(mined), len(mined)), _PROMPT + read),
        _Work("target", attempts, _PROMPT + document + _mean(asked), Span(low=0.5 * answer, high=answer)),
        _Work("optimizer", analyses, _PROMPT + document + shown, _REPLY),
        _Work("optimizer", others, _PROMPT),
        _Work("judge", between(0, attempts.high + found), _PROMPT + _mean(asked) + answer),
    ]


def _sides(config: SleepConfig, count: int, tasks: Sequence[MinedTask] | None) -> dict[Split, int]:
    """How many tasks are for training, for the gate and for the test: those of a file where it says so."""
    splits = [task.split for task in tasks or ()]
    if set(splits) - {"train"}:
        return {"train": splits.count("train"), "val": splits.count("val"), "test": splits.count("test")}
    val, test = round(count * config.sleep.val_fraction), round(count * config.test_fraction)
    train = max(0, count - val - test)
    return {"train": train * (1 + (2 * config.sleep.dream if tasks is None else 0)), "val": val, "test": test}


def _searched(config: SleepConfig, sides: dict[Split, int]) -> StageWork:
    """The search for a better document in all."""
    if not sides["train"]:
        return StageWork("search", _NOTHING)
    if not sides["val"]:  # one rewrite shows what it would be
        config = config.model_copy(update={"train": config.train.model_copy(update={"epochs": 1})})
    works = policy_of(config).forecast(Known(config, sides))
    return StageWork("search", sum((w.attempts for w in works), _NOTHING), sum((w.calls for w in works), _NOTHING))
