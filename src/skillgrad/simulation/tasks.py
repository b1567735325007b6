"""New tasks with their right answers."""

import random

from skillgrad.errors import ConfigError, did_you_mean
from skillgrad.records import Task, digest
from skillgrad.simulation.families import FAMILIES
from skillgrad.simulation.families.base import right_answer


def make_tasks(family: str | None, count: int, seed: int) -> list[Task]:
    """`count` different tasks of a family, or of all of them in turn. The same arguments give the same tasks, and
    fewer of them are the first of more.

    Raises:
        ConfigError: no family has that name.
    """
    names = [known.name for known in FAMILIES]
    if family is not None and family not in names:
        raise ConfigError(f"unknown family of simulated tasks {family!r}", hint=did_you_mean(family, names))
    chosen = [known for known in FAMILIES if family in (None, known.name)]
    rngs = {known.name: random.Random(f"{known.name}/{seed}") for known in chosen}
    tasks: dict[str, Task] = {}
    while len(tasks) < count:
        maker = chosen[len(tasks) % len(chosen)]
        text = maker.make(rngs[maker.name])
        gold = right_answer(maker, text)
        tasks.setdefault(text, Task(id=f"{maker.name}-{digest(text)[:8]}", input=text, gold=gold, type=maker.name))
    return list(tasks.values())
