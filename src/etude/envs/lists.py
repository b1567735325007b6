"""Tasks from Python lists, and the environment that has nothing else."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from pydantic import ValidationError

from etude.envs.files import Row
from etude.envs.images import Images
from etude.envs.rows import Fields, tasks_from_rows, with_ids
from etude.envs.scorers.answer_scorer import ScoredEnvironment
from etude.envs.scorers.function import ScorerLike, as_scorer
from etude.envs.splits import check_splits
from etude.errors import DataError
from etude.protocols import Environment
from etude.records import Split, Task, canonical

TaskLike = Task | Mapping[str, Any] | tuple[str, Any]
"""A task, a mapping with the columns of a data file, or a pair of input and gold."""
TaskSource = Iterable[TaskLike] | Callable[[], Iterable[TaskLike]]
"""Tasks, or a function that returns them; it is called when they are first needed."""


def _as_task(item: object, place: str, images: Images) -> Task:
    def image(value: str, place: str) -> str:
        return images.add(value, None, place)

    if isinstance(item, Task):
        held = tuple(image(value, place) for value in item.images)
        return item.model_copy(update={"images": held}) if held != item.images else item
    columns: dict[str, Any]
    if isinstance(item, Mapping):
        columns = dict(cast(Mapping[str, Any], item))
        inner = columns.get("data")
        if isinstance(inner, Mapping):
            columns = {**cast(Mapping[str, Any], columns.pop("data")), **columns}
    elif isinstance(item, Sequence) and not isinstance(item, str) and len(cast(Sequence[Any], item)) == 2:
        columns = dict(zip(("input", "gold"), cast(Sequence[Any], item), strict=True))
    else:
        raise DataError(
            f"{place}: {item!r:.80} is not a task",
            hint="give a Task, a mapping with 'input', or a pair (input, gold)",
        )
    try:
        fields = Fields(images="images" if columns.get("images") is not None else None)
        return tasks_from_rows([Row(place, columns)], fields, needs_gold=False, image=image)[0]
    except (ValidationError, TypeError) as error:
        raise DataError(f"{place}: {item!r:.80} is not a task: {error}"[:300], hint="use JSON values only") from None


class ListedTasks(Environment):
    """What environments over lists share: tasks of the three splits, made and checked when first asked for. Those
    without an id are named after their input. Paths of pictures count from the current folder."""

    def __init__(self, train: TaskSource, val: TaskSource, test: TaskSource) -> None:
        self._sources: dict[Split, TaskSource] = {"train": train, "val": val, "test": test}
        self._images = Images()

    @cached_property
    def _read(self) -> tuple[dict[Split, tuple[Task, ...]], Sequence[str]]:
        splits: dict[Split, tuple[Task, ...]] = {}
        for split, source in self._sources.items():
            items = enumerate(source() if callable(source) else source)
            splits[split] = with_ids([_as_task(item, f"{split}[{index}]", self._images) for index, item in items])
        return splits, tuple(check_splits(splits))

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """All tasks of a split, in the order given. Raises DataError: any of the splits cannot be used, or an item is
        nothing that a task can be made of; names its position."""
        return self._read[0][split]

    @property
    def warnings(self) -> Sequence[str]:
        """What is doubtful about the splits, one sentence each."""
        return self._read[1]

    def image(self, reference: str) -> str:
        """A data URL for a picture of one of the tasks."""
        return self._images.url(reference)


class ListEnvironment(ListedTasks, ScoredEnvironment):
    """Tasks given as lists, scored by a scorer or a function `score(task, answer)`.
    Raises DataError: the splits cannot be used; at construction, or for functions when tasks are first asked for;
    ConfigError: the scorer is unknown."""

    def __init__(
        self,
        train: TaskSource,
        val: TaskSource,
        test: TaskSource = (),
        *,
        scorer: ScorerLike = "exact",
        name: str = "list",
    ) -> None:
        self.name = name
        self.scorer = as_scorer(scorer, "scorer")
        super().__init__(train, val, test)
        if not any(callable(source) for source in (train, val, test)):
            self.tasks("train")

    def fingerprint(self) -> str:
        """Name and scorer."""
        return canonical([self.name, self.scorer.fingerprint()])
