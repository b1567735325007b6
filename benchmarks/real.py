"""Training against a small real model: what is reported, and what is true on fresh tasks.

    python benchmarks/real.py --seeds 3
    python benchmarks/real.py --families cities --by-hand FOLDER     you answer for the optimizer, in files

The target is SmolLM2-135M behind llama.cpp's server (`real_server.py`), the optimizer a program that reads prompts
(`scripted_optimizer.py`). Each run trains with the default settings; then the initial skill, the skill handed out and
the skill of every step are attempted on tasks that no run saw, each task with a request seed of its own that is the
same for all skills. So skills are compared in pairs, and no task shares its luck with the others.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from harness import command_line, write_results
from real_server import NoServer, served
from real_tasks import FAMILIES, Family
from scripted_optimizer import ScriptedOptimizer

from etude import ListEnvironment, Skill, Summary, Trainer
from etude.agents.chat import ChatAgent
from etude.cli.watch import watch
from etude.config import ModelSection
from etude.envs.scorers.text import Exact
from etude.intervals import Arms, difference_interval, mean_interval, permutation
from etude.models import Retrying, build_model
from etude.prompts import Prompts
from etude.records import Task, Trajectory
from etude.records.summary import Interval
from etude.workbench import Given

TASKS_SEED, FRESH_SEED = 1_000, 5_000
REQUEST_SEED = 100_000
"""The request seed of the first fresh task."""
AT_ONCE = 1
"""Requests under way: several that are served together change each other's answers a little."""
OUTAGE_SECONDS = 600.0
"""How long a server that does not answer is tried: the machine may be busy."""
RATIO = (4, 3, 3)
"""Training, validation and test tasks."""
COLUMNS = [
    "family",
    "seed",
    "initial",
    "handed out",
    "best step",
    "reported test",
    "holds",
    "reported gain",
    "gain holds",
    "p",
    "target calls",
    "optimizer calls",
]


@dataclass(frozen=True)
class Plan:
    """How large a measurement is."""

    tasks: int
    fresh: int
    temperature: float | None
    """That of the family when None."""
    by_hand: str
    """The folder in which the optimizer's questions are answered; empty for the scripted one."""


@dataclass(frozen=True)
class Outcome:
    """A run, and the scores of its skills on fresh tasks: one value for each task."""

    family: str
    seed: int
    summary: Summary
    initial: Sequence[float]
    handed_out: Sequence[float]
    steps: Mapping[str, Sequence[float]]
    """By the name of the skill file."""

    @property
    def best_step(self) -> str:
        """The skill of a step with the highest fresh score; the first of equal ones."""
        return max(self.steps, key=lambda name: sum(self.steps[name]))


def target_section(family: Family, plan: Plan, url: str) -> dict[str, Any]:
    """The settings of the target."""
    return {
        "model": "openai:smollm2-135m",
        "base_url": url,
        "api_key_env": "NO_KEY",
        "temperature": family.temperature if plan.temperature is None else plan.temperature,
        "max_output_tokens": family.tokens,
        "extra_body": {"stop": ["\n"]},
    }


