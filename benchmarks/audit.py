"""Audits of suites whose faults are known.

    python benchmarks/audit.py            about ten minutes on two cores
    python benchmarks/audit.py --quick    a fifth of the suites

A suite has 24 tasks of one family of the simulated world, and a skill that states every rule of the family. Each task
is seen without noise: it passes with the skill and fails with another version. In 40 suites three tasks have one of
five faults; 40 suites have none. Without noise, at temperature 0, a task has four attempts. With noise a step that is
taught goes wrong in 5 or 12 of 100 attempts, for each rule that the task needs, and 3 of 100 replies say nothing.
"""

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from hard_worlds import WORLD
from harness import machine

from etude import ListEnvironment
from etude.config import make_config
from etude.envs.scorers.rubric import Rubric, RubricOptions
from etude.measure.audit.suite import FAULTS, Audit, Kind, aaudit_skill
from etude.measure.audit.versions import versions_of
from etude.protocols import ChatModel, Scorer
from etude.records import ChatRequest, Reply, Score, Skill, Task, Trajectory, system, user
from etude.simulation.families.family import relevant
from etude.simulation.noise import Reliability
from etude.simulation.score import best_skill
from etude.simulation.text import pick, same_answer, uniform
from etude.simulation.world import SimulatedWorld
from etude.workbench import Given

RESULTS = Path(__file__).parent / "results" / "audit.json"
FAMILIES = ("sorting", "counting", "dates", "parcels", "slips")
KINDS: Sequence[Kind] = tuple(FAULTS)
TASKS, PLANTED = 24, 3
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


class Worker(ChatModel):
    """The target: does the tasks of the world as it was taught, and easy ones anyway."""

    def __init__(self, compliance: float | None) -> None:
        self.name = f"simulated:worker {compliance}"
        self._nothing = 0.0 if compliance is None else _SAYS_NOTHING
        taught = STEADY if compliance is None else Reliability(slip=1 - compliance, sampled=True)
        self._world = world_of(taught)

    async def complete(self, request: ChatRequest) -> Reply:
        text = request.messages[-1].text
        if uniform("nothing", [message.text for message in request.messages], request.seed) < self._nothing:
            return Reply(text="<answer>I am not sure.</answer>", simulated=True)
        if text.startswith(_EASY):
            return Reply(text=f"<answer>{text.removeprefix(_EASY)}</answer>", simulated=True)
        return self._world.respond("target", request)


class Judge(ChatModel):
    """The judge, which tosses a coin at tasks with a fault."""

    name = "simulated:judge"

    def __init__(self, suite: Suite) -> None:
        self._doubtful = [task.input for task in suite.tasks if task.id in suite.planted and suite.kind == "judge"]

    async def complete(self, request: ChatRequest) -> Reply:
        reply = WORLD.respond("judge", request)
        asked = request.messages[-1].text
        if not any(text in asked for text in self._doubtful) or uniform("coin", asked) < 0.5:
            return reply
        found = json.loads(reply.text)
        return reply.model_copy(update={"text": json.dumps(found | {"score": 1 - found["score"]})})


def world_of(target: Reliability) -> SimulatedWorld:
    """The world of the benchmarks with another target."""
    return replace(WORLD, targets={**WORLD.targets, "target": target})


def make_suite(number: int, kind: Kind | None) -> Suite:
    """A suite of tasks that are all seen, but for those with a fault."""
    family = FAMILIES[number % len(FAMILIES)]
    some = WORLD.make_tasks(family, 8 * TASKS, seed=5000 + number)
    rules = best_skill(some, WORLD.families)
    text = f"---\nname: {family}\ndescription: Tasks of one kind.\n---\n\n# {family} tasks\n\n## Rules\n\n{rules}"
    skill = Skill(name=family, text=text)
    versions = [each.text.partition("\n---\n")[2] for each in versions_of(skill).values()]
    seen = (task for task in some if solved(versions[0], task) and not all(solved(one, task) for one in versions))
    tasks = list(islice(seen, TASKS))
    assert len(tasks) == TASKS, (family, len(tasks))
    rng = random.Random(number)
    places = rng.sample(range(TASKS), PLANTED) if kind else []
    for at, place in enumerate(places):
        tasks[place] = with_fault(tasks[place], kind, at, number)
    return Suite(skill, tasks, frozenset(tasks[place].id for place in places), kind)


def solved(text: str, task: Task) -> bool:
    """Whether the steady target solves a task with this text."""
    reply = world_of(STEADY).respond("target", ChatRequest(messages=(system(text), user(task.input))))
    return same_answer(answer_of(reply.text), str(task.gold))


