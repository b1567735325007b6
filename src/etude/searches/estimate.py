"""What a run will use: from counts of attempts and calls to requests, tokens, money and time.

Sizes of calls come from prompts, tasks and skill, and from stated assumptions where nobody can know: how long replies
are, how long they take, how the skill grows. Ranges are combined as errors are, so that a result is not as wide as
all its worst cases together.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from etude.config import Price
from etude.records import Role, Split, Task
from etude.records.summary import Forecast, ForecastStage, Span
from etude.searches import policy_of
from etude.searches.forecast import NOTHING, Known, Work, exactly, plus
from etude.searches.headroom import TRIALS, Measurement, headroom_of, known_measurement
from etude.skill import token_count
from etude.workbench import Workbench

__all__ = ["forecast_attempts", "forecast_run"]

_IMAGE_TOKENS = 1000
_MESSAGE_TOKENS = 8
_GROWTH = 250
"""Tokens by which the skill is longer on average over a run, at most."""
_BLOCK_TOKENS = 60
"""Of an attempt as the optimizer reads it, beside task, reply and feedback."""
_LEDGER_TOKENS = 40
"""Of an earlier edit as the optimizer reads it."""
_OWN_SECONDS = 0.002
"""Of an attempt, for what is not waiting for a model."""
_OTHER_AGENT = Span(low=1, high=4)
"""Requests in an attempt of an agent or a function of one's own, when nobody has measured it."""


class _Replies(NamedTuple):
    """What is assumed about the replies of a model."""

    tokens: Span
    seconds: Span


_ASSUMED: Mapping[Role, _Replies] = {
    "target": _Replies(Span(low=60, high=360), Span(low=1.5, high=5)),
    "optimizer": _Replies(Span(low=250, high=1500), Span(low=6, high=20)),
    "judge": _Replies(Span(low=60, high=240), Span(low=1.5, high=5)),
}
_SIMULATED: Mapping[Role, _Replies] = {
    "target": _Replies(Span(low=8, high=24), Span(low=0.003, high=0.015)),
    "optimizer": _Replies(Span(low=40, high=240), Span(low=0.003, high=0.015)),
    "judge": _Replies(Span(low=10, high=60), Span(low=0.003, high=0.015)),
}


class _Sizes(NamedTuple):
    """Tokens of one request, and how long its answer takes."""

    input: Span
    output: Span
    seconds: Span


def forecast_run(bench: Workbench, measured: Measurement | None = None) -> Forecast:
    """What the run of a workbench will use in all. Asks nobody.

    Args:
        measured: what `plan --measure` found; by default what the run folder knows of it.
    """
    known = known_measurement(bench) if measured is None else measured
    estimate = _Estimate(bench, known)
    works = estimate.works
    if known is not None:
        one = len(bench.tasks["val"])
        # The first trial is the baseline; a search without one makes it only where nothing better is found.
        more = exactly(one) if policy_of(bench.config).baseline else Span(low=one, high=TRIALS * one)
        works = (Work("headroom", more, attempt_waits=exactly(estimate.rounds(TRIALS * one))), *works)
    return estimate.of(works)


def forecast_attempts(bench: Workbench, attempts: int) -> Forecast:
    """What so many attempts with the initial skill will use."""
    estimate = _Estimate(bench, None, growing=False)
    return estimate.of((Work("attempts", exactly(attempts), attempt_waits=exactly(estimate.rounds(attempts))),))


