"""The environment of a night: mined tasks, judged by their checks, exact answers and rubrics."""

from collections.abc import Callable, Sequence

from etude.envs.scorers.answer_scorer import Judge, ScoredEnvironment
from etude.envs.scorers.checks import Checks, ChecksOptions
from etude.envs.splits import check_splits
from etude.errors import BoundaryError, StopRun
from etude.records import SPLITS, Score, Split, Task, Trajectory, canonical
from etude.sleep.tasks.mined import MinedTask


class SlowPattern(StopRun):
    """A pattern that a night mined takes too long on an answer, so the answer has no score. The night drops the task
    and continues: no person wrote the pattern, so none can correct it."""

    def __init__(self, task: str, error: BoundaryError) -> None:
        super().__init__(f"task {task!r}: {error.message}", hint="leave the task out")
        self.task = task


class NightEnvironment(ScoredEnvironment):
    """Mined tasks with their own criteria.

    Args:
        tasks: with their sides; an empty side is for the caller to judge.
        judge: makes the model that grades by rubrics; needed when a task has one.
        options: of the checks, and the grade from which a rubric is met.

    Raises:
        DataError: two tasks have one id, or tasks on different sides the same text; a task has a rubric, and there is
            no judge.
    """

    name = "night"

    def __init__(
        self,
        tasks: Sequence[MinedTask],
        judge: Callable[[], Judge] | None = None,
        *,
        options: ChecksOptions | None = None,
    ) -> None:
        self.scorer = Checks(options, judge)
        self._told_apart = self.scorer if any(task.rubric.strip() for task in tasks) else Checks(options)
        self._tasks: dict[Split, tuple[Task, ...]] = {
            split: tuple(task.task for task in tasks if task.split == split) for split in SPLITS
        }
        for task in tasks:
            self.scorer.check_task(task.task)
        check_splits(self._tasks, need=())
        self._mined = frozenset(task.id for task in tasks if task.night is not None)

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """The tasks of a side, in the order given."""
        return self._tasks[split]

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """All criteria of the task together; an empty answer meets none of them, and is not shown to the judge.

        Raises:
            DataError: the task has no criteria.
            SlowPattern: the match of a pattern that a night mined took too long.
            BoundaryError: so did that of a pattern that a person wrote, or the process that matches patterns died.
        """
        try:
            return await super().score(task, trajectory)
        except BoundaryError as error:
            if task.id in self._mined and isinstance(error.cause, TimeoutError):
                raise SlowPattern(task.id, error) from error
            raise

    def fingerprint(self) -> str:
        """Name, scorers and, where a task has a rubric, the judge."""
        return canonical([self.name, self._told_apart.fingerprint()])
