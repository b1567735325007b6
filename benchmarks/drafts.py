"""Tasks that the simulated optimizer drafts from a skill, against as many with true answers.

    python benchmarks/drafts.py             five seeds of three families, about half a minute on two cores
    python benchmarks/drafts.py --seeds 1

The optimizer is as imperfect as elsewhere: some drafts copy the skill, repeat each other, let any answer pass or have
a wrong answer. Nobody corrects them here. True scores are computed, on tasks of no run. Results go to
benchmarks/results/drafts.json.
"""

import asyncio
import inspect
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from harness import command_line, write_results

from etude import Environment, ListEnvironment, Score, Skill, Task, Trainer, Trajectory
from etude.cli.scaffold.drafts import draft_tasks, settings_of
from etude.cli.scaffold.tasks import drafted_data
from etude.envs.scorers.checks import Checks
from etude.envs.splits import split_by_ratio
from etude.records import SPLITS
from etude.simulation import make_tasks, true_score
from etude.simulation.families import find_tasks
from etude.simulation.families.family import right_answer

ABOUT = {
    "sorting": "Puts words in alphabetical order.",
    "counting": "Says how many things of a kind somebody has.",
    "dates": "Finds dates, and writes them in a format.",
}
WANTED, TRUTH = 40, 200
SHARES = (4, 3, 3)


class Found(NamedTuple):
    """True scores of a skill, and what became of the drafts."""

    family: str
    seed: int
    before: float
    drafted: float
    """Trained on drafted tasks."""
    true: float
    """Trained on as many tasks with true answers."""
    kept: int
    left_out: dict[str, int]
    wrong: int
    """Kept drafts whose answer is wrong."""
    empty: int
    """Kept drafts that an answer without content passes."""


def run(job: tuple[str, int]) -> Found:
    """Draft, train twice, score."""
    family, seed = job
    skill = Skill(name=family, text=f"---\nname: {family}\ndescription: {ABOUT[family]}\n---\n\n# {family} {seed}\n")
    skill = skill.with_text(f"{skill.text}\n- Read the task carefully and work step by step.\n")
    tasks = make_tasks(family, TRUTH + WANTED, seed=1000 + seed)
    truth, others = tasks[:TRUTH], tasks[TRUTH:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = asyncio.run(
            draft_tasks(settings_of("simulated:optimizer", folder), skill, WANTED, {"progress": False})
        )
        planned = drafted_data(found.rows, folder / "tasks.json", "simulated:optimizer", ()).env
        env = ListEnvironment(*(planned.tasks(split) for split in SPLITS), scorer=Checks())
        kept = [task for split in SPLITS for task in env.tasks(split)]
        labelled = split_by_ratio(tuple(others[: len(kept)]), SHARES, 42)
        drafted = trained(folder, "drafted", env, skill)
        true = trained(folder, "true", ListEnvironment(*(labelled[split] for split in SPLITS)), skill)
        scores = asyncio.run(passed(env, kept))
    before, after, best = (true_score(text, truth) for text in (skill.text, drafted, true))
    return Found(family, seed, before, after, best, len(kept), dict(found.left_out), *scores)


def trained(folder: Path, name: str, env: Environment, skill: Skill) -> str:
    """The best skill of a run with default settings."""
    config: dict[str, Any] = {"gate": {"metric": "soft"}, "run": {"folder": str(folder), "name": name}}
    summary = Trainer(config, env=env, skill=skill, progress=False).train()
    return (Path(summary.folder) / summary.best.skill).read_text()


async def passed(env: Environment, kept: list[Task]) -> tuple[int, int]:
    """How many drafts refuse the true answer, and how many let an answer without content pass."""
    right = {task.input: str(task.gold) for task in solved(kept)}
    refused = [task for task in kept if (await scored(env, task, right[task.input])) < 1]
    empty = [task for task in kept if max([await scored(env, task, text) for text in ("", ".", task.input)]) >= 1]
    return len(refused), len(empty)


async def scored(env: Environment, task: Task, answer: str) -> float:
    """The hard score of an answer."""
    score = env.score(task, Trajectory(answer=answer))
    found = await score if inspect.isawaitable(score) else score
    return found.hard if isinstance(found, Score) else found


def solved(tasks: list[Task]) -> list[Task]:
    """The tasks with their true answers."""
    found = [(task, find_tasks(task.input)[0]) for task in tasks]
    return [task.model_copy(update={"gold": right_answer(one.family, one.text)}) for task, one in found]


def table(found: list[Found]) -> dict[str, Any]:
    """A row for each family, means over seeds."""
    rows: list[list[Any]] = []
    for family in ABOUT:
        some = [one for one in found if one.family == family]
        drafted = statistics.fmean(one.drafted - one.before for one in some)
        true = statistics.fmean(one.true - one.before for one in some)
        counts = [sum(getattr(one, name) for one in some) for name in ("kept", "wrong", "empty")]
        rows.append([family, len(some), f"{drafted:+.2f}", f"{true:+.2f}", f"{drafted / true:.2f}", *counts])
    columns = ["family", "seeds", "gain with drafts", "with true answers", "ratio", "drafts", "wrong", "pass empty"]
    note = (
        f"True scores on {TRUTH} tasks of no run, against the skill before; {WANTED} drafts are wanted for each "
        "seed, and nobody corrects them. `wrong`: of the drafts kept, those that refuse the true answer; "
        "`pass empty`: those that pass an empty answer, a sign or the request."
    )
    caption = "Skills trained on drafted tasks, and on as many with true answers"
    return {"caption": caption, "columns": columns, "rows": rows, "note": note}


def main() -> int:
    """Run and write results."""
    parser = command_line(__doc__, "drafts")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        found = table(list(pool.map(run, product(ABOUT, range(1, args.seeds + 1)))))
    for row in found["rows"]:
        print(*row, sep="\t")
    words = ["drafts", *([] if args.seeds == 5 else ["--seeds", str(args.seeds)])]
    write_results(args.out, "Tasks from a skill", words, [found])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
