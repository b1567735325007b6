"""Many seeds: the same training again and again, and how far the results spread."""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self, Unpack

from etude.config import Settings, TrainConfig, config_of
from etude.display import seen
from etude.errors import ConfigError, StopRun
from etude.files import unwritable, write_atomically
from etude.intervals import t_interval
from etude.readable import counted
from etude.records import Metric, Record, brief
from etude.records.summary import Interval, Summary
from etude.store.run import plain_name
from etude.trainer import Trainer
from etude.workbench import Given, takes_given


class Spread(Record):
    """Mean and spread over seeds."""

    mean: float
    sd: float | None
    """Standard deviation over seeds; None for a single one."""
    low: float | None
    high: float | None
    """Ends of the 95% t interval of the mean, within what the mean can be; None for a single seed."""
    n: int

    @classmethod
    def of(cls, values: Sequence[float | None], least: float = 0.0) -> Self | None:
        """The spread of values from `least` to 1; None when one of them was not measured, or there are none."""
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return None
        mean = math.fsum(known) / len(known)
        if len(known) == 1:
            return cls(mean=mean, sd=None, low=None, high=None, n=1)
        low, high = t_interval(known)
        return cls(mean=mean, sd=statistics.stdev(known), low=max(least, low), high=min(1.0, high), n=len(known))


class SeedResult(Record):
    """The run of one seed. Scores are means in [0, 1], None where they were not measured."""

    seed: int
    run: str
    """Name of the run."""
    best: str
    """File of the best skill."""
    initial_val: float | None
    best_val: float | None
    initial_test: float | None
    best_test: float | None
    gain: float | None
    """Best minus initial on the test tasks."""
    calls: int
    usd: float | None


class SeedReport(Record):
    """What several runs that differ in their seed came to."""

    name: str
    """What the names of the runs begin with."""
    metric: Metric
    simulated: bool
    seeds: tuple[SeedResult, ...]
    """By seed."""
    initial_test: Spread | None
    best_test: Spread | None
    gain: Spread | None
    """Over the gains of the seeds: how much training varies, for these test tasks. The initial skill's attempts are
    shared by all seeds, and so is what luck they had."""
    file: str
    """Where this record was written."""

    def __repr__(self) -> str:
        gain = "not measured" if self.gain is None else f"{self.gain.mean:+.2f}"
        return f"<SeedReport {brief(self.name, 30)}: {counted(len(self.seeds), 'seed')}, gain {gain}>"


@takes_given
async def atrain_seeds(config: Settings, seeds: Sequence[int], **given: Unpack[Given]) -> SeedReport:
    """Train once for each seed, one run after the other, and report over them.

    Later runs start over the paid results of the first one, since attempts with the initial skill are the same for
    all seeds. Each run is resumed as a single one: the same call continues where it stopped, and finished runs
    make no calls. Limits hold for each run on its own. The report covers these seeds and is written next to the
    runs, as `<run.name>-seeds.json`.

    Raises:
        ConfigError: there are no seeds, or one is there twice.
        InputError, StopRun: as `Trainer.atrain`, of the run that stopped; the hint of a stop says which one it was.
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise ConfigError(
            f"seeds = {list(seeds)!r} must be one seed or several different ones", hint="as in [1, 2, 3]"
        )
    config = config_of(config)
    for seed in seeds:
        plain_name(_seeded(config, seed).run.name, "run.name")
    summaries: dict[int, Summary] = {}
    for number, seed in enumerate(seeds):
        if summaries:
            given["fork"] = summaries[seeds[0]].name
        try:
            summaries[seed] = await Trainer(_seeded(config, seed), **given).atrain()
        except StopRun as stop:
            stop.hint = f"{stop.hint}\n{_where(seeds, number)}".lstrip()
            raise
    folder, name = Path(config.run.folder), config.run.name
    path = folder / f"{name}-seeds.json"
    report = _report(name, summaries, path)
    text = json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise unwritable(path, error) from error
    return report


train_seeds = seen(atrain_seeds)


def _seeded(config: TrainConfig, seed: int) -> TrainConfig:
    train = config.train.model_copy(update={"seed": seed})
    run = config.run.model_copy(update={"name": f"{config.run.name}-seed{seed}"})
    return config.model_copy(update={"train": train, "run": run})


def _where(seeds: Sequence[int], number: int) -> str:
    """Which seed stopped, and what is with the others."""
    parts = [f"seed {seeds[number]} stopped"]
    for what, some in (("done", seeds[:number]), ("still to come", seeds[number + 1 :])):
        if some:
            parts.append(f"{what}: {', '.join(map(str, some))}")
    return "; ".join(parts)


def _report(name: str, summaries: Mapping[int, Summary], path: Path) -> SeedReport:
    results = tuple(_result(seed, summary) for seed, summary in sorted(summaries.items()))
    return SeedReport(
        name=name,
        metric=next(iter(summaries.values())).metric,
        simulated=any(summary.simulated for summary in summaries.values()),
        seeds=results,
        initial_test=Spread.of([result.initial_test for result in results]),
        best_test=Spread.of([result.best_test for result in results]),
        gain=Spread.of([result.gain for result in results], least=-1.0),
        file=str(path),
    )


def _result(seed: int, summary: Summary) -> SeedResult:
    cost = summary.cost
    return SeedResult(
        seed=seed,
        run=summary.name,
        best=str(Path(summary.folder) / summary.best.skill),
        initial_val=_mean(summary.initial.val),
        best_val=_mean(summary.best.val),
        initial_test=_mean(summary.initial.test),
        best_test=_mean(summary.best.test),
        gain=_mean(summary.test_gain),
        calls=cost.target_calls + cost.optimizer_calls + cost.judge_calls,
        usd=cost.usd,
    )


def _mean(interval: Interval | None) -> float | None:
    return None if interval is None else interval.mean
