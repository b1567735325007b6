"""New tasks with their right answers."""

import random

from etude.records import Task, digest
from etude.simulation.families import families_named
from etude.simulation.families.family import right_answer


def make_tasks(family: str | None, count: int, seed: int) -> list[Task]:
    """`count` different tasks of a family; without one, of `sorting`, `counting` and `dates` in turn. The same
    arguments give the same tasks, and fewer of them are the first of more.
    Raises ConfigError: no family has that name."""
    chosen = families_named(family)
    rngs = {known.name: random.Random(f"{known.name}/{seed}") for known in chosen}
    tasks: dict[str, Task] = {}
    while len(tasks) < count:
        maker = chosen[len(tasks) % len(chosen)]
        text = maker.make(rngs[maker.name])
        gold = right_answer(maker, text)
        tasks.setdefault(
            text, Task(id=f"{maker.name}-{digest(text)[:8]}", input=text, gold=gold, type=maker.kind(text))
        )
    return list(tasks.values())
