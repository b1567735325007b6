"""The environment `alphabet`."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from pydantic import Field

from etude.config import Section, parse
from etude.envs import split_by_ratio
from etude.envs.scorers.answer_scorer import Judge
from etude.protocols import Environment
from etude.records import Score, Split, Task, Trajectory, canonical
from etude_alphabet.scorer import WordsInPlace

WORDS = (
    "apple apples birch birchwood cabin candle car carpet ember fern ferns garden harbor hat hatch indigo jacket "
    "kettle lantern lamp maple marble marbles nectar oak orchard pear pearl quilt ravine river sea seal thistle "
    "use useful violet walnut willow yarn zephyr"
)


class AlphabetOptions(Section):
    """Options of the environment, next to its name in `env`."""

    tasks: int = Field(default=80, ge=10)
    """Number of tasks."""
    seed: int = 1
    """Seed of the tasks."""
    ratio: tuple[float, float, float] = (2, 1, 1)
    """Shares of train, val and test."""


class Alphabet(Environment):
    """Words to be put in alphabetical order."""

    name = "alphabet"

    def __init__(self, options: AlphabetOptions) -> None:
        self.scorer = WordsInPlace()
        self._splits = split_by_ratio(make_tasks(options.tasks, options.seed), options.ratio, options.seed)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], where: str, judge: Callable[[], Judge] | None) -> Self:
        """The environment for the options of the `env` section; `judge` makes a model to ask, for those who need it.

        Raises:
            ConfigError: an unknown option or a bad value; `where` is part of the message.
        """
        del judge
        return cls(parse(AlphabetOptions, dict(options), where=where))

    def tasks(self, split: Split) -> Sequence[Task]:
        """All tasks of a split, always in the same order."""
        return self._splits[split]

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """What the scorer says."""
        return await self.scorer.score(task, trajectory)

    def fingerprint(self) -> str:
        """What else than the task decides a score: remembered scores of another fingerprint are not used."""
        return canonical([self.name, self.scorer.fingerprint()])

    @property
    def repeatable(self) -> bool:
        """Scoring again costs nothing and gives the same: no need to remember scores."""
        return True


def make_tasks(count: int, seed: int) -> list[Task]:
    """Different tasks; the same arguments give the same ones."""
    rng = random.Random(seed)
    tasks: dict[str, Task] = {}
    while len(tasks) < count:
        words = rng.sample(WORDS.split(), rng.randint(5, 9))
        words = [word.capitalize() if rng.random() < 0.2 else word for word in words]
        text = f"Sort these words alphabetically: {' '.join(words)}"
        gold = " ".join(sorted(words, key=str.casefold))
        tasks.setdefault(text, Task(id=f"alphabet-{len(tasks) + 1}", input=text, gold=gold))
    return list(tasks.values())
