"""One run of one system on one endpoint, and what can be measured of it from outside."""

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from endpoint import Meter
from environments import OURS, SYSTEMS, CannotRun, python_for
from hard_worlds import WORLD
from measure import longest_chain

from etude.records import Task
from etude.simulation.endpoint import running

sys.path.append(str(SYSTEMS))
from contract import Job, Outcome, read_outcome, write_job
from contract import Task as JobTask

RESULTS = Path(__file__).parent / "results"
MIXED = "mixed"
"""The name of all families in turn."""
SEEDS_APART = 1000
"""Between the seeds of the tasks of two runs."""


@dataclass(frozen=True)
class Setting:
    """What is the same for all systems in a benchmark."""

    family: str = "sorting"
    train: int = 80
    val: int = 40
    test: int = 100
    epochs: int = 4
    batch_size: int = 40
    workers: int = 8
    latency: float = 0.2
    target: str = "target"
    optimizer: str = "optimizer"

    @property
    def named_family(self) -> str | None:
        """The family as the simulated world names it."""
        return None if self.family == MIXED else self.family

    @property
    def first_skill(self) -> str:
        """The weak skill to start from."""
        return WORLD.seed_skill(self.named_family)


@dataclass(frozen=True)
class Splits:
    """The tasks of one seed."""

    train: Sequence[Task]
    val: Sequence[Task]
    test: Sequence[Task]


def make_splits(setting: Setting, seed: int) -> Splits:
    """Different tasks for every seed; no task is in two splits."""
    count = setting.train + setting.val + setting.test
    tasks = WORLD.make_tasks(setting.named_family, count, seed=SEEDS_APART + seed)
    ends = setting.train, setting.train + setting.val
    return Splits(tasks[: ends[0]], tasks[ends[0] : ends[1]], tasks[ends[1] :])


@dataclass(frozen=True)
class Point:
    """A skill that the system would have handed out from here on."""

    calls: int
    seconds: float
    test: float
    """Its true score on the test tasks."""


@dataclass(frozen=True)
class Run:
    """What one run of one system came to. `reason` says why there is nothing, else it is empty."""

    system: str
    seed: int
    reason: str = ""
    version: str = ""
    load: float = 0.0
    """Processes that wanted a core in the minute before, see `os.getloadavg`."""
    seconds: float = 0.0
    process_seconds: float = 0.0
    """From the start of the process to its end."""
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    target_calls: int = 0
    optimizer_calls: int = 0
    most_in_flight: int = 0
    chain: int = 0
    """Most requests of which each came after the one before it was answered."""
    initial: float = 0.0
    """True test score of the skill it started from."""
    attainable: float = 0.0
    """True test score of the best skill there is."""
    test: float = 0.0
    """True test score of the final skill."""
    val: float = 0.0
    """True score of the final skill on the validation tasks."""
    reported: float | None = None
    """What the system says the final skill scores on the validation tasks."""
    skill_tokens: int = 0
    curve: tuple[Point, ...] = ()


def measure(
    system: str, setting: Setting, seed: int, settings: Sequence[str] = (), minutes: float = 10.0
) -> tuple[Run, Outcome | None]:
    """Run a system in a process of its own on an endpoint of its own, and measure it.

    A system that cannot be run, or whose run fails, is a run with a reason.
    """
    splits, load = make_splits(setting, seed), os.getloadavg()[0]
    try:
        python = python_for(system)
    except CannotRun as error:
        return Run(system, seed, reason=str(error)), None
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        with running(meter := Meter(setting.latency)) as endpoint:
            write_job(_job(setting, splits, seed, endpoint.url, folder, settings if system == OURS else ()))
            started = time.monotonic()
            reason = _drive(python, system, Path(folder), minutes)
            elapsed = time.monotonic() - started
        if reason:
            return Run(system, seed, reason=reason), None
        outcome = read_outcome(Path(folder))
    run = Run(
        system,
        seed,
        load=load,
        process_seconds=elapsed,
        target_calls=meter.stats.by_model.get(setting.target, 0),
        optimizer_calls=meter.stats.by_model.get(setting.optimizer, 0),
        most_in_flight=meter.most,
        chain=longest_chain(meter.spans),
    )
    return _judged(run, outcome, splits, setting), outcome


