"""Audits of suites whose faults are known.

    python benchmarks/audit.py            two minutes
    python benchmarks/audit.py --quick    10 suites of each sort

A suite has 12 tasks of one family of the simulated world, and a skill that states every rule of the family. Each task
is seen without noise: it passes with the skill and fails with another version. In 40 suites three tasks have one of
five faults; 40 suites have none. Without noise, at temperature 0, a task has four attempts. With noise a step that is
taught goes wrong in 5 or 12 of 100 attempts, for each rule that the task needs, and 3 of 100 replies say nothing.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from hard_worlds import WORLD
from harness import command_line, write_results
from pydantic import BaseModel

from etude.config import make_config
from etude.envs.scorers.answer_scorer import ScoredEnvironment
from etude.envs.scorers.rubric import Rubric, RubricOptions
from etude.executors.local import LocalExecutor
from etude.measure.audit.suite import FAULTS, Auditing, Kind
from etude.measure.audit.versions import versions_of
from etude.protocols import Agent, Journal, Scorer
from etude.records import ChatRequest, Message, Score, Skill, Split, Task, Trajectory, system, user
from etude.simulation.families.family import relevant
from etude.simulation.noise import Reliability
from etude.simulation.text import pick, same_answer, uniform
from etude.simulation.world import SimulatedWorld, best_skill
from etude.stages.shared.rollout import Rollout

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

FAMILIES = ("sorting", "counting", "dates", "parcels", "slips")
_ANSWER = re.compile(r"<answer-\w+>\n(.*?)\n</answer-", re.DOTALL)
KINDS: Sequence[Kind] = tuple(FAULTS)
TASKS, PLANTED = 12, 3
_SAYS_NOTHING = 0.03
_EASY = "Write this word and nothing else: "
_WORDS = ("kestrel", "lumen", "maple")
STEADY = Reliability(slip=0.0, harmed=1.0, steady=True)
NOISE: dict[str, float | None] = {"none": None, "compliance .95": 0.95, "compliance .88": 0.88}


@dataclass(frozen=True)
class Suite:
    """Tasks for a skill, and which of them have a fault."""

    skill: Skill
    tasks: Sequence[Task]
    planted: frozenset[str]
    kind: Kind | None


class Worker(Agent):
    """Does the tasks of the world as it was taught, and easy ones anyway."""

    name = "worker"
    journals_calls = True

    def __init__(self, compliance: float | None) -> None:
        self._nothing = 0.0 if compliance is None else _SAYS_NOTHING
        taught = STEADY if compliance is None else Reliability(slip=1 - compliance, sampled=True)
        self._world = world_of(taught)

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        if uniform("nothing", task.input, skill.text, trial) < self._nothing:
            return Trajectory(answer="I am not sure.")
        if task.input.startswith(_EASY):
            return Trajectory(answer=task.input.removeprefix(_EASY))
        return Trajectory(answer=answered(self._world, skill.text, task, task.seed(trial)))

    def fingerprint(self) -> str:
        return self.name


class Judge:
    """The judge, which tosses a coin at tasks with a fault."""

    def __init__(self, suite: Suite) -> None:
        self._judged = {task.input: task for task in suite.tasks}
        self._doubtful = [task.input for task in suite.tasks if task.id in suite.planted]

    async def ask(self, messages: Sequence[Message], reply_type: type[T]) -> T:
        asked = messages[-1].text
        task = next(task for text, task in self._judged.items() if f">\n{text}\n<" in asked)
        right = same_answer(_ANSWER.findall(asked)[-1], str(task.gold))
        if task.input in self._doubtful and uniform("coin", asked) < 0.5:
            right = not right
        return reply_type.model_validate({"reason": "", "score": float(right)})


class Scored(ScoredEnvironment):
    """Has the scorer only."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def tasks(self, split: Split) -> tuple[Task, ...]:
        return ()

    def fingerprint(self) -> str:
        return self.scorer.name


class Nothing(Journal):
    """Keeps nothing: whatever is asked here is a pure function."""

    async def once(self, kind: str, key: Any, type: type[R], work: Callable[[], Awaitable[R]]) -> R:
        return await work()

    def get(self, kind: str, key: Any, type: type[R]) -> R | None:
        return None


def world_of(target: Reliability) -> SimulatedWorld:
    """The world of the benchmarks with another target."""
    return replace(WORLD, targets={**WORLD.targets, "target": target})


@lru_cache(maxsize=4)
def sound(number: int) -> tuple[Skill, tuple[Task, ...]]:
    """A skill, and tasks that are all seen without noise."""
    family = FAMILIES[number % len(FAMILIES)]
    some = WORLD.make_tasks(family, 8 * TASKS, seed=5000 + number)
    rules = best_skill(some, WORLD.families)
    text = f"---\nname: {family}\ndescription: Tasks of one kind.\n---\n\n# {family} tasks\n\n## Rules\n\n{rules}"
    skill = Skill(name=family, text=text)
    first, *others = (each.text for each in versions_of(skill).values())
    seen = (task for task in some if solved(first, task) and not all(solved(one, task) for one in others))
    tasks = tuple(islice(seen, TASKS))
    assert len(tasks) == TASKS, (family, len(tasks))
    return skill, tasks


def make_suite(number: int, kind: Kind | None) -> Suite:
    """A suite of tasks that are all seen, but for those with a fault."""
    skill, known = sound(number)
    tasks, places = list(known), random.Random(number).sample(range(TASKS), PLANTED) if kind else []
    for at, place in enumerate(places):
        tasks[place] = with_fault(tasks[place], kind, at, number)
    return Suite(skill, tasks, frozenset(tasks[place].id for place in places), kind)