def answer_of(text: str) -> str:
    return text.rpartition("Answer: ")[2]


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
        forbidden = task.data.get("forbidden")
        right = (
            same_answer(trajectory.answer, str(task.gold))
            if forbidden is None
            else forbidden not in trajectory.answer
        )
        return Score(hard=right, soft=right)

    def fingerprint(self) -> str:
        return self.name


async def audited(number: int, kind: Kind | None, compliance: float | None) -> tuple[Suite, Audit]:
    """The audit of one suite."""
    suite = make_suite(number, kind)
    splits = [suite.tasks[start::3] for start in range(3)]
    given: Given = {"target": Worker(compliance), "skill": suite.skill}
    if kind == "judge":
        rubric = RubricOptions(rubric="The answer is right.")
        given["env"] = lambda judge: ListEnvironment(*splits, scorer=Rubric(rubric, judge))
        given["judge"] = Judge(suite)
    else:
        given["env"] = ListEnvironment(*splits, scorer=Checks())
    with tempfile.TemporaryDirectory() as folder:
        still = {"temperature": 0} if compliance is None else {}
        settings = {"run": {"folder": folder, "name": "a"}, "target": {"model": "simulated:target", **still}}
        return suite, await aaudit_skill(make_config(settings), **given)


def row(job: tuple[int, Kind | None, float | None]) -> dict[str, Any]:
    """What one audit came to."""
    suite, audit = asyncio.run(audited(*job))
    right = {each.task for each in audit.findings if each.kind == suite.kind and each.task in suite.planted}
    wrong = [each for each in audit.findings if each.task not in suite.planted]
    return {
        "kind": suite.kind,
        "compliance": job[2],
        "named": len(right),
        "wrong": len(wrong),
        "attempts": audit.attempts / audit.tasks,
        "passed": audit.passed,
        "about": [f"{each.kind} {each.task} {each.what}" for each in wrong],
    }


def results(suites: int) -> dict[str, Any]:
    """All audits, as tables."""
    jobs: list[tuple[int, Kind | None, float | None]] = []
    for compliance in NOISE.values():
        jobs += [(number, KINDS[number // len(FAMILIES) % len(KINDS)], compliance) for number in range(suites)]
        jobs += [(number, None, compliance) for number in range(suites)]
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(row, jobs))
    known = [[name, *counts([one for one in rows if one["compliance"] == of])] for name, of in NOISE.items()]
    by_kind = [[FAULTS[kind][0], *(named(rows, kind, of) for of in NOISE.values())] for kind in KINDS]
    return {
        "title": "Audits of suites with known faults",
        "command": "scripts/benchmark audit",
        "machine": machine(),
        "tables": [
            {
                "caption": "Suites with faults, and sound ones",
                "columns": ["noise", "named", "false alarms", "sound ones accused", "attempts a task"],
                "rows": known,
                "note": f"A suite has {TASKS} tasks. {PLANTED} of them have a fault of one kind, and it is named where "
                f"most of these are found. False alarms are findings about the other {TASKS - PLANTED} tasks. A sound "
                "suite is accused where there is any finding.",
            },
            {
                "caption": "Tasks with a fault that are named",
                "columns": ["fault", *NOISE],
                "rows": by_kind,
                "note": "Of the tasks that say what the skill says, two of three have its very words.",
            },
        ],
        "wrong": [one for one in rows if one["wrong"]],
    }


def counts(rows: Sequence[dict[str, Any]]) -> list[Any]:
    """What audits came to that had the same noise."""
    faulty, sound = ([one for one in rows if (one["kind"] is None) == none] for none in (False, True))
    return [
        f"{sum(2 * one['named'] > PLANTED for one in faulty)} of {len(faulty)}",
        sum(one["wrong"] for one in faulty),
        f"{sum(one['wrong'] > 0 for one in sound)} of {len(sound)}",
        round(sum(one["attempts"] for one in rows) / len(rows), 1),
    ]


def named(rows: Sequence[dict[str, Any]], kind: Kind, compliance: float | None) -> str:
    """How many tasks with a fault were found as such."""
    some = [one["named"] for one in rows if one["kind"] == kind and one["compliance"] == compliance]
    return f"{sum(some)} of {PLANTED * len(some)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Audits of suites whose faults are known.")
    parser.add_argument("--suites", type=int, default=40, help="with faults, and without (default 40)")
    parser.add_argument("--quick", action="store_true", help="25 of each")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results file (default benchmarks/results)")
    args = parser.parse_args()
    args.out.write_text(json.dumps(results(25 if args.quick else args.suites), indent=1) + "\n")
