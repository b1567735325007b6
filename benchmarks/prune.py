"""Planted dead lines: how many go, how many that tasks need, and after how many attempts.

    python benchmarks/prune.py              twenty worlds of each kind, a minute on a core
    python benchmarks/prune.py --worlds 2

A skill of 60 lines, half of which no task needs; 30 tasks need one to four of the others each, and each of these is
needed by one task at least. A task whose lines are all there passes with the compliance to the power of their number.
What decides here is the search that `etude prune` uses, asked without a model or a run folder. Results go to
benchmarks/results/prune.json.
"""

import random
import statistics
from collections.abc import Set
from typing import Any, NamedTuple

from harness import command_line, write_results

from etude.measure.pruning.prune import WHOLE
from etude.measure.pruning.sieve import Sieve
from etude.stages.shared.noise import Outcomes

LINES, DEAD, TASKS, MOST_NEEDS = 60, 30, 30, 4
COMPLIANCES = (0.95, 0.88)


class Kind(NamedTuple):
    """A kind of world."""

    lucky: float = 0.04
    """How often a line is done right that is not there."""
    flaky: float = 0.0
    """Share of the tasks whose pass probability, .2, .5 or .8, no line changes."""


KINDS = {"plain": Kind(), "lucky one time in ten": Kind(lucky=0.1), "a fifth of the tasks flaky": Kind(flaky=0.2)}


class World:
    """A skill, its tasks, and an agent."""

    def __init__(self, seed: int, compliance: float, kind: Kind) -> None:
        self.rng = random.Random(f"{seed}/{compliance}/{kind}")
        self.compliance, self.kind, self.attempts = compliance, kind, 0
        self.live = self.rng.sample(range(LINES), LINES - DEAD)
        self.needs = [set(self.rng.sample(self.live, self.rng.randint(1, MOST_NEEDS))) for _ in range(TASKS)]
        for line in self.live:
            if not any(line in needs for needs in self.needs):
                self.rng.choice([needs for needs in self.needs if len(needs) < MOST_NEEDS]).add(line)
        flaky = [task for task in range(TASKS) if self.rng.random() < kind.flaky]
        self.flaky = {task: self.rng.choice((0.2, 0.5, 0.8)) for task in flaky}
        sound = [needs for task, needs in enumerate(self.needs) if task not in self.flaky]
        self.seen = {line for needs in sound for line in needs}
        """Needed lines that the tasks can show."""

    def passes(self, task: int, out: Set[int] = frozenset()) -> bool:
        """An attempt without some lines."""
        self.attempts += 1
        chance = self.flaky.get(task, 1.0)
        if task not in self.flaky:
            for line in sorted(self.needs[task]):
                chance *= self.kind.lucky if line in out else self.compliance
        return self.rng.random() < chance


class Found(NamedTuple):
    """What came of a world."""

    dead: float
    """Share of the dead lines that went."""
    needed: float
    """Of the needed lines that tasks can show."""
    attempts: int
    rounds: int


def run(seed: int, compliance: float, kind: Kind) -> Found:
    """As `etude prune` goes about it: the whole skill, the search, each task once at the end."""
    world, known = World(seed, compliance, kind), dict[str, Outcomes]()
    for task in range(TASKS):
        outcomes = Outcomes()
        while not outcomes.passed and sum(outcomes) < WHOLE:
            outcomes = outcomes.plus(world.passes(task))
        if outcomes.passed:
            known[str(task)] = outcomes
    search, rounds = Sieve(range(LINES), known), 0
    while planned := search.next():
        rounds += 1
        for name, out in planned:
            search.told(name, out, world.passes(int(name), out))
    gone, live = set(search.idle), set(world.live)
    return Found(
        len(gone - live) / DEAD, len(gone & world.seen) / len(world.seen), world.attempts + TASKS, rounds + WHOLE + 1
    )


def table(worlds: int) -> dict[str, Any]:
    """A row for each kind and compliance, means over worlds."""
    rows: list[list[Any]] = []
    for name, kind in KINDS.items():
        for compliance in COMPLIANCES:
            some = [run(seed, compliance, kind) for seed in range(1, worlds + 1)]
            dead, needed = (statistics.fmean(getattr(one, what) for one in some) for what in ("dead", "needed"))
            attempts, rounds = ([getattr(one, what) for one in some] for what in ("attempts", "rounds"))
            least = min(one.dead for one in some)
            mean = f"{statistics.fmean(attempts):.0f}"
            row = [name, f"{compliance:.2f}", f"{dead:.1%}", f"{least:.0%}", f"{needed:.2%}", mean, max(attempts)]
            rows.append([*row, f"{statistics.fmean(rounds):.0f}"])
            print(*rows[-1], sep="\t", flush=True)
    columns = ["world", "compliance", "dead lines gone", "fewest", "needed lines gone", "attempts", "most", "rounds"]
    note = (
        f"Means over {worlds} worlds of {LINES} lines, {DEAD} of them dead, and {TASKS} tasks; leaving out each "
        f"line on every task would take {LINES * TASKS:,} attempts. Rounds wait for each other. Needed lines: those "
        "that a task shows which is not flaky. The search alone is asked, without a model or a run folder."
    )
    return {"caption": "Planted dead lines", "columns": columns, "rows": rows, "note": note}


def main() -> int:
    """Run and write results."""
    parser = command_line(__doc__, "prune")
    parser.add_argument("--worlds", type=int, default=20)
    args = parser.parse_args()
    words = ["prune", *([] if args.worlds == 20 else ["--worlds", str(args.worlds)])]
    write_results(args.out, "Pruning a skill", words, [table(args.worlds)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
