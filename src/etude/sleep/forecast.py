"""The most that a night asks of its models, counted before anything is sent: nothing helps until the last epoch, for
any document, and everything is confirmed all the same."""

from collections.abc import Sequence

from etude.records import Record, Split
from etude.searches import Known, policy_of
from etude.searches.search import Most
from etude.sleep.config import SleepConfig
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.transcripts.sessions import Session

_TURNS_OF_A_TASK = 3
"""A session with twice as many gives two tasks at most, any other one."""
RULES = 4
"""That a document gets at most, as far as this is told: each is tried alone."""


class NightForecast(Record):
    """No night makes more, but for retries and answers that are asked for again because they lack the form."""

    sessions: int
    """Sessions that would be read."""
    attempts: int
    """By the target."""
    calls: int | None
    """Of all models together, and at most what `limits` allow; None where an attempt of the agent is one call or
    more, and no limit says how many in all."""


def forecast_night(
    config: SleepConfig, sessions: Sequence[Session], tasks: Sequence[MinedTask] | None
) -> NightForecast:
    """What a night comes to at most, with the tasks of a file or what is mined from sessions. Asks no model."""
    most, limit = _night(config, sessions, tasks) if sessions or tasks else Most(0), config.limits.calls
    calls = 2 + (config.judge is not None) + most.attempts + most.calls  # each model is asked whether it is there
    counted = config.agent.name == "chat"
    calls = min(calls, limit or calls) if counted else limit
    return NightForecast(sessions=len(sessions), attempts=most.attempts, calls=calls)


def _night(config: SleepConfig, sessions: Sequence[Session], tasks: Sequence[MinedTask] | None) -> Most:
    """What there is to do beside asking whether the models are there."""
    sleep, mined = config.sleep, tasks is None
    several = sum(2 if len(session.turns) >= 2 * _TURNS_OF_A_TASK else 1 for session in sessions)
    sides = _sides(config, min(sleep.max_tasks, several) if tasks is None else len(tasks), tasks)
    found, documents = sum(sides.values()), bool(sleep.skill) + bool(sleep.memory)
    search, confirmed = _searched(config, sides), 0
    if sides["train"] and sides["val"]:
        confirmed = 2 * sides["val"] + (1 + RULES + 2 * sleep.retire) * (sides["train"] + sides["val"])
    attempts = documents * (search.attempts + confirmed * sleep.confirm_trials) + sides["test"]
    read = len(sessions) + sleep.dream * found + 1 if mined else 0  # what is wished for takes one call
    judged = attempts + (found if mined else 0)  # the criteria of each task are tried
    return Most(attempts, documents * search.calls + read + judged)


def _sides(config: SleepConfig, count: int, tasks: Sequence[MinedTask] | None) -> dict[Split, int]:
    """How many tasks are for training, for the gate and for the test: those of a file where it says so."""
    splits = [task.split for task in tasks or ()]
    if set(splits) - {"train"}:
        return {"train": splits.count("train"), "val": splits.count("val"), "test": splits.count("test")}
    val, test = round(count * config.sleep.val_fraction), round(count * config.test_fraction)
    train = max(0, count - val - test)
    return {"train": train * (1 + (2 * config.sleep.dream if tasks is None else 0)), "val": val, "test": test}


def _searched(config: SleepConfig, sides: dict[Split, int]) -> Most:
    """The search for a better document."""
    if not sides["train"]:
        return Most(0)
    tried: dict[Split, int] = {**sides, "val": sides["val"] or sides["train"]}
    return policy_of(config).most(Known(config, tried, kinds=sides["train"]))
