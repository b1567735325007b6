import pytest

from etude.envs.lists import ListEnvironment
from etude.errors import DataError
from etude.records import Task, Trajectory
from etude.testing.environment import EnvironmentContract
from rows import rows

TRAIN = [Task(id="t1", input="2 + 2", gold="4"), {"question": "30 + 3", "answer": "33", "level": 1}]
VAL = [("apples and 5", "5")]


def halves(task: Task, answer: str) -> float:
    return 1.0 if answer == task.gold else 0.5


class TestListEnvironment(EnvironmentContract):
    def make_environment(self) -> ListEnvironment:
        return ListEnvironment(TRAIN, VAL, scorer=halves)

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [Trajectory(answer=str(task.gold)), Trajectory(answer="no")]


class TestLazyListEnvironment(TestListEnvironment):
    def make_environment(self) -> ListEnvironment:
        return ListEnvironment(lambda: TRAIN, lambda: iter(VAL), scorer="numeric", name="sums")


def test_the_data_of_a_task_like_mapping_stays_data() -> None:
    env = ListEnvironment([{"id": "a", "input": "x", "gold": 1, "data": {"k": 2}}], VAL)
    assert env.tasks("train") == (Task(id="a", input="x", gold=1, data={"k": 2}),)


@rows(
    ("item", "message"),
    [
        (5, r"train\[0\]: 5 is not a task"),
        ("ab", r"train\[0\]: 'ab' is not a task"),
        (("a", "b", "c"), r"train\[0\]: \('a', 'b', 'c'\) is not a task"),
        ({"text": "a"}, r"train\[0\]: no column for the task's input; columns: 'text'"),
        (("a", object()), r"train\[0\]: .* is not a task"),
        ((object(), "a"), r"train\[0\]: .* is not a task"),
    ],
)
def test_an_item_that_is_no_task_is_named_by_its_position(item: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ListEnvironment([item], VAL)
