"""Decisions replayed on recorded outcomes of real agents: what an edit has to do before it enters.

    python benchmarks/replay.py    two to three minutes

The records are no part of this project; it needs them beside it, or at `--data`: a line for each task with its
attempts in order, `1` where it passed. Each draw shuffles the attempts of each task. Four tasks whose first attempt
failed are attempted again; those that fail again are cited by one edit, and `prove()` decides on it, as in a step of
the search. No attempt is used twice in a draw.
"""

import asyncio
import csv
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from harness import command_line, write_results

from etude.config import GateSection
from etude.records import Attempt, Edit, Score, Skill, Task, TaskHistory
from etude.stages.proof import prove
from etude.stages.shared.history import Measure
from etude.stages.shared.noise import Outcomes, PassSpread
from etude.stages.shared.proof_data import ProofInput
from etude.stages.shared.rollout import PlannedAttempt, Rollout, attempt_id

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data" / "outcomes"
CITED = 4
"""Failures that an edit cites, before those that pass when repeated are left out."""
BEFORE, AFTER = 0.1, 0.8
"""Pass probability of its tasks without and with an edit that works."""

BASE = Skill(text="# Notes\n")

Records = Mapping[str, str]
"""By task, its attempts in order."""


def recorded(folder: Path) -> Mapping[str, Records]:
    """By agent, what is in the files of a folder."""
    found: dict[str, dict[str, str]] = {}
    for name in ("terminal_bench.csv", "tau_airline.csv"):
        if (folder / name).exists():
            with (folder / name).open(newline="") as lines:
                for row in csv.DictReader(lines):
                    found.setdefault(row.get("agent", "tau-bench airline"), {})[row["task"]] = row["outcomes"]
    return found


@dataclass
class Replay:
    """Stands in for the rollout of a proof: attempts come from a source and not from an agent."""

    next: Callable[[str, bool], bool | None]
    """By task, and whether with the edit: whether its next attempt passes; None when there is none left."""
    left: Callable[[str], bool] = lambda task: True
    """Whether a task has attempts left."""
    first: dict[str, bool] = field(default_factory=dict[str, bool])
    """Outcome of the first attempt at each task with the edit."""
    with_edit: int = 0
    without: int = 0
    ran_out: bool = False
    """Whether an attempt was wanted of a task that has none left."""

    async def tried(self, stage: str, step: int, planned: Sequence[PlannedAttempt]) -> tuple[Attempt, ...]:
        """Make attempts."""
        return tuple(self._attempt(one) for one in planned)

    def repeats(self, task: Task) -> bool:
        """Whether the task can be attempted once more."""
        able = self.left(task.id)
        self.ran_out |= not able
        return able

    def _attempt(self, planned: PlannedAttempt) -> Attempt:
        edited = planned.skill.hash != BASE.hash
        passed = self.next(planned.task.id, edited)
        if passed is None:
            self.ran_out = True
        else:
            self.with_edit += edited
            self.without += not edited
            if edited:
                self.first.setdefault(planned.task.id, passed)
        return attempt(*planned, passed)


def attempt(task: Task, skill: Skill, trial: int, passed: bool | None) -> Attempt:
    """An attempt; without an outcome it is void."""
    name = attempt_id(task.id, skill, trial)
    if passed is None:
        return Attempt(id=name, task=task, skill_hash=skill.hash, trial=trial, outcome="void")
    score = Score(hard=float(passed), soft=float(passed))
    return Attempt(id=name, task=task, skill_hash=skill.hash, trial=trial, outcome="completed", score=score)


class Contest(NamedTuple):
    """What came of one edit."""

    entered: bool
    one_passed: bool
    """One of its tasks passed at the first attempt with it."""
    repeated_passed: bool
    """The same without a repetition before: of all four failures, the second attempt counts as the first with it."""
    with_edit: int
    without: int
    counted: int
    """Attempts with the edit that are in its account: the first one at each task is not."""
    ran_out: bool


