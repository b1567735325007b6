"""What a run may use: the most attempts and calls, counted from its tasks and settings. What they come to is taken
from the log of the run folder, and is unknown where the same agent and model made none there."""

from typing import NamedTuple

from etude.models.wrappers.metered import cost
from etude.records import Record, Role, Split, digest, role_of
from etude.searches import Known, policy_of
from etude.skill import Document
from etude.store.projections.log import Log
from etude.workbench import Workbench


class Span(Record):
    """From the least to the most that a number may be."""

    low: float
    high: float


class Share(Record):
    """What a role may use. Tokens, money and time are what attempts or calls of the same agent or model in the run
    folder came to on average, times how many there may be; None where there were none yet."""

    calls: int | None
    """At most; None where an attempt of the agent is one call or more, and no limit says how many in all."""
    tokens: Span | None = None
    """Input and output."""
    usd: Span | None = None
    """At today's price; None also where that is unknown."""
    seconds: Span | None = None
    """With all its slots busy."""


class Forecast(Record):
    """What a run may use, at most what its `limits` allow."""

    policy: str
    attempts: int
    """Of the target, at most."""
    least: int
    """Those of the test, which only a run that is stopped goes without."""
    roles: dict[Role, Share]
    """Those that the run has, the target first."""
    limits: dict[str, float]
    """Those that are set on `calls`, `tokens`, `usd` and `minutes`, for all roles together."""


def forecast_run(bench: Workbench, log: Log) -> Forecast:
    """What the run of a workbench may use, by what the log of its folder has seen. Sends nothing."""
    config, limits = bench.config, bench.config.limits
    tasks: dict[Split, int] = {split: len(some) for split, some in bench.tasks.items()}
    tasks["train"] = len({task.own_id for task in bench.tasks["train"]})  # of several targets one attempts it
    most = policy_of(config).most(Known(config, tasks, len({task.type for task in bench.tasks["train"]})))
    tested = tasks["test"] * config.test.trials if config.test.enabled else 0
    bare = tested if config.test.no_skill and Document.parse(bench.skill.text).body.strip() else 0
    least, attempts = tested + bare, most.attempts + 2 * tested + bare  # without a better skill one is tested
    roles: dict[Role, Share] = {
        "target": _share(bench, log, "target", least, attempts),
        "optimizer": _share(bench, log, "optimizer", 0, most.calls),
    }
    if judged(bench):
        roles["judge"] = _share(bench, log, "judge", 0, attempts)
    if _calls_each(bench):
        attempts = min(attempts, limits.calls or attempts)
    set_ones = limits.model_dump(include={"calls", "tokens", "usd", "minutes"}, exclude_none=True)
    return Forecast(policy=config.search.policy, attempts=attempts, least=least, roles=roles, limits=set_ones)


def judged(bench: Workbench) -> bool:
    """Whether an attempt may be graded by the judge, with one call."""
    return "judge" in bench.models and not bench.rollout.env.repeatable


def _calls_each(bench: Workbench) -> int | None:
    """Calls of an attempt; None where they are one or more."""
    return {"chat": 1, "listing": 1, "lexical": 0}.get(bench.rollout.agent.name)


def _share(bench: Workbench, log: Log, role: Role, least: int, most: int) -> Share:
    """Of a role that is asked in so many attempts or calls."""
    limits, slots = bench.config.limits, bench.config.limits.concurrency
    each = _calls_each(bench) if role == "target" else 1
    calls = limits.calls if each is None else min(each * most, limits.calls or each * most)
    used = _attempted(bench, log) if role == "target" else _asked(bench, log, role)
    if not used.made:
        return Share(calls=calls)

    def span(amount: float, limit: float | None) -> Span:
        low, high = amount / used.made * least, amount / used.made * most
        return Span(low=low, high=max(low, min(high, limit or high)))

    seconds = used.seconds
    if seconds is not None and role != "optimizer":  # its calls wait for each other
        seconds /= min(slots, bench.config.target.max_concurrency or slots)
    return Share(
        calls=calls,
        tokens=span(used.tokens, limits.tokens),
        usd=None if used.usd is None else span(used.usd, limits.usd),
        seconds=None if seconds is None else span(seconds, limits.minutes and 60 * limits.minutes),
    )


class _Used(NamedTuple):
    """What the log knows of attempts or calls."""

    made: int
    tokens: float
    usd: float | None
    seconds: float | None


def _attempted(bench: Workbench, log: Log) -> _Used:
    """Of attempts by this agent, which is one with these models."""
    mine = digest(bench.rollout.agent.fingerprint())[:8]
    targets = {task.id: task.target for some in bench.tasks.values() for task in some}
    ours = (each for each in log.attempts if each.agent == mine and each.task in targets and each.outcome != "void")
    made = {each.attempt: each for each in ours}.values()
    costs = [bench.rollout.cost(targets[each.task], each.usage, False) for each in made]
    tokens, asked = sum(each.usage.total for each in made), _asked(bench, log, "target")
    known = [usd for usd in costs if usd is not None] if bench.rollout.agent.metered else []
    return _Used(
        made=len(made),
        tokens=tokens,
        usd=sum(known) if len(known) == len(made) else None,
        seconds=asked.seconds * tokens / asked.tokens if asked.seconds and asked.tokens else None,
    )


def _asked(bench: Workbench, log: Log, role: Role) -> _Used:
    """Of calls of the models of a role."""
    models = {digest(one.fingerprint())[:8]: one for place, one in bench.models.items() if role_of(place) == role}
    answers = {name: log.answers[role, name] for name in models if (role, name) in log.answers}
    costs = [cost(each.usage, models[name].price) for name, each in answers.items()]
    known = [usd for usd in costs if usd is not None]
    return _Used(
        made=sum(each.calls for each in answers.values()),
        tokens=sum(each.usage.total for each in answers.values()),
        usd=sum(known) if len(known) == len(costs) else None,
        seconds=sum(each.seconds for each in answers.values()),
    )
