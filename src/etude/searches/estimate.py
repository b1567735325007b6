"""What a run will use: from counts of attempts and calls to requests, tokens, money and time.

Sizes of calls come from prompts, tasks and skill, and from stated assumptions where nothing is measured: how long
replies are, how long they take, how the skill grows.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from etude.config import Price
from etude.records import Role, Split, Task
from etude.records.summary import Forecast, ForecastStage, Span
from etude.searches import policy_of
from etude.searches.forecast import NOTHING, Known, StageWork, exactly
from etude.searches.headroom import TRIALS, Measurement, headroom_of, known_measurement
from etude.skill import token_count
from etude.workbench import Workbench

__all__ = ["forecast_attempts", "forecast_run"]

_IMAGE_TOKENS = 1000
_MESSAGE_TOKENS = 8
_GROWTH = 250
"""Tokens by which the skill is longer on average over a run, at most."""
_BLOCK_TOKENS, _LEDGER_TOKENS = 60, 40
"""Of an attempt as the optimizer reads it, in addition to task, reply and feedback; and of an earlier edit."""
_OWN_SECONDS = 0.002
"""Of an attempt, for what is not waiting for a model."""
_OTHER_AGENT = Span(low=1, high=4)
"""Requests in an attempt of another agent than `chat`, when they are not measured."""


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
    """What the run of a workbench will use in all. Sends nothing.

    Args:
        measured: what `plan --measure` found; by default what the run folder knows of it.
    """
    known = known_measurement(bench) if measured is None else measured
    estimate, policy = _Estimate(bench, known), policy_of(bench.config)
    works = policy.forecast(estimate.known)
    if known is not None:
        one = len(bench.tasks["val"])
        # The first trial is the baseline; a search without one makes it only where nothing better is found.
        more = exactly(one) if policy.search.baseline else Span(low=one, high=TRIALS * one)
        works = (StageWork("headroom", more, attempt_waits=exactly(estimate.rounds(TRIALS * one))), *works)
    return estimate.of(works)


def forecast_attempts(bench: Workbench, attempts: int) -> Forecast:
    """What this many attempts with the initial skill will use."""
    estimate = _Estimate(bench, None, growing=False)
    return estimate.of((StageWork("attempts", exactly(attempts), attempt_waits=exactly(estimate.rounds(attempts))),))


class _Estimate:
    def __init__(self, bench: Workbench, measured: Measurement | None, *, growing: bool = True) -> None:
        self._bench = bench
        self._sizes = None if measured is None else measured.sizes
        room = bench.config.skill.max_tokens - token_count(bench.skill.text)
        self._growth = max(0, min(_GROWTH, room)) if growing else 0
        headroom = None if measured is None else headroom_of(bench, measured.evaluation)
        tasks: dict[Split, int] = {split: len(some) for split, some in bench.tasks.items()}
        kinds = len({task.type for task in bench.tasks["train"]})
        self.known = Known(bench.config, tasks, kinds, None if headroom is None else 1 - headroom.score.mean)
        measured_requests = None if self._sizes is None else self._sizes.per_attempt
        each = _OTHER_AGENT if measured_requests is None else exactly(measured_requests)
        self._per_attempt = exactly(1) if bench.rollout.agent.name == "chat" else each

    def rounds(self, attempts: float) -> int:
        """How often attempts have to wait for others."""
        return math.ceil(attempts / self.known.concurrency)

    def of(self, works: Sequence[StageWork]) -> Forecast:
        """What these parts come to."""
        attempts = _sum(*(work.attempts for work in works))
        calls: dict[Role, Span] = {
            "target": _rounded(_times(attempts, self._per_attempt)),
            "optimizer": _sum(*(work.calls for work in works)),
            "judge": self._judged(attempts),
        }
        sizes: dict[Role, _Sizes] = {role: self._size(role) for role in calls}
        tokens = [_times(calls[role], _sum(size.input, size.output)) for role, size in sizes.items()]
        return Forecast(
            policy=self._bench.config.search.policy,
            target_calls=calls["target"],
            optimizer_calls=calls["optimizer"],
            judge_calls=calls["judge"],
            tokens=_rounded(_sum(*tokens)),
            usd=self._usd(calls, sizes),
            seconds=self._seconds(works, calls, sizes),
            stages=tuple(
                ForecastStage(name=work.stage, attempts=work.attempts, optimizer_calls=work.calls) for work in works
            ),
            assumptions=tuple(self._assumptions(sizes)),
        )

    def _judged(self, attempts: Span) -> Span:
        """An attempt is graded once where the scorer is known to ask the judge."""
        env = self._bench.rollout.env
        if "judge" not in self._bench.models or env.repeatable:
            return NOTHING
        asks = getattr(getattr(env, "scorer", None), "asks_judge", False)
        return attempts if asks else Span(low=0, high=attempts.high)

    def _size(self, role: Role) -> _Sizes:
        bench, measured = self._bench, self._sizes
        model = bench.models.get(role)
        if model is None:
            return _Sizes(NOTHING, NOTHING, NOTHING)
        replies = (_SIMULATED if model.simulated else _ASSUMED)[role]
        most = model.max_output_tokens
        output = Span(low=min(replies.tokens.low, most), high=min(replies.tokens.high, most))
        if role == "target" and measured is not None:
            sent = Span(low=measured.input_tokens, high=measured.input_tokens + self._growth)
            # Simulated models take turns in this process: how long each took says how many there were.
            around = Span(low=0.8 * measured.seconds, high=1.25 * measured.seconds)
            return _Sizes(sent, exactly(measured.output_tokens), replies.seconds if model.simulated else around)
        inputs = {"target": self._target_input, "optimizer": self._optimizer_input, "judge": self._judge_input}
        return _Sizes(inputs[role](), output, replies.seconds)

    def _target_input(self) -> Span:
        bench = self._bench
        low = token_count(bench.prompts["chat"]) + 2 * _MESSAGE_TOKENS + _mean_tokens(bench.tasks)
        low += token_count(bench.skill.text)
        return Span(low=low, high=low + self._growth)

    def _optimizer_input(self) -> Span:
        bench, reflect = self._bench, self._bench.config.reflect
        fixed = sum(token_count(bench.prompts[name]) for name in ("reflect_failures", "return_edits"))
        fixed += token_count(bench.skill.text) + 2 * _MESSAGE_TOKENS
        reply = self._size("target").output
        block = _BLOCK_TOKENS + _mean_tokens({"train": bench.tasks["train"]})
        most = reflect.max_trajectory_chars / 4 + _BLOCK_TOKENS
        low, high = min(most, block + reply.low), min(most, block + 2 * reply.high)
        ledger = _LEDGER_TOKENS * reflect.ledger_entries
        # Merges and last minibatches are shorter than a full analysis.
        return Span(
            low=0.5 * (fixed + reflect.minibatch_size * low),
            high=fixed + self._growth + reflect.minibatch_size * high + ledger,
        )

    def _judge_input(self) -> Span:
        fixed = token_count(self._bench.prompts["rubric"]) + _mean_tokens(self._bench.tasks) + 2 * _MESSAGE_TOKENS
        reply = self._size("target").output
        return Span(low=fixed + reply.low, high=2 * fixed + reply.high)

    def _usd(self, calls: Mapping[Role, Span], sizes: Mapping[Role, _Sizes]) -> Span | None:
        spent = [NOTHING]
        for role, some in calls.items():
            model = self._bench.models.get(role)
            price = None if model is None else model.price
            if some.high and price is None:
                return None
            if some.high and price is not None:
                spent.append(_times(some, _price(sizes[role], price)))
        total = _sum(*spent)
        return Span(low=round(total.low, 4), high=round(total.high, 4))

    def _seconds(self, works: Sequence[StageWork], calls: Mapping[Role, Span], sizes: Mapping[Role, _Sizes]) -> Span:
        if all(model.simulated for model in self._bench.models.values()):  # they share one thread with everything
            total = _times(_sum(calls["target"], calls["optimizer"]), sizes["target"].seconds)
        else:
            each = _times(self._per_attempt, sizes["target"].seconds)
            each = _sum(each, sizes["judge"].seconds) if calls["judge"].high else each
            total = _sum(
                _times(_sum(*(work.attempt_waits for work in works)), each),
                _times(_sum(*(work.call_waits for work in works)), sizes["optimizer"].seconds),
                _times(calls["target"], exactly(_OWN_SECONDS)),
            )
        return Span(low=round(total.low, 1), high=round(total.high, 1))

    def _assumptions(self, sizes: Mapping[Role, _Sizes]) -> Iterator[str]:
        known, bench = self.known, self._bench
        if known.failing is None:
            share = known.failing_span
            yield f"the initial skill fails on {share.low:.0%} to {share.high:.0%} of the tasks"
        else:
            yield f"the initial skill fails on about {known.failing:.0%} of the tasks (measured)"
        if bench.rollout.agent.name != "chat":
            each = self._per_attempt
            yield f"requests in an attempt: {_told(each)}{'' if each == _OTHER_AGENT else ' (measured)'}"
        growth = f"the skill grows by up to {self._growth:,} tokens on average over the run"
        yield f"{growth}; four characters are one token"
        for role in ("target", "optimizer"):
            has, takes = sizes[role].output, sizes[role].seconds
            measured = " (measured)" if role == "target" and self._sizes is not None else ""
            timed = "" if bench.models[role].simulated else measured
            yield f"a reply of the {role} has {_told(has)} tokens{measured} and takes {_told(takes)} s{timed}"
        yield f"attempts at the same time: {known.concurrency}; no retries, no caching by the provider"


def _mean_tokens(tasks: Mapping[Split, Sequence[Task]]) -> float:
    sizes = [token_count(task.input) + _IMAGE_TOKENS * len(task.images) for some in tasks.values() for task in some]
    return sum(sizes) / len(sizes) if sizes else 0.0


def _price(size: _Sizes, price: Price) -> Span:
    low, high = (
        (sent * price.input + got * price.output) / 1e6
        for sent, got in ((size.input.low, size.output.low), (size.input.high, size.output.high))
    )
    return Span(low=low, high=high)


def _times(one: Span, other: Span) -> Span:
    return Span(low=one.low * other.low, high=one.high * other.high)


def _sum(*spans: Span) -> Span:
    return Span(low=sum(span.low for span in spans), high=sum(span.high for span in spans))


def _rounded(span: Span) -> Span:
    return Span(low=math.floor(span.low), high=math.ceil(span.high))


def _told(span: Span) -> str:
    low, high = (f"{end:.0f}" if end >= 10 else f"{end:.2g}" for end in (span.low, span.high))
    return low if low == high else f"{low} to {high}"
