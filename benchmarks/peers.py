"""etude and its peers side by side on the simulated endpoint.

    python benchmarks/peers.py --seeds 10 --workers 8 --latency 0.2

Each run has an endpoint of its own on loopback and a process of its own; the systems get the same tasks, the same
first skill, the same number of requests in flight and the same latency. Peers are installed from the package
registry, each into an environment of its own under `.tools/bench`. Results go to a JSON file, from which `page.py`
writes docs/reference/benchmarks.md.
"""

import argparse
import dataclasses
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import NAMES, OURS, REQUIREMENTS
from harness import MIXED, RESULTS, Run, Setting, machine, measure, plain

QUICK = {"seeds": 2, "epochs": 2, "latency": 0.02}


@dataclass(frozen=True)
class Arm:
    """A system with settings."""

    name: str
    system: str
    settings: tuple[str, ...] = ()


def arms_of(args: argparse.Namespace) -> list[Arm]:
    """What is run: the systems, and etude once more for each `--arm`."""
    arms = [Arm(name, name, tuple(args.set) if name == OURS else ()) for name in args.systems.split(",")]
    for extra in args.arm:
        name, _, settings = extra.partition(":")
        arms.append(Arm(f"{OURS}, {name}", OURS, (*args.set, *settings.split(","))))
    unknown = [arm.system for arm in arms if arm.system not in NAMES]
    if unknown:
        raise SystemExit(f"unknown system {unknown[0]!r}; there are {', '.join(NAMES)}")
    return arms


def run_all(arms: Sequence[Arm], setting: Setting, seeds: int) -> list[dict[str, Any]]:
    """All runs, one at a time; seeds outside, so that a change in the load of the machine meets all arms alike."""
    rows: list[dict[str, Any]] = []
    for seed in range(seeds):
        for arm in arms:
            run, _ = measure(arm.system, setting, seed, arm.settings)
            rows.append({"arm": arm.name, **plain(run)})
            sys.stderr.write(f"{told(arm, run)}\n")
    return rows


def told(arm: Arm, run: Run) -> str:
    """A run in one line."""
    if run.reason:
        return f"seed {run.seed}  {arm.name}: {run.reason}"
    return (
        f"seed {run.seed}  {arm.name}: {run.seconds:.1f} s, {run.target_calls} target and {run.optimizer_calls} "
        f"optimizer calls, true test score {run.initial:.3f} -> {run.test:.3f} of {run.attainable:.3f}"
    )


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments; `--quick` changes what is not given."""
    parser = argparse.ArgumentParser(description="etude and its peers side by side on the simulated endpoint.")
    add = parser.add_argument
    add("--quick", action="store_true", help="two seeds, two epochs, less latency; done in about a minute")
    add("--seeds", type=int, help="runs of each system (default 10)")
    add("--epochs", type=int, help="passes over the training tasks (default 4)")
    add("--latency", type=float, help="seconds before each answer (default 0.2)")
    add("--workers", type=int, default=Setting.workers, help="requests in flight (default %(default)s)")
    add("--family", default=Setting.family, help=f"family of tasks, or {MIXED} (default %(default)s)")
    add("--train", type=int, default=Setting.train, help="training tasks (default %(default)s)")
    add("--val", type=int, default=Setting.val, help="validation tasks (default %(default)s)")
    add("--test", type=int, default=Setting.test, help="test tasks (default %(default)s)")
    add("--target", default=Setting.target, help="simulated target (default %(default)s)")
    add("--optimizer", default=Setting.optimizer, help="simulated optimizer (default %(default)s)")
    add("--systems", default=",".join(NAMES), help="comma-separated (default %(default)s)")
    add("--set", action="append", default=[], metavar="A.B=VALUE", help="a setting of etude")
    add("--arm", action="append", default=[], metavar="NAME:A.B=VALUE,...", help="etude with other settings")
    add("--out", type=Path, help="where results go (default benchmarks/results/peers-FAMILY.json)")
    args = parser.parse_args(words)
    full = {"seeds": 10, "epochs": Setting.epochs, "latency": Setting.latency}
    for name, value in (QUICK if args.quick else full).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and write its results; 1 if a system could not be run."""
    args = parsed(words)
    fields = {field.name for field in dataclasses.fields(Setting)}
    setting = Setting(**{name: value for name, value in vars(args).items() if name in fields})
    arms = arms_of(args)
    given = [word for word in (sys.argv[1:] if words is None else words) if word != str(args.out) and word != "--out"]
    runs = run_all(arms, setting, args.seeds)
    results = {
        "kind": "peers",
        "quick": args.quick,
        "command": shlex.join(["scripts/benchmark", "peers", *given]),
        "seeds": args.seeds,
        "setting": plain(setting),
        "machine": machine(),
        "arms": [dataclasses.asdict(arm) for arm in arms],
        "packages": dict(REQUIREMENTS),
        "runs": runs,
    }
    out = args.out or RESULTS / f"peers-{args.family}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(results, indent=1) + "\n")
    sys.stderr.write(f"written: {out.name}; for the page: python benchmarks/page.py\n")
    return int(any(run["reason"] for run in runs))


if __name__ == "__main__":
    raise SystemExit(main())