class _Estimate:
    def __init__(self, bench: Workbench, measured: Measurement | None, *, growing: bool = True) -> None:
        self._bench = bench
        self._growing = growing
        self._sizes = None if measured is None else measured.sizes
        headroom = None if measured is None else headroom_of(bench, measured.evaluation)
        tasks: dict[Split, int] = {split: len(some) for split, some in bench.tasks.items()}
        kinds = len({task.type for task in bench.tasks["train"]})
        failing = None if headroom is None else 1 - headroom.score.mean
        self._known = Known(bench.config, tasks, kinds, failing)

    @property
    def works(self) -> tuple[Work, ...]:
        """The parts of a run."""
        return policy_of(self._bench.config).forecast(self._known)

    def rounds(self, attempts: float) -> int:
        """How often attempts have to wait for others."""
        return math.ceil(attempts / self._known.concurrency)

    def of(self, works: Sequence[Work]) -> Forecast:
        """What these parts come to."""
        bench = self._bench
        attempts, optimizer_calls = _sum(work.attempts for work in works), _sum(work.calls for work in works)
        calls: dict[Role, Span] = {
            "target": _rounded(_times(attempts, self._per_attempt)),
            "optimizer": optimizer_calls,
            "judge": self._judged(attempts),
        }
        sizes: dict[Role, _Sizes] = {role: self._size(role) for role in calls}
        tokens = [_all(calls[role], plus(size.input, size.output)) for role, size in sizes.items()]
        return Forecast(
            policy=bench.config.search.policy,
            target_calls=calls["target"],
            optimizer_calls=calls["optimizer"],
            judge_calls=calls["judge"],
            tokens=_rounded(_spread(*tokens)),
            usd=self._usd(calls, sizes),
            seconds=self._seconds(works, calls, sizes),
            stages=tuple(
                ForecastStage(name=work.stage, attempts=work.attempts, optimizer_calls=work.calls) for work in works
            ),
            assumptions=tuple(self._assumptions(sizes)),
        )

    @property
    def _per_attempt(self) -> Span:
        if self._bench.rollout.agent.name == "chat":
            return exactly(1)
        measured = None if self._sizes is None else self._sizes.per_attempt
        return _OTHER_AGENT if measured is None else exactly(measured)

    def _judged(self, attempts: Span) -> Span:
        """An attempt is graded once where the scorer is known to ask the judge."""
        env = self._bench.rollout.env
        if "judge" not in self._bench.models or env.repeatable:
            return NOTHING
        return attempts if _asks_judge(env) else Span(low=0, high=attempts.high)

    def _size(self, role: Role) -> _Sizes:
        model = self._bench.models.get(role)
        if model is None:
            return _Sizes(NOTHING, NOTHING, NOTHING)
        replies = (_SIMULATED if model.simulated else _ASSUMED)[role]
        output = _capped(replies.tokens, model.max_output_tokens)
        if role == "target":
            return self._target_size(output, replies.seconds)
        prompt = self._optimizer_input() if role == "optimizer" else self._judge_input()
        return _Sizes(prompt, output, replies.seconds)

    def _target_size(self, output: Span, seconds: Span) -> _Sizes:
        growth, measured = self._growth, self._sizes
        if measured is not None:
            return _Sizes(
                Span(low=measured.input_tokens, high=measured.input_tokens + growth),
                exactly(measured.output_tokens),
                # Simulated models take turns in this process: how long each took says how many there were.
                seconds if self._bench.models["target"].simulated else _about(measured.seconds),
            )
        bench = self._bench
        tasks = [task for some in bench.tasks.values() for task in some]
        prompt = token_count(bench.prompts["chat"]) + 2 * _MESSAGE_TOKENS + _mean_tokens(tasks)
        low = prompt + token_count(bench.skill.text)
        return _Sizes(Span(low=low, high=low + growth), output, seconds)

    def _optimizer_input(self) -> Span:
        bench, reflect = self._bench, self._bench.config.reflect
        fixed = sum(token_count(bench.prompts[name]) for name in ("reflect_failures", "return_edits"))
        fixed += token_count(bench.skill.text) + 2 * _MESSAGE_TOKENS
        reply = self._size("target").output
        block = _BLOCK_TOKENS + _mean_tokens(bench.tasks["train"])
        most = reflect.max_trajectory_chars / 4 + _BLOCK_TOKENS
        low, high = min(most, block + reply.low), min(most, block + 2 * reply.high)
        ledger = _LEDGER_TOKENS * reflect.ledger_entries
        # Merges and last minibatches are shorter than a full reading.
        return Span(
            low=0.5 * (fixed + reflect.minibatch_size * low),
            high=fixed + self._growth + reflect.minibatch_size * high + ledger,
        )

    def _judge_input(self) -> Span:
        tasks = [task for some in self._bench.tasks.values() for task in some]
        fixed = token_count(self._bench.prompts["rubric"]) + _mean_tokens(tasks) + 2 * _MESSAGE_TOKENS
        reply = self._size("target").output
        return Span(low=fixed + reply.low, high=2 * fixed + reply.high)

    @property
    def _growth(self) -> int:
        if not self._growing:
            return 0
        room = self._bench.config.skill.max_tokens - token_count(self._bench.skill.text)
        return max(0, min(_GROWTH, room))

    def _usd(self, calls: Mapping[Role, Span], sizes: Mapping[Role, _Sizes]) -> Span | None:
        parts: list[Span] = []
        for role, some in calls.items():
            if some.high == 0:
                continue
            model = self._bench.models.get(role)
            price = None if model is None else model.price
            if price is None:
                return None
            parts.append(_cost(some, sizes[role], price))
        total = _spread(*parts)
        return Span(low=round(total.low, 4), high=round(total.high, 4))

    def _seconds(self, works: Sequence[Work], calls: Mapping[Role, Span], sizes: Mapping[Role, _Sizes]) -> Span:
        if all(
            model.simulated for model in self._bench.models.values()
        ):  # they share one thread with everything else
            total = _times(plus(calls["target"], calls["optimizer"]), sizes["target"].seconds)
            return _seconds(total)
        attempts = _sum(work.attempt_waits for work in works)
        each = _times(self._per_attempt, sizes["target"].seconds)
        if calls["judge"].high:
            each = plus(each, sizes["judge"].seconds)
        waiting = _spread(
            _times(attempts, each), _times(_sum(work.call_waits for work in works), sizes["optimizer"].seconds)
        )
        own = _times(calls["target"], exactly(_OWN_SECONDS))
        return _seconds(plus(waiting, own))

    def _assumptions(self, sizes: Mapping[Role, _Sizes]) -> Iterator[str]:
        known, bench = self._known, self._bench
        if known.failing is None:
            share = known.failing_span
            yield f"the initial skill fails on {share.low:.0%} to {share.high:.0%} of the tasks"
        else:
            yield f"the initial skill fails on about {known.failing:.0%} of the tasks (measured)"
        if bench.rollout.agent.name != "chat":
            each = self._per_attempt
            told = f"{each.low} to {each.high}" if each == _OTHER_AGENT else f"{each.low:.1f} (measured)"
            yield f"requests in an attempt: {told}"
        growth = f"the skill grows by up to {self._growth:,} tokens on average over the run"
        yield f"{growth}; four characters are one token"
        for role in ("target", "optimizer"):
            has, takes = sizes[role].output, sizes[role].seconds
            measured = " (measured)" if role == "target" and self._sizes is not None else ""
            timed = "" if self._bench.models[role].simulated else measured
            yield f"a reply of the {role} has {_told(has)} tokens{measured} and takes {_told(takes)} s{timed}"
        yield f"attempts at the same time: {known.concurrency}; no retries, no caching by the provider"


