"""What the last pass finds: lines planted into the skill that a search ends with, in two simulated worlds.

    python benchmarks/tidy.py --seeds 20

Into each skill go three lines that say nothing and one that repeats a rule in other words, at random places. A line
is needed if the true score falls by at least a point without it. Nothing here measures time.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness import machine
from search import WORLDS

from etude import ListEnvironment, Skill, Trainer
from etude.events import CallFinished, Event
from etude.records import TrainState
from etude.searches.ending import tidied, validated
from etude.searches.evidence import EvidenceSearch
from etude.simulation import make_tasks, seed_skill, true_score
from etude.simulation.families import RULES
from etude.simulation.rules import statements

RESULTS = Path(__file__).parent / "results" / "tidy.json"
SAYS_NOTHING = (
    "- Read the request twice before you begin.",
    "- Stay calm and be thorough in all you do.",
    "- A tidy mind gives a tidy result.",
)
NEEDED = 0.01


@dataclass
class Watch:
    """Counts target calls, and holds what the pass was given and made of it."""

    calls: int = 0
    before: str = ""
    after: str = ""
    planted: tuple[str, ...] = ()
    pass_calls: int = 0
    search_calls: int = 0

    def emit(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, CallFinished):
            self.calls += event.role == "target"


WATCH = Watch()
"""Of the run in this process."""


class Planted(EvidenceSearch):
    """The default search, with lines planted before its last pass."""

    async def finish(self, state: TrainState) -> TrainState:
        WATCH.search_calls = WATCH.calls
        text, WATCH.planted = planted(state.best.text, random.Random(self._config.train.seed))
        skill = state.best.with_text(text)
        state = await tidied(self._bench, self.log, state.model_copy(update={"best": skill, "current": skill}))
        WATCH.before, WATCH.after, WATCH.pass_calls = text, state.best.text, WATCH.calls - WATCH.search_calls
        return await validated(self._bench, self.log, state)


def planted(text: str, chance: random.Random) -> tuple[str, tuple[str, ...]]:
    """The text with dead lines at random places below its first rule, and these lines."""
    lines = text.splitlines()
    rules = [line for line in lines if line.startswith("- ")]
    said = {one.rule for line in rules for one in statements(line, RULES)}
    rule = chance.choice([rule for rule in RULES if rule.id in said])
    again = [f"- {words}" for words in rule.statements if f"- {words}" not in lines]
    dead = (*SAYS_NOTHING, *again[:1])
    for line in dead:
        lines.insert(chance.randrange(lines.index(rules[0]) + 1, len(lines) + 1), line)
    return "\n".join(lines) + "\n", dead


def train(world: str, seed: int) -> dict[str, Any]:
    """One run: how many planted lines there were and went, how many needed ones, and calls."""
    sys.modules["tidy"] = sys.modules[__name__]  # the policy is found by this name
    place = WORLDS[world]
    train_size, val_size, truth_size = place.splits
    tasks = make_tasks(place.family, sum(place.splits), seed=1000 + seed)
    truth, val = tasks[-truth_size:], tasks[train_size : train_size + val_size]
    vars(WATCH).update(vars(Watch()))
    with tempfile.TemporaryDirectory() as folder:
        Trainer(
            {
                "run": {"folder": folder},
                "target": {"model": f"simulated:{place.target}"},
                "optimizer": {"model": f"simulated:optimizer{'-harsh' if place.harsh else ''}"},
                "train": {"seed": seed},
                "search": {"policy": "tidy:Planted"},
                "test": {"enabled": False},
            },
            env=ListEnvironment(tasks[:train_size], val, scorer="exact"),
            skill=Skill(name="skill", text=seed_skill(place.family)),
            sinks=[WATCH],
        ).train()
    lines, left = WATCH.before.splitlines(), Counter(WATCH.after.splitlines())
    whole = true_score(WATCH.before, truth, place.target)
    needed = [
        line
        for number, line in enumerate(lines)
        if line.startswith("- ")
        and whole - true_score("\n".join([*lines[:number], *lines[number + 1 :], ""]), truth, place.target) >= NEEDED
    ]
    return {
        "planted": len(WATCH.planted),
        "found": sum(gone(line, left) for line in WATCH.planted),
        "needed": len(needed),
        "removed": sum(line not in left for line in needed),
        "calls": WATCH.pass_calls,
        "others": WATCH.calls - WATCH.pass_calls,
        "gain": true_score(WATCH.after, truth, place.target) - whole,
    }


def gone(line: str, left: Counter[str]) -> bool:
    """Whether a planted line went, or in place of one that repeats a rule the one that it repeats."""
    if line not in left:
        return True
    rules = {one.rule for one in statements(line, RULES)}
    before, after = (
        sum(one.rule in rules for one in statements(text, RULES)) for text in (WATCH.before, WATCH.after)
    )
    return after < before


def main() -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description="What the last pass over a skill finds.")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each world (default %(default)s)")
    parser.add_argument("--first", type=int, default=101, help="first seed (default %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results file")
    args = parser.parse_args()
    rows: list[list[Any]] = []
    with ProcessPoolExecutor(2) as pool:
        for world in ("many", "harsh"):
            runs = list(pool.map(partial(train, world), range(args.first, args.first + args.seeds)))
            total = {name: sum(run[name] for run in runs) for name in runs[0]}
            rows.append(
                [
                    world,
                    f"{total['found']} of {total['planted']}",
                    f"{total['removed']} of {total['needed']}",
                    f"{total['calls'] / total['others']:.1%}",
                    f"{100 * statistics.median(run['gain'] for run in runs):+.1f}",
                ]
            )
            print(rows[-1], flush=True)
    note = (
        f"Seeds {args.first} to {args.first + args.seeds - 1}, the good optimizer. Three planted lines say nothing, "
        "one repeats a rule in other words; the lines that a search leaves behind by itself are not counted. A line "
        "is needed if the true score falls by a point or more without it. `calls`: target calls of the pass, as a "
        "share of those of the run without it and without a test. `gain`: median of the true score after less "
        "before, in points."
    )
    columns = ["world", "planted lines that went", "needed lines that went", "calls", "gain"]
    tables = [{"caption": "Planted lines", "columns": columns, "rows": rows, "note": note}]
    command = f"scripts/benchmark tidy --seeds {args.seeds}"
    results = {"title": "The last pass", "command": command, "machine": machine(), "tables": tables}
    args.out.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
