"""Search policies against each other, in two simulated worlds and with four optimizers, and what each part is worth.

    python benchmarks/search.py --seeds 10

Everything runs in this process and one beside it for each core: nothing here measures time. The true score of a skill
is computed on tasks that no run sees. `many` is the world of many small, independent rules (sorting, counting and
dates in turn); `few` is the world of few rules with strong interactions and noisy attempts (parcels). In both, what
goes wrong is drawn by what a skill teaches, so that an edit that teaches nothing changes no outcome; the last tables
have a target for which every change of the text draws it anew.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from harness import machine
from measure import Spread, spread
from pruning import PrunedAtTheEnd

from etude import ListEnvironment, Skill, Trainer
from etude.config import merge
from etude.events import CallFinished, Decided, Event
from etude.records import Proof
from etude.simulation import SEED_SKILL, best_attainable, make_tasks, seed_skill, true_score
from etude.skill import token_count
from etude.stages.proof import Proving

RESULTS = Path(__file__).parent / "results" / "search.json"
SPLITS = (80, 40, 200)
"""Training and validation tasks of a run, and tasks on which the truth is computed."""
WORLDS = {"many": None, "few": "parcels"}
OPTIMIZERS = {"good": "optimizer", "poor": "optimizer-poor", "mis-citing": "optimizer-misciting"}
OPTIMIZERS["useless"] = "optimizer-useless"
LEVELS = (0.5, 0.7, 0.8, 0.9)
"""Shares of the best attainable score, by which target calls are counted."""

PAPER = {"preset": "paper"}
POLICIES = {
    "paper": PAPER,
    "paper, deep reading": merge(PAPER, {"reflect": {"mode": "deep"}}),
    "evidence (default)": {},
    "evidence, 4 epochs of 40": {"train": {"epochs": 4, "batch_size": 40}},
}
PARTS: dict[str, dict[str, Any]] = {
    "default": {},
    "shallow reading": {"reflect": {"mode": "shallow"}},
    "guard of 8": {"search": {"guard": 8}},
    "guard of 20": {"search": {"guard": 20}},
    "until 2 fail": {"search": {"failures": 2}},
    "until 8 fail": {"search": {"failures": 8}},
    "no revisits": {"search": {"revisits": 0}},
    "16 solved tasks revisited": {"search": {"revisits": 16}},
    "all solved tasks revisited": {"search": {"revisits": SPLITS[0]}},
    "an end after one idle epoch": {},
    "waves as short as will do": {},
    "slow update and memory": {"slow_update": {"enabled": True}, "meta_skill": {"enabled": True}},
    "failures attempted anew": {"train": {"fresh_attempts": True}},
    "edits left out one by one": {"search": {"leave_one_out": True}},
    "edits left out, 16 revisited": {"search": {"leave_one_out": True, "revisits": 16}},
    "edits left out, no search by halves": {"search": {"leave_one_out": True}},
    "edits left out once, at the end": {},
    "an edit stays where a task it cites is mended": {"search": {"leave_one_out": True}},
    "deletions only where they mend": {},
    "ties of deletions and replacements decided by duels": {},
}
DELETING = ("default", "deletions only where they mend", "ties of deletions and replacements decided by duels")
"""Parts that matter in the world of few rules, where half of what misleads is found without the other half."""


SAMPLED = {
    "paper": PAPER,
    "paper, bar measured anew": merge(PAPER, {"gate": {"remeasure": True}}),
    "evidence (default)": {},
    "evidence, edits left out one by one": {"search": {"leave_one_out": True}},
}
"""Policies with the target that draws anew."""


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


class Citing(Proving):
    """Keeps the edits that cite a mended task, and the others where these alone do not mend it."""

    async def leave_one_out(self, mended: Sequence[Any]) -> list[tuple[str, ...]]:
        edits = self.given.edits
        return [tuple(attempt.task.id for attempt, _ in mended if attempt.id in edit.cites) for edit in edits]

    async def cover(self, kept: Sequence[int], missed: Sequence[Any]) -> dict[int, tuple[str, ...]]:
        tasks = tuple(attempt.task.id for attempt, _ in missed)
        return {number: tasks for number in range(len(self.given.edits)) if number not in kept}


class OneByOne(Proving):
    """Never looks for a smallest set: an edit is missed alone or it goes."""

    async def cover(self, kept: Sequence[int], missed: Sequence[Any]) -> dict[int, tuple[str, ...]]:
        return {}


class Duelling(Proving):
    """Where no edit mends anything, each deletion and replacement meets the skill without it on the tasks that it
    cites, in three fresh trials. It stays if it wins; a deletion if it does not lose."""

    async def _deleted(self, proof: Proof) -> tuple[Proof, Sequence[int]]:
        edits = self.given.edits
        duels = [
            (index, attempt.task, trial)
            for index, edit in enumerate(edits)
            if edit.op in ("delete", "replace")
            for attempt in self.given.failures
            if attempt.id in edit.cites
            for trial in (1, 2, 3)
        ]
        values = await self._values([(task, side, trial) for index, task, trial in duels for side in ((index,), ())])
        won = {index: 0.0 for index, _, _ in duels}
        for (index, _, _), new, old in zip(duels, values[::2], values[1::2], strict=True):
            won[index] += 0.0 if new is None or old is None else new - old
        kept = [index for index, gain in won.items() if gain > 0 or (gain == 0 and edits[index].op == "delete")]
        if not kept:
            return proof, ()
        evidence = tuple(one.model_copy(update={"kept": index in kept}) for index, one in enumerate(proof.edits))
        return proof.model_copy(update={"accepted": True, "edits": evidence, "reason": "won their duels"}), kept


def shortest_wave(search: Any, state: Any, tasks: Sequence[Any], missing: int, rate: float) -> list[Any]:
    """As many tasks as will do if all fail at this rate, be they known or not, and no more."""
    return list(tasks[: round(missing / rate)])


@dataclass(frozen=True)
class Outcome:
    """A run: true score at the end, its share of the best attainable, points by which the score that it reports on
    validation is above the truth, tokens of the skill, calls, and calls to each of `LEVELS`."""

    score: float
    share: float
    error: float
    calls: int
    optimizer_calls: int
    tokens: int
    accepted: int
    to_levels: tuple[float, ...]


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
        share=score / attainable,
        error=100 * (reported - true_score(best, val)),
        calls=summary.cost.target_calls,
        optimizer_calls=summary.cost.optimizer_calls,
        tokens=token_count(best),
        accepted=len(watch.changes),
        to_levels=tuple(next((calls for share, calls in scores if share >= level), float("inf")) for level in LEVELS),
    )


def without(part: str, seed: int, world: str, optimizer: str) -> Outcome:
    """A run of the default search with one part changed."""
    import etude.stages.proof as proof
    import etude.trainer as trainer
    from etude.searches import evidence, policy_of
    from etude.searches.evidence import EvidenceSearch

    swapped: dict[str, tuple[Any, str, Any]] = {
        "an edit stays where a task it cites is mended": (proof, "Proving", Citing),
        "edits left out, no search by halves": (proof, "Proving", OneByOne),
        "ties of deletions and replacements decided by duels": (proof, "Proving", Duelling),
        "edits left out once, at the end": (
            trainer,
            "search_of",
            lambda bench: PrunedAtTheEnd(bench, policy_of(bench.config).options),
        ),
        "deletions only where they mend": (evidence, "_WITNESSES", 0),
        "an end after one idle epoch": (EvidenceSearch, "patience", 1),
        "waves as short as will do": (EvidenceSearch, "_wave", shortest_wave),
    }
    if part not in swapped:
        return train(PARTS[part], world, optimizer, seed)
    place, name, value = swapped[part]
    whole = getattr(place, name)
    setattr(place, name, value)  # a process of its own: nobody else sees it
    try:
        return train(PARTS[part], world, optimizer, seed)
    finally:
        setattr(place, name, whole)


def told(values: Spread, digits: int) -> str:
    """Median and quartiles."""
    shown = ["never" if value == float("inf") else f"{value:,.{digits}f}" for value in values]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def row(outcomes: Sequence[Outcome]) -> list[Any]:
    """What a table says of the runs of one cell."""
    return [
        told(spread([one.score for one in outcomes]), 3),
        f"{min(one.score for one in outcomes):.3f}",
        told(spread([one.share for one in outcomes]), 2),
        told(spread([float(one.calls) for one in outcomes]), 0),
        told(spread([one.to_levels[LEVELS.index(0.8)] for one in outcomes]), 0),
        ", ".join(
            told(spread([one.to_levels[number] for one in outcomes]), 0).split(" ")[0]
            for number, level in enumerate(LEVELS)
            if level != 0.8
        ),
        told(spread([float(one.optimizer_calls) for one in outcomes]), 0),
        told(spread([float(one.tokens) for one in outcomes]), 0),
        f"{statistics.fmean(one.error for one in outcomes):+.1f}",
    ]


def sampled_row(outcomes: Sequence[Outcome]) -> list[Any]:
    """The same where the target draws anew."""
    return [
        told(spread([one.score for one in outcomes]), 3),
        f"{min(one.score for one in outcomes):.3f}",
        told(spread([float(one.accepted) for one in outcomes]), 0),
        told(spread([float(one.calls) for one in outcomes]), 0),
        told(spread([float(one.tokens) for one in outcomes]), 0),
        f"{statistics.fmean(one.error for one in outcomes):+.1f}",
    ]


COLUMNS = [
    "true score",
    "lowest",
    "share of the best",
    "target calls",
    "target calls to 80% of the best",
    "to 50, 70, 90%",
    "optimizer calls",
    "tokens of the skill",
    "reported minus true, points, mean",
]


SAMPLED_COLUMNS = [
    "true score",
    "lowest",
    "accepted steps",
    "target calls",
    "tokens of the skill",
    "reported minus true, points, mean",
]


def sampled(config: dict[str, Any], world: str, optimizer: str, seed: int) -> Outcome:
    """A run with the target that draws anew."""
    return train(merge({"target": {"model": "simulated:target-sampled"}}, config), world, optimizer, seed)


def main(words: Sequence[str] | None = None) -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description="Search policies in the simulated world.")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each cell (default %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results file")
    args = parser.parse_args(words)
    seeds = range(args.seeds)
    tables: list[dict[str, Any]] = []
    with ProcessPoolExecutor(2) as pool:
        for world in WORLDS:
            rows: list[list[Any]] = []
            for optimizer in OPTIMIZERS:
                for name, config in POLICIES.items():
                    outcomes = list(pool.map(partial(train, config, world, optimizer), seeds))
                    rows.append([optimizer, name, *row(outcomes)])
                    print(world, rows[-1], flush=True)
            caption = f"Policies in the world of {world} rules"
            tables.append({"caption": caption, "columns": ["optimizer", "search", *COLUMNS], "rows": rows})
        for world, optimizer, parts in (("many", "good", PARTS), ("many", "poor", PARTS), ("few", "poor", DELETING)):
            rows = []
            for part in parts:
                outcomes = list(pool.map(partial(without, part, world=world, optimizer=optimizer), seeds))
                rows.append([part, *row(outcomes)])
                print("parts", rows[-1], flush=True)
            caption = f"What the parts are worth: {world} rules, {optimizer} optimizer"
            tables.append({"caption": caption, "columns": ["evidence search with", *COLUMNS], "rows": rows})
        for world in WORLDS:
            rows = []
            for optimizer in ("good", "poor", "useless"):
                for name, config in SAMPLED.items():
                    outcomes = list(pool.map(partial(sampled, config, world, optimizer), seeds))
                    rows.append([optimizer, name, *sampled_row(outcomes)])
                    print("sampled", world, rows[-1], flush=True)
            caption = f"A target that draws anew with every change of the text: {world} rules"
            tables.append({"caption": caption, "columns": ["optimizer", "search", *SAMPLED_COLUMNS], "rows": rows})
    note = (
        f"Median and quartiles over {args.seeds} seeds, each with other tasks; {SPLITS[0]} training and "
        f"{SPLITS[1]} validation tasks; the truth is computed on {SPLITS[2]} further tasks. `never` stands for "
        "runs that did not get there."
    )
    tables[0]["note"] = note
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