def _asks_judge(env: object) -> bool:
    return getattr(getattr(env, "scorer", None), "asks_judge", False)


def _mean_tokens(tasks: Sequence[Task]) -> float:

    total = sum(token_count(task.input) + _IMAGE_TOKENS * len(task.images) for task in tasks)
    return total / len(tasks) if tasks else 0.0


def _cost(calls: Span, size: _Sizes, price: Price) -> Span:
    paid = plus(_scaled(size.input, price.input / 1e6), _scaled(size.output, price.output / 1e6))
    return _all(calls, paid)


def _all(calls: Span, each: Span) -> Span:
    """The product of ranges that go together: a search that finds much makes more calls, about a longer skill."""
    return Span(low=calls.low * each.low, high=calls.high * each.high)


def _times(one: Span, other: Span) -> Span:
    """The product of independent ranges: centers multiply, relative spreads add in quadrature."""
    if not one.high or not other.high:
        return NOTHING
    if not one.low or not other.low:
        return Span(low=one.low * other.low, high=one.high * other.high)
    center = math.sqrt(one.low * one.high * other.low * other.high)
    spread = math.hypot(math.log(one.high / one.low), math.log(other.high / other.low)) / 2
    return Span(low=center / math.exp(spread), high=center * math.exp(spread))


def _spread(*parts: Span) -> Span:
    """The sum of ranges: centers add, and spreads as standard deviations with a correlation of 0.8 do. A search that
    ends early does little of everything, one that goes on has causes of its own for each."""
    center = sum((part.low + part.high) / 2 for part in parts)
    spreads = [(part.high - part.low) / 2 for part in parts]
    half = math.sqrt(0.8 * sum(spreads) ** 2 + 0.2 * sum(spread**2 for spread in spreads))
    return Span(low=max(0.0, center - half), high=center + half)


def _sum(parts: Iterable[Span]) -> Span:
    total = NOTHING
    for part in parts:
        total = plus(total, part)
    return total


def _scaled(span: Span, factor: float) -> Span:
    return Span(low=span.low * factor, high=span.high * factor)


def _about(number: float) -> Span:
    return Span(low=0.8 * number, high=1.25 * number)


def _capped(span: Span, most: float) -> Span:
    return Span(low=min(span.low, most), high=min(span.high, most))


def _rounded(span: Span) -> Span:
    return Span(low=math.floor(span.low), high=math.ceil(span.high))


def _seconds(span: Span) -> Span:
    return Span(low=round(span.low, 1), high=round(span.high, 1))


def _told(span: Span) -> str:
    low, high = (f"{end:.0f}" if end >= 10 else f"{end:.2g}" for end in (span.low, span.high))
    return low if low == high else f"{low} to {high}"
