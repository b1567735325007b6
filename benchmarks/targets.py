"""Two targets with contradicting needs: one skill for both, against a run of its own for each.

    python benchmarks/targets.py            ten seeds of two worlds, about three minutes on two cores
    python benchmarks/targets.py --seeds 1

The second target loses by some of the rules that help the first. True scores are computed, on tasks of no run.
Results go to benchmarks/results/targets.json.
"""

import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from hard_worlds import WORLD
from harness import command_line, write_results

from etude import ListEnvironment, Skill, Trainer
from etude.simulation.endpoint import running_endpoint

MODELS = ("target", "target-contrary")
WORLDS = {"many": None, "harsh": "slips"}
TRAIN, VAL, TEST, TRUTH = 80, 40, 60, 200
FIRST = 81
"""First seed: settings were chosen on those before."""


class Run(NamedTuple):
    """One run: of one target, or of both."""

    world: str
    seed: int
    models: tuple[str, ...]


class Found(NamedTuple):
    """What it came to."""

    calls: int
    """Of targets and optimizer, with validation and test."""
    scores: tuple[float, ...]
    """True score of the skill for each of `MODELS`."""
    without: tuple[float, ...]
    """The same without a skill."""


def train(run: Run) -> Found:
    """Train with default settings."""
    tasks = WORLD.make_tasks(WORLDS[run.world], TRAIN + VAL + TEST + TRUTH, seed=1000 + run.seed)
    truth = tasks[-TRUTH:]
    env = ListEnvironment(tasks[:TRAIN], tasks[TRAIN : TRAIN + VAL], tasks[TRAIN + VAL : -TRUTH])
    with tempfile.TemporaryDirectory() as folder, running_endpoint(world=WORLD) as endpoint:
        at = {"base_url": endpoint.url}
        one = {"model": f"openai:{run.models[0]}", **at}
        both = [{"model": f"openai:{model}", "name": f"simulated:{model}", **at} for model in run.models]
        config: dict[str, Any] = {
            "optimizer": {"model": "openai:optimizer", **at},
            "train": {"seed": run.seed},
            "run": {"folder": folder},
            **({"targets": both} if len(both) > 1 else {"target": one}),
        }
        summary = Trainer(config, env=env, skill=Skill(text=""), progress=False).train()
        text = (Path(summary.folder) / summary.best.skill).read_text()
    scores, without = ([WORLD.true_score(one, truth, model) for model in MODELS] for one in (text, ""))
    return Found(summary.cost.target_calls + summary.cost.optimizer_calls, tuple(scores), tuple(without))


def compare(seeds: int) -> dict[str, Any]:
    """A table with a row for each world and seed."""
    kinds = [(model,) for model in MODELS] + [MODELS]
    runs = [Run(world, seed, models) for world in WORLDS for seed in range(FIRST, FIRST + seeds) for models in kinds]
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(runs, pool.map(train, runs), strict=True))
    rows: list[list[Any]] = []
    ratios: list[float] = []
    for world in WORLDS:
        for seed in range(FIRST, FIRST + seeds):
            one, other, both = (found[Run(world, seed, models)] for models in kinds)
            ratios.append(both.calls / (one.calls + other.calls))
            rows.append([world, seed, one.calls + other.calls, both.calls, f"{ratios[-1]:.2f}", *_scores(both)])
    return {
        "caption": "Two targets with contradicting needs",
        "columns": ["world", "seed", "calls of two runs", "of one run", "ratio"]
        + [f"{model}, without -> with" for model in MODELS],
        "rows": rows,
        "note": f"{TRAIN} training, {VAL} validation and {TEST} test tasks for each target. Median ratio "
        f"{statistics.median(ratios):.2f}, mean {statistics.fmean(ratios):.2f}. Scores are true scores of the skill "
        "of the one run, for each target.",
    }


def _scores(found: Found) -> list[str]:
    return [f"{before:.2f} -> {after:.2f}" for before, after in zip(found.without, found.scores, strict=True)]


def main(words: Sequence[str] | None = None) -> int:
    """Run and write results."""
    parser = command_line(__doc__, "targets")
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args(words)
    table = compare(args.seeds)
    for row in table["rows"]:
        print(*row, sep="\t")
    given = ["targets", *([] if args.seeds == 10 else ["--seeds", str(args.seeds)])]
    write_results(args.out, "Several targets", given, [table])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
