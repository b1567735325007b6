"""What a run may use: the counts of its policy times what a call comes to.

The low end is a run to its end that finds nothing to do; no run makes more attempts and calls than the high end says.
What a call comes to is taken from the log of the run folder where it has calls, and else assumed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from etude.records import Record, Role, Split, role_of
from etude.records.summary import Span
from etude.searches import Known, StageWork, policy_of
from etude.searches.base import between
from etude.skill import Document, token_count
from etude.store.projections.log import Log
from etude.workbench import Workbench

_ROLES: tuple[Role, ...] = ("target", "optimizer", "judge")
_ANSWER, _EDITS = Span(low=10, high=400), Span(low=50, high=1500)
"""Tokens of a reply of the target or the judge, and of the optimizer, as long as none was seen."""
_ANSWERED, _READ, _SIMULATED = Span(low=1, high=5), Span(low=5, high=20), Span(low=0.001, high=0.02)
"""Seconds that they take, and that a simulated one does."""
_REQUESTS = Span(low=1, high=8)
"""In an attempt of another agent than `chat`, likewise."""
_AROUND, _IMAGE, _GROWTH = 60, 1000, 250
"""Tokens around a text in a request, of an image, and that the skill grows by on average, at most."""
_NONE, _ONE = between(0, 0), between(1, 1)


class Used(Record):
    """What a run or a part of it may use."""

    target_calls: Span
    optimizer_calls: Span
    judge_calls: Span
    tokens: Span
    """Input and output, all roles together."""
    usd: Span | None
    """None when a price is unknown."""
    seconds: Span


class ForecastStage(Used):
    """What a part of a run comes to."""

    name: str
    attempts: Span
    """Of the target; an attempt is one call or more."""


class Forecast(Used):
    """What a run may use in all. Its `limits` cap the high ends."""

    policy: str
    stages: tuple[ForecastStage, ...]
    assumptions: tuple[str, ...]
    """What the numbers rest on, in sentences."""


class _Call(NamedTuple):
    """What one call comes to."""

    tokens: Span
    usd: Span | None
    seconds: Span
    """Of its slot."""
    known: str


def forecast_run(bench: Workbench, log: Log) -> Forecast:
    """What the run of a workbench will use, by what the log of its folder has seen. Sends nothing."""
    tasks: dict[Split, int] = {split: len(some) for split, some in bench.tasks.items()}
    tasks["train"] = len({task.own_id for task in bench.tasks["train"]})  # of several targets one attempts it
    known = Known(bench.config, tasks, len({task.type for task in bench.tasks["train"]}))
    return _forecast(bench, log, (*policy_of(bench.config).forecast(known), *_test(bench)))


def forecast_attempts(bench: Workbench, log: Log, attempts: int) -> Forecast:
    """What this many attempts with the initial skill will use."""
    return _forecast(bench, log, [StageWork("attempts", between(attempts, attempts))])


def _test(bench: Workbench) -> Iterator[StageWork]:
    """One skill is tested where nothing better was found."""
    test = bench.config.test
    tested = len(bench.tasks["test"]) * test.trials if test.enabled else 0
    yield StageWork("test", between(tested, 2 * tested))
    if tested and test.no_skill and Document.parse(bench.skill.text).body.strip():
        yield StageWork("no skill", between(tested, tested))


def _forecast(bench: Workbench, log: Log, works: Sequence[StageWork]) -> Forecast:
    calls: dict[Role, _Call] = {role: _seen(log, role) or _assumed(bench, role) for role in _ROLES}
    requests, judged, slots = _requests(bench, log), _judged(bench), _slots(bench)
    made: list[Mapping[Role, Span]] = [
        {"target": (one.attempts * requests).whole, "optimizer": one.calls, "judge": one.attempts * judged}
        for one in works
    ]
    counts: dict[Role, Span] = {role: _sum(one[role] for one in made) for role in _ROLES}
    limits = bench.config.limits
    most = {"tokens": limits.tokens, "usd": limits.usd, "seconds": limits.minutes and 60 * limits.minutes}
    used = {name: span and span.capped(most.get(name, limits.calls)) for name, span in _used(counts, calls, slots)}
    stages = [
        ForecastStage(name=work.stage, attempts=work.attempts, **dict(_used(one, calls, slots)))
        for work, one in zip(works, made, strict=True)
    ]
    said = tuple(_assumptions(bench, {role: calls[role] for role in _ROLES if counts[role].high}, requests))
    return Forecast(policy=bench.config.search.policy, stages=tuple(stages), assumptions=said, **used)


def _used(counts: Mapping[Role, Span], calls: Mapping[Role, _Call], slots: int) -> Iterator[tuple[str, Any]]:
    """The fields of `Used`."""
    rates = [(counts[role], calls[role]) for role in _ROLES if counts[role].high]
    costs = [count * call.usd for count, call in rates if call.usd is not None]
    waits = [(count, call.seconds, 1 if call is calls["optimizer"] else 1 / slots) for count, call in rates]
    yield from ((f"{role}_calls", counts[role]) for role in _ROLES)
    yield "tokens", _sum(count * call.tokens for count, call in rates).whole
    yield "usd", _sum(costs) if len(costs) == len(rates) else None
    yield "seconds", _sum(count * seconds * share for count, seconds, share in waits)


def _seen(log: Log, role: Role) -> _Call | None:
    """What the calls of a role came to on average; None if there was none."""
    sums = [each for (of, _), each in log.costs.items() if of == role]
    count = sum(each.calls - each.failed for each in sums)
    if not count:
        return None
    costs = [each.usd for each in sums if each.usd is not None]
    usd = _ONE * (sum(costs) / count) if len(costs) == len(sums) else None
    tokens, seconds = sum(each.usage.total for each in sums), sum(each.seconds for each in sums)
    return _Call(_ONE * (tokens / count), usd, _ONE * (seconds / count), "measured")


def _assumed(bench: Workbench, role: Role) -> _Call:
    models = [model for place, model in bench.models.items() if role_of(place) == role]
    reply, seconds = (_EDITS, _READ) if role == "optimizer" else (_ANSWER, _ANSWERED)
    asked, said = _asked(bench, role), reply.capped(max((model.max_output_tokens for model in models), default=0))
    prices = [model.price for model in models if model.price is not None]
    costs = [asked * (price.input / 1e6) + said * (price.output / 1e6) for price in prices]
    known = bool(costs) and len(costs) == len(models)
    usd = Span(low=min(one.low for one in costs), high=max(one.high for one in costs)) if known else None
    simulated = all(model.simulated for model in models)
    return _Call(asked + said, usd, _SIMULATED if simulated else seconds, "assumed")


def _asked(bench: Workbench, role: Role) -> Span:
    """Tokens of a request: at most with a longer skill, and for the optimizer with all attempts of a minibatch."""
    prompts, skill = bench.prompts, token_count(bench.skill.text)
    longer = max(0, min(_GROWTH, bench.config.skill.max_tokens - skill))
    texts = [token_count(task.input) + _IMAGE * len(task.images) for some in bench.tasks.values() for task in some]
    task = _AROUND + sum(texts) / max(1, len(texts))
    if role == "target":
        own = bench.rollout.agent.prompt_tokens + token_count(prompts["chat"]) + task + skill
        return Span(low=own, high=own + longer)
    if role == "judge":
        graded = token_count(prompts["rubric"]) + task
        return Span(low=graded, high=2 * graded + _ANSWER.high)
    reflect = bench.config.reflect
    fixed = token_count(prompts["reflect_failures"]) + token_count(prompts["return_edits"]) + skill
    attempt = _AROUND + min(reflect.max_trajectory_chars / 4, task + 2 * _ANSWER.high)
    return Span(low=fixed, high=fixed + longer + reflect.minibatch_size * attempt)


def _requests(bench: Workbench, log: Log) -> Span:
    """To the target in an attempt."""
    if bench.rollout.agent.name == "chat":
        return _ONE
    return _ONE * (log.calls.get("target", 0) / len(log.known)) if log.known else _REQUESTS


def _judged(bench: Workbench) -> Span:
    """An attempt is graded once where the scorer is known to ask the judge."""
    env = bench.rollout.env
    if "judge" not in bench.models or env.repeatable:
        return _NONE
    return _ONE if getattr(getattr(env, "scorer", None), "asks_judge", False) else between(0, 1)


def _slots(bench: Workbench) -> int:
    most = bench.config.limits.concurrency
    return min(most, bench.config.target.max_concurrency or most)


def _assumptions(bench: Workbench, calls: Mapping[Role, _Call], requests: Span) -> Iterator[str]:
    for role, call in calls.items():
        yield f"a call of the {role} has {call.tokens.shown} tokens and takes {_brief(call.seconds)} s ({call.known})"
    if bench.rollout.agent.name != "chat":
        own = f", with about {bench.rollout.agent.prompt_tokens:,} tokens of instructions and tools each"
        yield f"requests in an attempt: {_brief(requests)}{own if bench.rollout.agent.prompt_tokens else ''}"
    yield f"attempts at the same time: {_slots(bench)}; optimizer calls wait for each other"
    yield "not counted: retries, answers that lack the form and are asked for again, prices of a provider's cache"


def _sum(spans: Iterable[Span]) -> Span:
    return sum(spans, _NONE)


def _brief(span: Span) -> str:
    low, high = f"{span.low:.2g}", f"{span.high:.2g}"
    return low if low == high else f"{low} to {high}"
