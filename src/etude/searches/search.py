"""What a search policy is."""

import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import Any, ClassVar, NamedTuple

from etude.config import Section, TrainConfig
from etude.records import Split, Task, TrainState
from etude.run_log import RunLog
from etude.workbench import Workbench


class SearchOptions(Section):
    """Options of a search policy: further keys of the section `search`."""

    @property
    def tries(self) -> int:
        """Attempts at each training task of a step."""
        return 1


class Known(NamedTuple):
    """What is known of a run before it begins."""

    config: TrainConfig
    tasks: Mapping[Split, int]
    kinds: int
    """Types among the training tasks."""


class Most(NamedTuple):
    """No search does more, but for retries and answers that are asked for again because they lack the form."""

    attempts: int
    """By the target."""
    calls: int = 0
    """Of the optimizer."""


class Search(ABC):
    """Takes a run through its epochs, from one state to the next.

    Whatever it pays for or decides is a fact, so a resumed run comes the same way without paying again.

    Args:
        bench: what the run works with.
        options: of the class `options_type`.
    """

    def __init__(self, bench: Workbench, options: SearchOptions) -> None:
        del options
        self._bench = bench
        self._config = bench.config
        self.log = RunLog(bench, self.steps)
        """Where it reports what happens."""

    options_type: ClassVar[type[SearchOptions]] = SearchOptions
    """What the further keys of the section `search` are."""
    edits_files: ClassVar[bool] = False
    """It keeps to the lines above files, where these are in the text that is trained (`skill.files`)."""

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        """Look at the settings of a run before anything is paid for; by default they are fine.

        Raises:
            ConfigError: the policy cannot work with them.
        """
        del config

    @classmethod
    @abstractmethod
    def most(cls, known: Known, options: Any) -> Most:
        """An upper bound of what a run does before its test, whatever happens, for options of the class
        `options_type`. Sends nothing."""

    def gives_up(self, state: TrainState, idle: int) -> bool:
        """Whether the search ends after this epoch, where so many in a row have changed nothing; by default never."""
        del state, idle
        return False

    @property
    def steps(self) -> int:
        """Of the whole run; 0 when that depends on what happens."""
        return 0

    @abstractmethod
    def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        """One pass over the training tasks: the state after each step, and at the end. Epochs count from 1."""

    async def finish(self, state: TrainState) -> TrainState:
        """After the last epoch: measure on validation what was not; by default that is nothing."""
        return state

    def _shuffled(self, epoch: int) -> tuple[list[Task], int]:
        """The training tasks in the order of an epoch, each for one of several targets, and the seed of the order."""
        tasks, seed = list(self._bench.tasks["train"]), self._config.train.seed + 1000 * epoch
        several = max(1, len(self._config.targets))  # they take turns
        tasks = [tasks[first + (first // several + epoch) % several] for first in range(0, len(tasks), several)]
        random.Random(seed).shuffle(tasks)
        return tasks, seed
