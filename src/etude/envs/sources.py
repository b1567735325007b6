"""Where the tasks of each split come from: one file and a ratio, or a file for each split."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Self, cast

from pydantic import BeforeValidator, Field

from etude.config import Section
from etude.envs.splits import split_by_ratio
from etude.errors import ConfigError
from etude.protocols import Environment
from etude.records import SPLITS, Split, Task


def _ratio(value: Any) -> Any:
    parts = re.split("[:,]", value) if isinstance(value, str) else value
    if isinstance(parts, list) and len(cast(list[Any], parts)) != 3:
        raise ValueError("expected three numbers for train, val and test, as in [2, 1, 7]")
    if isinstance(value, int):
        # YAML 1.1 reads 2:1:7 as a number to base 60.
        raise ValueError("write the ratio as a list, [2, 1, 7], or in quotes, '2:1:7'")
    return cast(Any, parts)


Ratio = Annotated[tuple[float, float, float], BeforeValidator(_ratio)]
Limit = Annotated[int, Field(ge=1)] | dict[Split, Annotated[int, Field(ge=1)]] | None


class Shares(Section):
    """How one set of tasks is divided, and how many of them are used."""

    ratio: Ratio = (2, 1, 7)
    """Shares of train, val and test, as in `[2, 1, 7]`."""
    split_seed: int = 42
    """Seed of the split by ratio."""
    limit: Limit = None
    """Most tasks in each split, or in the splits named: the first ones of a file, a random part after a ratio."""

    def divided(self, tasks: Sequence[Task]) -> dict[Split, tuple[Task, ...]]:
        """The tasks by split."""
        return split_by_ratio(tasks, self.ratio, self.split_seed)

    def limited(self, splits: Mapping[Split, tuple[Task, ...]]) -> dict[Split, tuple[Task, ...]]:
        """The first tasks of each split, as many as `limit` allows."""
        most = self.limit if isinstance(self.limit, dict) else dict.fromkeys(SPLITS, self.limit)
        return {split: tasks[: most.get(split)] for split, tasks in splits.items()}


class Sources(Shares):
    """Settings of environments that read tasks from files."""

    path: str | None = None
    """One file that is split by `ratio`."""
    train: str | None = None
    """File of the training tasks."""
    val: str | None = None
    """File of the validation tasks."""
    test: str | None = None
    """File of the test tasks."""

    def files(self, where: str, missing: str = "give 'path', or 'train', 'val' and 'test'") -> dict[Split, str]:
        """The file behind each split; with `path` the same for all. `missing` is the hint when there is none.
        Raises ConfigError: nothing is given, too little, or what excludes each other."""
        given: dict[Split, str | None] = {"train": self.train, "val": self.val, "test": self.test}
        files: dict[Split, str] = {split: file for split, file in given.items() if file is not None}
        if self.path is not None:
            if files:
                raise ConfigError(f"{where}: 'path' and {next(iter(files))!r} exclude each other", hint="remove one")
            return dict.fromkeys(SPLITS, self.path)
        if not files:
            raise ConfigError(f"{where}: 'path' is missing", hint=missing)
        lacking = [split for split in ("train", "val") if split not in files]
        if lacking:
            raise ConfigError(
                f"{where}: {lacking[0]!r} is missing", hint=f"add {lacking[0]!r}, or use 'path' and 'ratio'"
            )
        if self.model_fields_set & {"ratio", "split_seed"}:
            raise ConfigError(f"{where}: a ratio divides 'path', not the files of splits", hint="remove 'ratio'")
        return files

    def read(
        self, files: Mapping[Split, str], read: Callable[[str], tuple[Task, ...]]
    ) -> dict[Split, tuple[Task, ...]]:
        """The tasks of every split, limited; `read` returns those of one file and is called once for each."""
        if self.path is not None:
            return self.limited(self.divided(read(self.path)))
        return self.limited({split: read(files[split]) if split in files else () for split in SPLITS})


class ReadEnvironment(Environment):
    """An environment whose tasks are read once, at construction, and checked then."""

    _tasks: Mapping[Split, tuple[Task, ...]]
    _warnings: Sequence[str]

    @classmethod
    def from_options(cls, options: Mapping[str, Any], where: str, judge: Any) -> Self:
        """The environment for the settings of the `env` section."""
        del judge
        return cls(options, where=where)  # pyright: ignore[reportCallIssue]

    @property
    def warnings(self) -> Sequence[str]:
        """What is doubtful about the tasks, one sentence each."""
        return tuple(self._warnings)

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """All tasks of a split, always in the same order."""
        return self._tasks[split]