async def contest(replay: Replay, failures: Mapping[str, int], noise: PassSpread) -> tuple[bool, int]:
    """Whether an edit enters that cites tasks which failed so many times, and how many attempts its account has."""
    tasks = [Task(id=name, input=name) for name in failures]
    failed = [attempt(task, BASE, 0, False) for task in tasks]
    edit = Edit(op="append", content="- Look twice.", cites=tuple(one.id for one in failed))
    known = {
        name: TaskHistory(skill=BASE.hash, trials=times, failed=times, best_failed=0.0)
        for name, times in failures.items()
    }
    given = ProofInput(BASE, [edit], failed, known, Measure(GateSection(), noise, 0.0), repeats=replay.repeats)
    proof = (await prove(cast(Rollout, replay), given, 1)).proof
    return proof.accepted, proof.edits[0].passed + proof.edits[0].failed


async def fought(replay: Replay, seconds: Mapping[str, bool | None], noise: PassSpread) -> Contest:
    """A contest after failed tasks were attempted a second time with these outcomes; None where that was not
    possible."""
    failures = {name: 1 if second is None else 2 for name, second in seconds.items() if not second}
    entered, counted = await contest(replay, failures, noise) if failures else (False, 0)
    return Contest(
        entered,
        any(replay.first.values()),
        any(seconds.values()),
        replay.with_edit,
        replay.without,
        counted,
        replay.ran_out,
    )


class Drawn(NamedTuple):
    """The attempts of an agent in an order drawn by chance, as a search would have met them."""

    seconds: dict[str, bool | None]
    """Of each task that failed at first, the second attempt."""
    further: dict[str, list[bool]]
    """The attempts that are left."""
    noise: PassSpread


def drawn(records: Records, rng: random.Random) -> Drawn:
    """First attempts, second ones where the first failed, and the noise in these."""
    further: dict[str, list[bool]] = {}
    seconds: dict[str, bool | None] = {}
    seen: list[Outcomes] = []
    for task, outcomes in records.items():
        further[task] = [one == "1" for one in rng.sample(outcomes, len(outcomes))]
        met = Outcomes().plus(further[task].pop())
        if met.failed:
            seconds[task] = second = further[task].pop() if further[task] else None
            met = met if second is None else met.plus(second)
        seen.append(met)
    return Drawn(seconds, further, PassSpread.measured(seen))


async def null(records: Records, rng: random.Random) -> Contest:
    """An edit that does nothing: with it, a task does what it did in a further recorded attempt."""
    draw = drawn(records, rng)

    def following(task: str, edited: bool) -> bool | None:
        return draw.further[task].pop() if draw.further[task] else None

    replay = Replay(following, lambda task: bool(draw.further[task]))
    return await fought(replay, _chosen(draw, rng), draw.noise)


async def endless(records: Records, rng: random.Random) -> Contest:
    """The same, but a task that has no attempt left repeats one of its recorded ones, drawn by chance."""
    draw = drawn(records, rng)

    def following(task: str, edited: bool) -> bool:
        return draw.further[task].pop() if draw.further[task] else rng.choice(records[task]) == "1"

    return await fought(Replay(following), _chosen(draw, rng), draw.noise)


def _chosen(draw: Drawn, rng: random.Random) -> dict[str, bool | None]:
    """Failed tasks, each with its second attempt."""
    failed = rng.sample(list(draw.seconds), min(CITED, len(draw.seconds)))
    return {task: draw.seconds[task] for task in failed}


async def helping(records: Records, rng: random.Random) -> Contest:
    """An edit that works, in the noise of an agent; its tasks are not among the recorded ones."""
    replay = Replay(lambda task, edited: rng.random() < (AFTER if edited else BEFORE))
    seconds = {f"task {number}": rng.random() < BEFORE for number in range(CITED)}
    return await fought(replay, seconds, drawn(records, rng).noise)


def contests(kind: Callable[[Records, random.Random], Any], name: str, records: Records, draws: int) -> list[Contest]:
    """Many, the same ones at each call."""
    rng = random.Random(f"{kind.__name__} {name}")

    async def all_of_them() -> list[Contest]:
        return [await kind(records, rng) for _ in range(draws)]

    return asyncio.run(all_of_them())


def percent(found: Iterable[object]) -> str:
    """Share of those that are true."""
    return f"{100 * statistics.fmean(map(bool, found)):.1f}%"