def solved(text: str, task: Task) -> bool:
    """Whether the steady target solves a task with this text."""
    return same_answer(answered(world_of(STEADY), text, task, 0), str(task.gold))


def answered(world: SimulatedWorld, text: str, task: Task, seed: int) -> str:
    """What the target of a world answers, told this text."""
    told = system(text.rpartition("\n---\n")[2] or "Do the task.")
    reply = world.respond("target", ChatRequest(messages=(told, user(task.input)), seed=seed))
    return reply.text.rpartition("Answer: ")[2]


def with_fault(task: Task, kind: Kind | None, at: int, number: int) -> Task:
    """The task with a fault of this kind."""
    match kind:
        case "passes":
            word = f"{_WORDS[at]}{number}"
            return Task(id=task.id, input=_EASY + word, gold=word)
        case "fails":
            return task.model_copy(update={"gold": f"not {task.gold}"})
        case "told":
            family = next(one for one in WORLD.families if one.name == FAMILIES[number % len(FAMILIES)])
            rules = relevant(family, task.input)
            # The words of the skill in two of three, others of the same meaning in the third.
            hints = [rule.statements[0] if at < 2 else pick(rule.statements[1:], number) for rule in rules]
            return task.model_copy(update={"input": "\n\n".join([*hints, task.input])})
        case "empty":
            return task.model_copy(update={"data": {"forbidden": "sorry"}})
        case _:
            return task


class Checks(Scorer):
    """By the gold answer, or by a check that forbids a word and asks for nothing."""

    name = "checks"
    repeatable = True

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        forbidden, answer = task.data.get("forbidden"), trajectory.answer
        right = same_answer(answer, str(task.gold)) if forbidden is None else str(forbidden) not in answer
        return Score(hard=right, soft=right)

    def fingerprint(self) -> str:
        return self.name


async def row(number: int, kind: Kind | None, compliance: float | None) -> dict[str, Any]:
    """What the audit of one suite comes to."""
    suite = make_suite(number, kind)
    rubric = Rubric(RubricOptions(rubric="The answer is right."), lambda: Judge(suite))
    env = Scored(rubric if kind == "judge" else Checks())
    settings = {"target": {"model": "simulated:target", "temperature": 0 if compliance is None else 1}}
    config = make_config(settings)
    rollout = Rollout(Worker(compliance), env, LocalExecutor(1), Nothing(), config.limits, lambda event: None)
    audit = Auditing(rollout, config, suite.skill, suite.tasks, "test", 0)
    await audit.attempt()
    await audit.look()
    found = list(audit.findings())
    right = {each.task for each in found if each.kind == kind and each.task in suite.planted}
    wrong = [each for each in found if each.task not in suite.planted]
    made = [sum(map(len, scores.values())) for scores in audit.scores.values()]
    return {
        "suite": number,
        "kind": kind,
        "compliance": compliance,
        "named": len(right),
        "wrong": [f"{each.kind} {each.task}: {each.what}" for each in wrong],
        "attempts": sum(made) / len(made),
        "most": max(made),
    }


def rows_of(number: int) -> list[dict[str, Any]]:
    """All audits of a suite: with a fault and without, with and without noise."""
    kinds = (KINDS[(number + number // len(FAMILIES)) % len(KINDS)], None)
    return [asyncio.run(row(number, kind, of)) for of in NOISE.values() for kind in kinds]


def tables(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What audits came to, for the page."""
    known = [[name, *counts([one for one in rows if one["compliance"] == of])] for name, of in NOISE.items()]
    by_kind = [[FAULTS[kind][0], *(named(rows, kind, of) for of in NOISE.values())] for kind in KINDS]
    return [
        {
            "caption": "Suites with faults, and sound ones",
            "columns": ["noise", "named", "false alarms", "sound ones accused", "attempts a task", "most"],
            "rows": known,
            "note": f"A suite has {TASKS} tasks, {PLANTED} of them with a fault of one kind. It is named where "
            "most of these are found. False alarms are findings about other tasks. A sound suite is "
            "accused where there is any finding.",
        },
        {
            "caption": "Tasks with a fault that are named",
            "columns": ["fault", *NOISE],
            "rows": by_kind,
            "note": "Of the tasks that say what the skill says, two of three have its very words.",
        },
    ]


def counts(rows: Sequence[dict[str, Any]]) -> list[Any]:
    """What audits came to that had the same noise."""
    faulty, sound = ([one for one in rows if (one["kind"] is None) == none] for none in (False, True))
    return [
        f"{sum(2 * one['named'] > PLANTED for one in faulty)} of {len(faulty)}",
        sum(len(one["wrong"]) for one in faulty),
        f"{sum(bool(one['wrong']) for one in sound)} of {len(sound)}",
        round(sum(one["attempts"] for one in rows) / len(rows), 1),
        max(one["most"] for one in rows),
    ]


def named(rows: Sequence[dict[str, Any]], kind: Kind, compliance: float | None) -> str:
    """How many tasks with a fault were found as such."""
    some = [one["named"] for one in rows if one["kind"] == kind and one["compliance"] == compliance]
    return f"{sum(some)} of {PLANTED * len(some)}"


if __name__ == "__main__":
    parser = command_line(__doc__, "audit")
    parser.add_argument("--suites", type=int, default=40, help="with faults, and without (default 40)")
    parser.add_argument("--quick", action="store_true", help="10 of each")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for number in range(10 if args.quick else args.suites):
        rows += rows_of(number)
        wrong = [one for one in rows if one["wrong"]]
        write_results(args.out, "Audits of suites with known faults", ["audit"], tables(rows), wrong=wrong)
