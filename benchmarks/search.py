"""Search policies against each other in two simulated worlds, with four optimizers, and what settings are worth.

    python benchmarks/search.py --seeds 10

Everything runs in this process and two others: nothing here measures time. The true score of a skill
is computed on tasks that no run sees. `many` is the world of many small, independent rules (sorting, counting and
dates in turn); `few` is the world of few rules with strong interactions and noisy attempts (parcels). In both, what
goes wrong is drawn by what a skill teaches, so that an edit that teaches nothing changes no outcome; the last table
has a target for which every change of the text draws it again.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from harness import machine
from measure import Spread, spread

from etude import ListEnvironment, Skill, Trainer
from etude.config import merge
from etude.events import CallFinished, Decided, Event
from etude.simulation import SEED_SKILL, best_attainable, make_tasks, seed_skill, true_score
from etude.skill import token_count

RESULTS = Path(__file__).parent / "results" / "search.json"
SPLITS = (80, 40, 200)
"""Training and validation tasks of a run, and tasks on which the truth is computed."""
WORLDS = {"many": None, "few": "parcels"}
OPTIMIZERS = {"good": "optimizer", "poor": "optimizer-poor", "mis-citing": "optimizer-misciting"}
OPTIMIZERS["useless"] = "optimizer-useless"
MOST = 0.8
"""Share of the best attainable score up to which target calls are counted."""

PAPER = {"preset": "paper"}
POLICIES = {
    "paper": PAPER,
    "evidence (default)": {},
}
PARTS: dict[str, dict[str, Any]] = {
    "default": {},
    "shallow reading": {"reflect": {"mode": "shallow"}},
    "guard of 8": {"search": {"guard": 8}},
    "until 8 fail": {"search": {"failures": 8}},
    "no revisits": {"search": {"revisits": 0}},
    "all solved tasks revisited": {"search": {"revisits": SPLITS[0]}},
    "slow update and memory": {"slow_update": {"enabled": True}, "meta_skill": {"enabled": True}},
    "edits left out one by one": {"search": {"leave_one_out": True}},
}
SAMPLED = {
    "paper": PAPER,
    "evidence (default)": {},
    "evidence, edits left out one by one": {"search": {"leave_one_out": True}},
}
"""Policies with the target that draws again."""


@dataclass
class Watch:
    """Counts target calls and notes when the skill changed."""

    calls: int = 0
    changes: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def emit(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, CallFinished):
            self.calls += event.role == "target"
        elif isinstance(event, Decided) and event.action == "accepted":
            self.changes.append((event.step, self.calls))


@dataclass(frozen=True)
class Outcome:
    """A run: true score at the end, points by which the score that it reports on validation is above the truth,
    calls, tokens of the skill, and target calls until it had `MOST` of the best attainable score."""

    score: float
    error: float
    calls: int
    tokens: int
    to_most: float


def train(config: dict[str, Any], world: str, optimizer: str, seed: int) -> Outcome:
    """One run."""
    family = WORLDS[world]
    train_size, val_size, truth_size = SPLITS
    tasks = make_tasks(family, sum(SPLITS), seed=1000 + seed)
    val = tasks[train_size : train_size + val_size]
    truth = tasks[-truth_size:]
    text = SEED_SKILL if family is None else seed_skill(family)
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        settings = merge(
            {
                "run": {"folder": folder},
                "optimizer": {"model": f"simulated:{OPTIMIZERS[optimizer]}"},
                "train": {"seed": seed},
                "test": {"enabled": False},
            },
            config,
        )
        summary = Trainer(
            settings,
            env=ListEnvironment(tasks[:train_size], val, scorer="exact"),
            skill=Skill(name="skill", text=text),
            sinks=[watch],
        ).train()
        root = Path(summary.folder)
        best = (root / summary.best.skill).read_text()
        assert summary.best.val is not None
        reported = summary.best.val.mean
        skills = [((root / f"skills/{step:04d}.md").read_text(), calls) for step, calls in watch.changes]
    attainable = best_attainable(truth)
    score = true_score(best, truth)
    scores = [(true_score(text, truth) / attainable, float(calls)) for text, calls in skills]
    return Outcome(
        score=score,
        error=100 * (reported - true_score(best, val)),
        calls=summary.cost.target_calls,
        tokens=token_count(best),
        to_most=next((calls for share, calls in scores if share >= MOST), float("inf")),
    )


def told(values: Spread, digits: int) -> str:
    """The median, with quartiles where there are digits to show."""
    shown = ["never" if value == float("inf") else f"{value:,.{digits}f}" for value in values]
    return f"{shown[0]} ({shown[1]} to {shown[2]})" if digits else shown[0]


def row(outcomes: Sequence[Outcome]) -> list[Any]:
    """What a table says of the runs of one cell."""
    return [
        told(spread([one.score for one in outcomes]), 3),
        told(spread([float(one.calls) for one in outcomes]), 0),
        told(spread([one.to_most for one in outcomes]), 0),
        told(spread([float(one.tokens) for one in outcomes]), 0),
        f"{statistics.fmean(one.error for one in outcomes):+.1f}",
    ]


COLUMNS = [
    "true score",
    "target calls",
    "calls to 80%",
    "skill tokens",
    "error",
]


def main(words: Sequence[str] | None = None) -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description="Search policies in the simulated world.")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each cell (default %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results file")
    args = parser.parse_args(words)
    seeds = range(args.seeds)
    sampled = {"target": {"model": "simulated:target-sampled"}}
    wanted: list[tuple[str, str, Sequence[str], dict[str, dict[str, Any]]]] = [
        ("Policies in the world of many rules", "many", tuple(OPTIMIZERS), POLICIES),
        ("Policies in the world of few rules", "few", tuple(OPTIMIZERS), POLICIES),
        ("Settings of the evidence search, many rules", "many", ("good", "poor"), PARTS),
        (
            "A target that draws again with every change of the text, many rules",
            "many",
            ("good", "poor"),
            {name: merge(sampled, config) for name, config in SAMPLED.items()},
        ),
    ]
    tables: list[dict[str, Any]] = []
    with ProcessPoolExecutor(2) as pool:
        for caption, world, optimizers, configs in wanted:
            rows: list[list[Any]] = []
            for optimizer, (name, config) in product(optimizers, configs.items()):
                outcomes = list(pool.map(partial(train, config, world, optimizer), seeds))
                rows.append([optimizer, name, *row(outcomes)])
                print(world, rows[-1], flush=True)
            tables.append({"caption": caption, "columns": ["optimizer", "search", *COLUMNS], "rows": rows})
    tables[0]["note"] = (
        f"Median over {args.seeds} seeds, each with other tasks, and quartiles of the true score. {SPLITS[0]} "
        f"training and {SPLITS[1]} validation tasks; the true score is computed on {SPLITS[2]} further tasks. "
        "`calls to 80%`: target calls until the skill has 80% of the best attainable score; `never` when most runs "
        "did not get there. `error`: mean of the reported minus the true validation score, in points."
    )
    results = {
        "title": "Search policies",
        "command": f"scripts/benchmark search --seeds {args.seeds}",
        "machine": machine(),
        "tables": tables,
    }
    args.out.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
