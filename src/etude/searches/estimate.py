"""What a run will use: from counts of attempts and calls to requests, tokens, money and time.

Sizes of calls come from prompts, tasks and skill, and from stated assumptions where nothing is known beforehand: how
long replies are, how long they take, how the skill grows.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from etude.records import Role, Split, Task, role_of
from etude.records.summary import Forecast, ForecastStage, Span
from etude.searches import policy_of
from etude.searches.forecast import NOTHING, Known, StageWork, attempted, exactly
from etude.searches.headroom import TRIALS, Headroom, known_headroom
from etude.skill import Document, token_count
from etude.workbench import Workbench

_IMAGE_TOKENS = 1000
_MESSAGE_TOKENS = 8
_GROWTH = 250
"""Tokens by which the skill is longer on average over a run, at most."""
_BLOCK_TOKENS, _LEDGER_TOKENS = 60, 40
"""Of an attempt as the optimizer reads it, in addition to task, reply and feedback; and of an earlier edit."""
_OWN_SECONDS = 0.002
"""Of an attempt, for what is not waiting for a model."""
_OTHER_AGENT = Span(low=1, high=4)
"""Requests in an attempt of another agent than `chat`."""
_REPLIES: Mapping[tuple[Role, bool], tuple[Span, Span]] = {
    ("target", False): (Span(low=60, high=360), Span(low=1.5, high=5)),
    ("optimizer", False): (Span(low=250, high=1500), Span(low=6, high=20)),
    ("judge", False): (Span(low=60, high=240), Span(low=1.5, high=5)),
    ("target", True): (Span(low=8, high=24), Span(low=0.003, high=0.015)),
    ("optimizer", True): (Span(low=40, high=240), Span(low=0.003, high=0.015)),
    ("judge", True): (Span(low=10, high=60), Span(low=0.003, high=0.015)),
}
"""Tokens and seconds that a reply is assumed to take, by role and whether the model is simulated."""


class _Size(NamedTuple):
    """Tokens of one request, and how long its answer takes."""

    input: Span = NOTHING
    output: Span = NOTHING
    seconds: Span = NOTHING


def forecast_run(bench: Workbench) -> Forecast:
    """What the run of a workbench will use in all. Sends nothing."""
    policy, headroom = policy_of(bench.config), known_headroom(bench)
    known = _known(bench, headroom)
    works = policy.forecast(known)
    if headroom is not None:
        one = len(bench.tasks["val"])
        # The first trial is the baseline; a search without one makes it only where nothing better is found.
        more = Span(low=one, high=one if policy.search.baseline else TRIALS * one)
        works = (attempted(known, "headroom", more, exactly(1)), *works)
    test = bench.config.test
    if test.enabled and test.no_skill and Document.parse(bench.skill.text).body.strip():
        one = exactly(len(bench.tasks["test"]) * test.trials)
        works = (*works, attempted(known, "no skill", one, exactly(1)))
    room = bench.config.skill.max_tokens - token_count(bench.skill.text)
    return _forecast(bench, known, works, growth=max(0, min(_GROWTH, room)))


def forecast_attempts(bench: Workbench, attempts: int) -> Forecast:
    """What this many attempts with the initial skill will use."""
    known = _known(bench, None)
    return _forecast(bench, known, [attempted(known, "attempts", exactly(attempts), exactly(1))], growth=0)


def _known(bench: Workbench, headroom: Headroom | None) -> Known:
    tasks: dict[Split, int] = {split: len(some) for split, some in bench.tasks.items()}
    tasks["train"] = len({task.own_id for task in bench.tasks["train"]})  # of several targets one attempts it
    kinds = len({task.type for task in bench.tasks["train"]})
    return Known(bench.config, tasks, kinds, None if headroom is None else 1 - headroom.score.mean)


def _forecast(bench: Workbench, known: Known, works: Sequence[StageWork], *, growth: int) -> Forecast:
    sizes = _sizes(bench, growth)
    per_attempt = exactly(1) if bench.rollout.agent.name == "chat" else _OTHER_AGENT
    attempts = _sum(*(work.attempts for work in works))
    calls: dict[Role, Span] = {
        "target": _rounded(_times(attempts, per_attempt)),
        "optimizer": _sum(*(work.calls for work in works)),
        "judge": _judged(bench, attempts),
    }
    tokens = [_times(calls[role], _sum(size.input, size.output)) for role, size in sizes.items()]
    if all(model.simulated for model in bench.models.values()):  # they share one thread with everything
        seconds = _times(_sum(calls["target"], calls["optimizer"]), sizes["target"].seconds)
    else:
        each = _times(per_attempt, sizes["target"].seconds)
        each = _sum(each, sizes["judge"].seconds) if calls["judge"].high else each
        seconds = _sum(
            _times(_sum(*(work.attempt_waits for work in works)), each),
            _times(_sum(*(work.call_waits for work in works)), sizes["optimizer"].seconds),
            _times(calls["target"], exactly(_OWN_SECONDS)),
        )
    return Forecast(
        policy=bench.config.search.policy,
        target_calls=calls["target"],
        optimizer_calls=calls["optimizer"],
        judge_calls=calls["judge"],
        tokens=_rounded(_sum(*tokens)),
        usd=_usd(bench, calls, sizes),
        seconds=Span(low=round(seconds.low, 1), high=round(seconds.high, 1)),
        stages=tuple(
            ForecastStage(name=work.stage, attempts=work.attempts, optimizer_calls=work.calls) for work in works
        ),
        assumptions=tuple(_assumptions(bench, known, sizes, growth)),
    )


def _judged(bench: Workbench, attempts: Span) -> Span:
    """An attempt is graded once where the scorer is known to ask the judge."""
    env = bench.rollout.env
    if "judge" not in bench.models or env.repeatable:
        return NOTHING
    asks = getattr(getattr(env, "scorer", None), "asks_judge", False)
    return attempts if asks else Span(low=0, high=attempts.high)


def _sizes(bench: Workbench, growth: int) -> dict[Role, _Size]:
    prompts, skill, reflect = bench.prompts, token_count(bench.skill.text), bench.config.reflect
    replies: dict[Role, _Size] = {"target": _Size(), "optimizer": _Size(), "judge": _Size()}
    for place, model in bench.models.items():
        role = role_of(place)
        tokens, seconds = _REPLIES[role, model.simulated]
        most = model.max_output_tokens
        replies[role] = _Size(NOTHING, Span(low=min(tokens.low, most), high=min(tokens.high, most)), seconds)
    answer, task = replies["target"].output, _mean_tokens(bench.tasks)
    asked = bench.rollout.agent.prompt_tokens + token_count(prompts["chat"]) + 2 * _MESSAGE_TOKENS + task + skill
    graded = token_count(prompts["rubric"]) + 2 * _MESSAGE_TOKENS + task
    fixed = sum(token_count(prompts[name]) for name in ("reflect_failures", "return_edits"))
    fixed += skill + 2 * _MESSAGE_TOKENS
    block = _BLOCK_TOKENS + _mean_tokens({"train": bench.tasks["train"]})
    most = reflect.max_trajectory_chars / 4 + _BLOCK_TOKENS
    low, high = min(most, block + answer.low), min(most, block + 2 * answer.high)
    ledger = _LEDGER_TOKENS * reflect.ledger_entries
    inputs: dict[Role, Span] = {
        "target": Span(low=asked, high=asked + growth),
        # Merges and last minibatches are shorter than a full analysis.
        "optimizer": Span(
            low=0.5 * (fixed + reflect.minibatch_size * low),
            high=fixed + growth + reflect.minibatch_size * high + ledger,
        ),
        "judge": Span(low=graded + answer.low, high=2 * graded + answer.high),
    }
    return {role: size._replace(input=inputs[role]) for role, size in replies.items()}


def _usd(bench: Workbench, calls: Mapping[Role, Span], sizes: Mapping[Role, _Size]) -> Span | None:
    low = high = 0.0
    for role, some in calls.items():
        if not some.high:
            continue
        size, models = sizes[role], [model for place, model in bench.models.items() if role_of(place) == role]
        for price in [model.price for model in models]:  # several targets share the calls
            if price is None:
                return None
            share = 1e6 * len(models)
            low += some.low * (size.input.low * price.input + size.output.low * price.output) / share
            high += some.high * (size.input.high * price.input + size.output.high * price.output) / share
    return Span(low=round(low, 4), high=round(high, 4))


def _assumptions(bench: Workbench, known: Known, sizes: Mapping[Role, _Size], growth: int) -> Iterator[str]:
    if known.failing is None:
        share = known.failing_span
        yield f"the initial skill fails on {share.low:.0%} to {share.high:.0%} of the tasks"
    else:
        yield f"the initial skill fails on about {known.failing:.0%} of the tasks (measured)"
    if bench.rollout.agent.name != "chat":
        own = bench.rollout.agent.prompt_tokens
        more = (
            f", each with about {own:,} tokens of instructions and tools of {bench.rollout.agent.name}" if own else ""
        )
        yield f"requests in an attempt: {_shown(_OTHER_AGENT)}{more}"
    yield f"the skill grows by up to {growth:,} tokens on average over the run; four characters are one token"
    for role in ("target", "optimizer"):
        size = sizes[role]
        yield f"a reply of the {role} has {_shown(size.output)} tokens and takes {_shown(size.seconds)} s"
    yield f"attempts at the same time: {known.concurrency}; no retries, no caching by the provider"


def _mean_tokens(tasks: Mapping[Split, Sequence[Task]]) -> float:
    sizes = [token_count(task.input) + _IMAGE_TOKENS * len(task.images) for some in tasks.values() for task in some]
    return sum(sizes) / len(sizes) if sizes else 0.0


def _times(one: Span, other: Span) -> Span:
    return Span(low=one.low * other.low, high=one.high * other.high)


def _sum(*spans: Span) -> Span:
    return Span(low=sum(span.low for span in spans), high=sum(span.high for span in spans))


def _rounded(span: Span) -> Span:
    return Span(low=math.floor(span.low), high=math.ceil(span.high))


def _shown(span: Span) -> str:
    low, high = (f"{end:.0f}" if end >= 10 else f"{end:.2g}" for end in (span.low, span.high))
    return low if low == high else f"{low} to {high}"
