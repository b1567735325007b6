"""The environment of a night: mined tasks, judged by their checks, exact answers and rubrics."""

from collections.abc import Callable, Sequence

from etude.envs.scorers.answer_scorer import Judge
from etude.envs.scorers.checks import Checks, ChecksOptions, combined
from etude.envs.scorers.text import Exact
from etude.envs.splits import check_splits
from etude.errors import BoundaryError, ConfigError, DataError, StopRun
from etude.protocols import Environment, Scorer
from etude.records import SPLITS, Score, Split, Task, Trajectory, canonical
from etude.sleep.tasks.mined import MinedTask


class SlowPattern(StopRun):
    """A pattern that a night mined takes too long on an answer, so the answer has no score. The night drops the task
    and continues: no person wrote the pattern, so none can correct it."""

    def __init__(self, task: str, error: BoundaryError) -> None:
        super().__init__(f"task {task!r}: {error.message}", hint="leave the task out")
        self.task = task


class NightEnvironment(Environment):
    """Mined tasks with their own criteria.

    Of the criteria that a task has, checks, exact answers and a rubric, all apply: `hard` is 1 when each is met,
    `soft` the mean over them.

    Feedback on training tasks, which the optimizer reads, says in words what is wrong. On held-out tasks it is for
    people and shows the checks that failed as they are written: no stage shows the optimizer an attempt at one.

    Args:
        tasks: with their sides; an empty side is for the caller to judge.
        judge: makes the model that grades by rubrics; needed when a task has one.
        options: of the checks, and the grade from which a rubric is met.

    Raises:
        DataError: two tasks have one id, or tasks on different sides the same text.
        ConfigError: a task has a rubric, and there is no judge.
    """

    name = "night"

    def __init__(
        self,
        tasks: Sequence[MinedTask],
        judge: Callable[[], Judge] | None = None,
        *,
        options: ChecksOptions | None = None,
    ) -> None:
        options = options or ChecksOptions()
        self._checks = Checks(options, judge)
        self._open = Checks(options, judge, for_people=True)
        self._exact = Exact()
        judged = next((task.id for task in tasks if task.rubric.strip()), None)
        self._graded = judged is not None
        if self._graded and judge is None:
            raise ConfigError(
                f"task {judged!r} has a rubric, and there is no model to judge by it",
                hint="name a model for the judge, or leave the rubric out",
            )
        self._tasks: dict[Split, tuple[Task, ...]] = {
            split: tuple(task.task for task in tasks if task.split == split) for split in SPLITS
        }
        check_splits(*(self._tasks[split] for split in SPLITS), need=())
        self._mined = frozenset(task.id for task in tasks if task.night is not None)
        self._training = frozenset(task.id for task in self._tasks["train"])

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """The tasks of a side, in the order given."""
        return self._tasks[split]

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """All criteria of the task together; an empty answer meets none of them, and is not shown to the judge.

        Raises:
            DataError: the task is not one of this environment.
            SlowPattern: the match of a pattern that a night mined took too long.
            BoundaryError: so did that of a pattern that a person wrote, or the process that matches patterns died.
        """
        gold = task.gold if isinstance(task.gold, dict) else {}
        checks = self._checks if task.id in self._training else self._open
        scorers: dict[str, Scorer] = {"checks": checks, "rubric": checks, "exact": self._exact}
        kinds = [kind for kind in scorers if kind in gold]
        if not kinds:
            raise DataError(f"task {task.id!r} has no criteria", hint="use the tasks of this environment")
        if not trajectory.answer.strip():
            return Score(hard=0, soft=0, feedback="there is no answer")
        found: list[Score] = []
        for kind in kinds:
            part = task.model_copy(update={"gold": gold[kind] if kind == "exact" else {kind: gold[kind]}})
            try:
                found.append(await scorers[kind].score(part, trajectory))
            except BoundaryError as error:
                if kind == "checks" and task.id in self._mined and isinstance(error.cause, TimeoutError):
                    raise SlowPattern(task.id, error) from error
                raise
        return combined(found)

    def fingerprint(self) -> str:
        """Name, scorers and, where a task has a rubric, the judge."""
        checks = self._checks if self._graded else Checks(self._checks.options)
        return canonical([self.name, checks.fingerprint(), self._exact.fingerprint()])