def null_row(name: str, records: Records, draws: int) -> list[Any]:
    """Of an agent: how often edits enter that do nothing."""
    found = contests(null, name, records, draws)
    longer = contests(endless, name, records, draws)
    attempts = [one for outcomes in records.values() for one in outcomes]
    return [
        shown(name),
        f"{len(records)} x {max(map(len, records.values()))}",
        percent(one == "1" for one in attempts),
        percent(one.entered for one in found),
        percent(one.ran_out for one in found),
        percent(one.entered for one in longer),
        percent(one.one_passed for one in found),
        percent(one.repeated_passed for one in found),
    ]


def helping_row(name: str, records: Records, draws: int) -> list[Any]:
    """Of an agent: how often an edit that works enters, and what that takes."""
    found = contests(helping, name, records, draws)

    def spread(values: Sequence[int]) -> str:
        return f"{statistics.fmean(values):.1f} / {max(values)}"

    return [
        shown(name),
        percent(one.entered for one in found),
        spread([one.with_edit + one.without for one in found]),
        percent(one.with_edit + one.without > 10 for one in found),
        spread([one.with_edit for one in found]),
        spread([one.without for one in found]),
        spread([one.counted for one in found]),
    ]


def shown(name: str) -> str:
    """The name of an agent without the day that it begins with."""
    day, _, rest = name.partition("_")
    return rest.replace("_", ", ") if day.isdigit() else name


def tables(agents: Mapping[str, Records], draws: int) -> list[dict[str, Any]]:
    """All agents, for the page."""
    nulls = [null_row(name, records, draws) for name, records in agents.items()]
    helps = [helping_row(name, records, draws) for name, records in agents.items()]
    null_note = (
        f"{draws:,} draws for each agent from its recorded attempts: terminal-bench-core 0.1.1 (a public "
        "leaderboard) and tau-bench airline. Each draw shuffles the attempts of each task. Noise is measured on the "
        f"first attempt at each task, and on the second where the first failed. An edit cites {CITED} tasks that "
        "failed at first, without those that passed when repeated. Its attempts are further recorded ones, so it "
        "changes nothing, and none is used twice. At most 5% should enter. `ran out`: contests in which an attempt "
        "was wanted of a task that had none left. What is not decided by then does not enter, and what is won by "
        "then enters without the last repetition of a task that decides alone. `endless`: such a task goes on with "
        "its recorded attempts, drawn with replacement. `one pass is enough`: the edit enters when one of its tasks "
        "passes at the first attempt with it; `and nothing repeated`: when one of the four tasks passes "
        "at the attempt after its first failure."
    )
    help_note = (
        f"{draws:,} draws for each agent, in the noise of its recorded attempts. The {CITED} tasks are simulated: "
        f"they failed once, and pass with probability {BEFORE} without the edit and {AFTER} with it. At least 80% "
        "should enter. Attempts are mean / most of a contest, without the repetition of the failures. The account "
        "leaves out the first attempt at each task with the edit, which says whether the task is looked at; it ends "
        "after the round of three in which it has ten."
    )
    return [
        {
            "caption": "Edits that change nothing",
            "columns": [
                "agent",
                "tasks x attempts",
                "passed",
                "enter",
                "ran out",
                "enter, endless",
                "one pass is enough",
                "and nothing repeated",
            ],
            "rows": nulls,
            "note": null_note,
        },
        {
            "caption": f"Edits that take their tasks from {BEFORE} to {AFTER}",
            "columns": [
                "agent",
                "enter",
                "attempts",
                "more than 10",
                "with the edit",
                "without it",
                "in the account",
            ],
            "rows": helps,
            "note": help_note,
        },
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Measure and write the results."""
    parser = command_line(__doc__, "replay")
    parser.add_argument("--draws", type=int, default=2_000, help="for each row (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the records")
    args = parser.parse_args(words)
    agents = recorded(args.data)
    if not agents:
        parser.error(
            f"no recorded outcomes in '{args.data}': they are no part of this project; name them with --data"
        )
    title = "Decisions on recorded outcomes of real agents"
    write_results(args.out, title, ["replay"], tables(agents, args.draws))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
