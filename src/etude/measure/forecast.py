"""What a run may use: the most attempts and calls, counted from its tasks and settings. What a call comes to is taken
from the log of the run folder, and is unknown where that has none."""

from etude.records import Record, Role, Split
from etude.searches import Known, policy_of
from etude.skill import Document
from etude.store.projections.log import Log
from etude.workbench import Workbench


class Span(Record):
    """From the least to the most that a number may be."""

    low: float
    high: float


class Share(Record):
    """What a role may use. Tokens, money and time are what its calls in the run folder came to on average, times how
    many calls there may be; None where there were none yet."""

    calls: int | None
    """At most; None where an attempt of the agent is one call or more, and no limit says how many in all."""
    tokens: Span | None = None
    """Input and output."""
    usd: Span | None = None
    """None also where a price is unknown."""
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
    if _one_call(bench):
        attempts = min(attempts, limits.calls or attempts)
    set_ones = limits.model_dump(include={"calls", "tokens", "usd", "minutes"}, exclude_none=True)
    return Forecast(policy=config.search.policy, attempts=attempts, least=least, roles=roles, limits=set_ones)


def judged(bench: Workbench) -> bool:
    """Whether an attempt may be graded by the judge, with one call."""
    return "judge" in bench.models and not bench.rollout.env.repeatable


def _one_call(bench: Workbench) -> bool:
    """Whether an attempt is one call."""
    return bench.rollout.agent.name == "chat"


def _share(bench: Workbench, log: Log, role: Role, least: int, most: int) -> Share:
    """Of a role that is asked in so many attempts or calls."""
    limits, slots = bench.config.limits, bench.config.limits.concurrency
    counted = role != "target" or _one_call(bench)
    calls = min(most, limits.calls or most) if counted else limits.calls
    sums = [each for (of, _), each in log.story.use.items() if of == role]
    made = sum(each.calls - each.failed for each in sums) if counted else len(log.known)
    if not sums or not made:
        return Share(calls=calls)

    def span(used: float, limit: float | None) -> Span:
        low, high = used / made * least, used / made * most
        return Span(low=low, high=max(low, min(high, limit or high)))

    costs = [each.usd for each in sums if each.usd is not None]
    seconds = sum(each.seconds for each in sums)
    if role != "optimizer":  # its calls wait for each other
        seconds /= min(slots, bench.config.target.max_concurrency or slots)
    return Share(
        calls=calls,
        tokens=span(sum(each.usage.total for each in sums), limits.tokens),
        usd=span(sum(costs), limits.usd) if len(costs) == len(sums) else None,
        seconds=span(seconds, limits.minutes and 60 * limits.minutes),
    )