def _job(setting: Setting, splits: Splits, seed: int, url: str, folder: str, settings: Sequence[str]) -> Job:
    train, val = (
        tuple(JobTask(task.id, task.input, str(task.gold)) for task in tasks) for tasks in (splits.train, splits.val)
    )
    return Job(
        folder=folder,
        url=url,
        target=setting.target,
        optimizer=setting.optimizer,
        train=train,
        val=val,
        skill=setting.first_skill,
        seed=seed,
        workers=setting.workers,
        epochs=setting.epochs,
        batch_size=setting.batch_size,
        settings=tuple(settings),
    )


_EXCEPTION = re.compile(r"(?:\w+\.)*[A-Z]\w*: ")
"""The line of a traceback that says what was raised."""


def _drive(python: Path, system: str, folder: Path, minutes: float) -> str:
    """Run a driver; the reason of its failure, if it failed."""
    ours = ("ETUDE_", "OPENAI_", "PYTHON")  # whatever is set for this interpreter is not meant for the systems'
    environ = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    log = folder / "log.txt"
    with log.open("w") as out:
        try:
            done = subprocess.run(
                [str(python), str(SYSTEMS / f"{system}_run.py"), str(folder / "job.json")],
                cwd=folder,
                env=environ,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=minutes * 60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"not done after {minutes:g} minutes"
    if done.returncode == 0 and (folder / "result.json").exists():
        return ""
    lines = log.read_text().strip().splitlines()
    sys.stderr.write("\n".join(lines[-20:]) + "\n")
    named = next((line for line in reversed(lines) if _EXCEPTION.match(line)), None)
    return (named or f"exit code {done.returncode}").replace(str(folder), "")


def _judged(run: Run, outcome: Outcome, splits: Splits, setting: Setting) -> Run:
    """With the truth about all skills."""

    @cache
    def on_test(skill: str) -> float:
        return WORLD.true_score(skill, splits.test, model=setting.target)

    return replace(
        run,
        version=outcome.version,
        seconds=outcome.seconds,
        cpu_seconds=outcome.cpu_seconds,
        peak_mb=outcome.peak_mb,
        initial=on_test(setting.first_skill),
        attainable=WORLD.best_attainable(splits.test, model=setting.target),
        test=on_test(outcome.skill),
        val=WORLD.true_score(outcome.skill, splits.val, model=setting.target),
        reported=outcome.reported,
        skill_tokens=-(-len(outcome.skill) // 4),
        curve=tuple(Point(change.calls, change.seconds, on_test(change.skill)) for change in outcome.changes),
    )


def machine() -> str:
    """What it ran on."""
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def command_line(about: str | None, name: str) -> argparse.ArgumentParser:
    """What every benchmark is told: where its results go. `about` is its docstring."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    out = RESULTS / f"{name}.json"
    parser.add_argument("--out", type=Path, default=out, help="results file (default benchmarks/results)")
    return parser


def write_results(
    out: Path, title: str, words: Sequence[str], tables: Sequence[Mapping[str, Any]], **more: Any
) -> None:
    """Results as the page shows them. `words` are the name of the benchmark and its arguments."""
    command = shlex.join(["scripts/benchmark", *words])
    found = {"title": title, "command": command, "machine": machine(), "tables": tables, **more}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n")


def compute(about: str | None, of: str, name: str, title: str, tables: Callable[[int], Sequence[Any]]) -> None:
    """The command of a benchmark that asks no model: its tables for a number of draws."""
    parser = command_line(about, name)
    parser.add_argument(f"--{of}", dest="count", type=int, help="for each row (default 2000)")
    parser.add_argument("--quick", action="store_true", help="a tenth of them")
    args = parser.parse_args()
    write_results(args.out, title, [name], tables(args.count or (200 if args.quick else 2_000)))


def plain(record: Any) -> Any:
    """Data classes as JSON data, numbers rounded to what they are worth."""
    return _rounded(asdict(record))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return value