def train(family: Family, seed: int, plan: Plan, url: str, folder: Path) -> Summary:
    """One run; with a person who answers, as often as it stops for answers."""
    tasks = family.tasks(plan.tasks, TASKS_SEED + seed)
    ends = [len(tasks) * sum(RATIO[:part]) // sum(RATIO) for part in (1, 2)]
    settings = {
        "run": {"folder": str(folder), "name": f"{family.name}-{seed}"},
        "target": target_section(family, plan, url),
        "train": {"seed": seed},
        "limits": {"concurrency": AT_ONCE, "outage_seconds": OUTAGE_SECONDS},
    }
    given = Given(
        env=ListEnvironment(tasks[: ends[0]], tasks[ends[0] : ends[1]], tasks[ends[1] :], scorer="exact"),
        skill=Skill(name=family.name, text=family.first_skill),
    )
    if plan.by_hand:
        settings["optimizer"] = {"model": f"handoff:{plan.by_hand}"}
    else:
        given["optimizer"] = ScriptedOptimizer()
    return watch(lambda more: Trainer(settings, **(given | more)).atrain(), "give the same command again", wait=True)


async def attempts(text: str, tasks: Sequence[Task], target: ModelSection) -> list[Trajectory]:
    """Attempts at tasks with a skill, each with the request seed of its task."""
    model, slots = Retrying(build_model(target), "target", OUTAGE_SECONDS), asyncio.Semaphore(AT_ONCE)
    agent = ChatAgent(model, Prompts())

    async def one(number: int, task: Task) -> Trajectory:
        async with slots:
            return await agent.attempt(task, Skill(text=text), REQUEST_SEED + number)

    try:
        return await asyncio.gather(*(one(*each) for each in enumerate(tasks)))
    finally:
        await model.aclose()


def scores(
    skills: Mapping[str, str], tasks: Sequence[Task], target: ModelSection, kept: Path
) -> dict[str, list[float]]:
    """The scores of skills on the same tasks. Equal texts are attempted once; what is in `kept`, not again."""
    known: dict[str, list[float]] = json.loads(kept.read_text()) if kept.exists() else {}
    for text in dict.fromkeys(skills.values()):
        if text not in known:
            made = asyncio.run(attempts(text, tasks, target))
            known[text] = list(map(_score, tasks, made))
            kept.write_text(json.dumps(known))
    return {name: known[text] for name, text in skills.items()}


def _score(task: Task, made: Trajectory) -> float:
    return 0.0 if made.failure else Exact().compare(task, made.answer).hard


def measure(family: Family, seed: int, plan: Plan, url: str, folder: Path) -> Outcome:
    """Train, and attempt fresh tasks with every skill of the run."""
    summary = train(family, seed, plan, url, folder)
    root = Path(summary.folder)
    steps = {path.name: path.read_text() for path in sorted((root / "skills").glob("*.md"))}
    skills = {"initial": family.first_skill, "handed out": (root / summary.best.skill).read_text(), **steps}
    seen = {task.input for task in family.tasks(plan.tasks, TASKS_SEED + seed)}
    fresh = family.tasks(plan.fresh, FRESH_SEED + seed, seen)
    target = ModelSection.model_validate(target_section(family, plan, url))
    found = scores(skills, fresh, target, root / f"fresh-{plan.fresh}.json")
    return Outcome(family.name, seed, summary, found["initial"], found["handed out"], {n: found[n] for n in steps})


def row(one: Outcome) -> list[Any]:
    """What the table says of a run."""
    summary, best = one.summary, one.steps[one.best_step]
    test, gain = summary.best.test, summary.test_gain
    initial, handed = (mean_interval(values) for values in (one.initial, one.handed_out))
    gained = difference_interval(one.initial, one.handed_out)
    p = permutation([Arms([a], [b]) for a, b in zip(one.handed_out, best, strict=True)])
    return [
        one.family,
        str(one.seed),
        initial.shown,
        handed.shown,
        f"{mean_interval(best).shown}, {one.best_step.removesuffix('.md').lstrip('0') or '0'}",
        test.shown if test else None,
        _holds(test, handed.mean),
        gain.shown_change if gain else None,
        _holds(gain, gained.mean),
        f"{p:.3f}",
        f"{summary.cost.target_calls:,}",
        f"{summary.cost.optimizer_calls:,}",
    ]


def _holds(reported: Interval | None, true: float) -> str | None:
    return None if reported is None else "yes" if reported.low <= true <= reported.high else "no"


def table(outcomes: Sequence[Outcome], plan: Plan) -> dict[str, Any]:
    """The results as the page shows them."""
    program = (
        "The target is SmolLM2-135M-Instruct (4 bits) behind llama.cpp, the optimizer a program that reads prompts, "
        "written for `cities` and `tickets` and not for `names`. "
        f"{plan.tasks} tasks in each run, training to validation to test as {' to '.join(map(str, RATIO))}. "
        "`initial`, `handed out` and `best step`: scores of these skills on "
        f"{plan.fresh} tasks that no run saw, each with a request seed of its own; and the step of the best. "
        "`holds`: the interval that the run reports has the score on these tasks in it; `gain holds` is the same "
        "of the gain. `p`: how often the best step would be as far above the skill handed out by chance, by a "
        "paired permutation test. It is the best of several, so a small `p` is no proof."
    )
    return {
        "caption": "Reported and true scores with SmolLM2-135M" + ", by hand" * bool(plan.by_hand),
        "columns": COLUMNS,
        "rows": [row(one) for one in outcomes],
        "note": "The same with `handoff:`, each question answered by hand." if plan.by_hand else program,
    }


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments."""
    parser = command_line(__doc__, "real")
    add = parser.add_argument
    add("--families", default=",".join(FAMILIES), help="comma-separated (default %(default)s)")
    add("--seeds", type=int, default=1, help="runs of each family (default %(default)s)")
    add("--first", type=int, default=1, help="first seed (default %(default)s)")
    add("--tasks", type=int, default=200, help="tasks of a run (default %(default)s)")
    add("--fresh", type=int, default=200, help="fresh tasks for the truth (default %(default)s)")
    add("--temperature", type=float, help="of the target (default 0.7)")
    add("--by-hand", default="", metavar="FOLDER", help="answer for the optimizer, in files of this folder")
    add("--url", help="a server that runs already, as in http://127.0.0.1:8791/v1 (default: one is started)")
    add("--folder", type=Path, help="where runs are kept (default: nowhere)")
    args = parser.parse_args(words)
    unknown = [name for name in args.families.split(",") if name not in FAMILIES]
    if unknown:
        parser.error(f"unknown family {unknown[0]!r}; there are {', '.join(FAMILIES)}")
    return args


def main(words: Sequence[str] | None = None) -> int:
    """Measure and write the results."""
    args = parsed(words)
    plan = Plan(args.tasks, args.fresh, args.temperature, args.by_hand)
    outcomes: list[Outcome] = []
    told = ["real", *_told(sys.argv[1:] if words is None else words)]
    with tempfile.TemporaryDirectory(prefix="real-") as scratch, _server(args.url, Path(scratch)) as url:
        folder = args.folder or Path(scratch)
        for name in args.families.split(","):
            for seed in range(args.first, args.first + args.seeds):
                outcomes.append(measure(FAMILIES[name], seed, plan, url, folder))
                sys.stderr.write(f"{'  '.join(map(str, row(outcomes[-1])))}\n")
                # After each run, since one takes minutes and a later one may be cut off.
                write_results(args.out, "A small real model", told, [table(outcomes, plan)])
    return 0


@contextmanager
def _server(url: str | None, folder: Path) -> Generator[str]:
    if url:
        yield url
        return
    try:
        with served(folder / "server.log") as address:
            yield address
    except NoServer as error:
        raise SystemExit(str(error)) from None


def _told(words: Sequence[str]) -> list[str]:
    """The arguments that say what was measured, and not where."""
    places = ("--out", "--folder", "--url", "--by-hand")
    return [word for before, word in pairwise(["", *words]) if word not in places and before not in places]


if __name__ == "__main__":
    raise SystemExit(main())
