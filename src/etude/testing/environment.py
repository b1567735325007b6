"""The contract of environments. Inherit it in a test class and say how to make one."""

import asyncio
import inspect
from abc import abstractmethod
from collections.abc import Sequence

from etude.protocols import Environment
from etude.records import SPLITS, Score, Task, Trajectory


class EnvironmentContract:
    """What every environment must do.

    class TestMine(EnvironmentContract):
        def make_environment(self): return MyEnvironment(...)
        def trajectories(self, task): return [Trajectory(answer="right"), Trajectory(answer="wrong")]
    """

    @abstractmethod
    def make_environment(self) -> Environment:
        """A new environment over the same data each time."""
        raise NotImplementedError

    @abstractmethod
    def trajectories(self, task: Task) -> Sequence[Trajectory]:
        """Trajectories to score, of a good and a bad attempt at the task at least."""
        raise NotImplementedError

    def test_tasks_come_in_the_same_order_each_time(self) -> None:
        env = self.make_environment()
        for split in SPLITS:
            assert list(env.tasks(split)) == list(env.tasks(split)) == list(self.make_environment().tasks(split))

    def test_there_are_tasks_to_train_on_and_to_validate_with(self) -> None:
        env = self.make_environment()
        assert env.tasks("train")
        assert env.tasks("val")

    def test_every_task_has_an_id_of_its_own_and_something_to_do(self) -> None:
        env = self.make_environment()
        tasks = [task for split in SPLITS for task in env.tasks(split)]
        assert len({task.id for task in tasks}) == len(tasks)
        assert all(task.id and task.input.strip() for task in tasks)

    def test_no_task_is_in_two_splits(self) -> None:
        env = self.make_environment()
        seen = [
            {(" ".join(task.input.casefold().split()), task.images, str(task.files)) for task in env.tasks(split)}
            for split in SPLITS
        ]
        assert not seen[0] & seen[1]
        assert not seen[0] & seen[2]
        assert not seen[1] & seen[2]

    def test_tasks_survive_being_stored(self) -> None:
        for task in self.make_environment().tasks("train"):
            assert Task.model_validate_json(task.model_dump_json()) == task

    def test_the_fingerprint_is_the_same_for_the_same_environment(self) -> None:
        assert self.make_environment().fingerprint() == self.make_environment().fingerprint()

    def test_an_environment_that_brings_tools_says_so(self) -> None:
        env = self.make_environment()
        assert env.has_tools or not any(env.tools(task) for task in env.tasks("train"))

    def test_scores_are_in_range_and_tell_a_good_attempt_from_a_bad_one(self) -> None:
        env = self.make_environment()
        task = env.tasks("train")[0]
        values = {_score(env, task, trajectory).hard for trajectory in self.trajectories(task)}
        assert len(values) > 1

    def test_a_stored_trajectory_gets_the_same_score_from_another_environment_object(self) -> None:
        env, other = self.make_environment(), self.make_environment()
        task = env.tasks("val")[0]
        for trajectory in self.trajectories(task):
            stored = Trajectory.model_validate_json(trajectory.model_dump_json())
            assert _score(env, task, trajectory) == _score(other, task, stored)


def _score(env: Environment, task: Task, trajectory: Trajectory) -> Score:
    async def score() -> Score:
        result = env.score(task, trajectory)
        value = await result if inspect.isawaitable(result) else result
        return value if isinstance(value, Score) else Score(hard=value, soft=value)

    return asyncio.run(score())
