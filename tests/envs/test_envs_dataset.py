import json
from pathlib import Path

import pytest

from etude.envs.dataset import DatasetEnvironment
from etude.errors import ConfigError
from etude.records import SPLITS, Task, Trajectory
from etude.testing.environment import EnvironmentContract
from rows import rows


def lines(path: Path, count: int, start: int = 0) -> str:
    rows = [{"question": f"{n} + {n * n} = ?", "answer": str(n + n * n)} for n in range(start, start + count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


class TestDatasetByRatio(EnvironmentContract):
    @pytest.fixture(autouse=True)
    def _data(self, tmp_path: Path) -> None:
        self.path = lines(tmp_path / "all.jsonl", 30)

    def make_environment(self) -> DatasetEnvironment:
        return DatasetEnvironment({"path": self.path, "scorer": "numeric"})

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [Trajectory(answer=f"It is {task.gold}."), Trajectory(answer="It is -1.")]


class TestDatasetByFiles(TestDatasetByRatio):
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path: Path) -> None:
        self.files = {split: lines(tmp_path / f"{split}.jsonl", 5, 10 * at) for at, split in enumerate(SPLITS)}

    def make_environment(self) -> DatasetEnvironment:
        return DatasetEnvironment.from_options({**self.files, "scorer": {"name": "numeric"}}, "env", None)


def test_files_keep_their_order_and_a_ratio_divides(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", 20)
    env = DatasetEnvironment({"train": path, "val": lines(tmp_path / "b.jsonl", 3, 50)})
    assert [task.input for task in env.tasks("train")][:2] == ["0 + 0 = ?", "1 + 1 = ?"]
    assert env.tasks("test") == ()
    sizes = [len(DatasetEnvironment({"path": path, "ratio": "1:1:2"}).tasks(split)) for split in SPLITS]
    assert sizes == [len(DatasetEnvironment({"path": path, "ratio": "1, 1, 2"}).tasks(split)) for split in SPLITS]
    assert sizes == [5, 5, 10]


def test_warnings_are_kept_for_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"input": "Hi", "gold": 1}\n' * 2 + "".join(f'{{"input": "{n}", "gold": 1}}\n' for n in range(9))
    )
    (warning,) = DatasetEnvironment({"path": str(path)}).warnings
    assert warning.startswith("the same input occurs more than once within a split")


@rows(
    ("options", "message"),
    [
        ({}, "env: 'path' is missing"),
        ({"path": "a.csv", "train": "b.csv"}, "env: 'path' and 'train' exclude each other"),
        ({"train": "a.csv"}, "env: 'val' is missing"),
        ({"train": "a.csv", "val": "b.csv", "ratio": [1, 1, 1]}, "env: a ratio divides 'path'"),
        ({"paht": "a.csv"}, "env: unknown key 'paht'"),
        ({"path": "a.csv", "fields": {"inputs": "x"}}, "env: unknown key 'fields.inputs'"),
        ({"path": "a.csv", "ratio": 7267}, "env: ratio = 7267: write the ratio as a list"),
        ({"path": "a.csv", "ratio": [1, 2]}, "expected three numbers for train, val and test, as in [2, 1, 7]"),
        ({"path": "a.csv", "ratio": "1:2"}, "expected three numbers for train, val and test, as in [2, 1, 7]"),
        ({"path": "a.csv", "limit": 0}, "env: limit"),
        ({"path": "a.csv", "scorer": "exakt"}, "unknown scorer 'exakt'"),
        ({"path": "a.csv", "scorer": {"name": "exact", "case": 1}}, "env.scorer 'exact': unknown key 'case'"),
        ({"path": "a.csv", "template": "{x}", "fields": {"input": "x"}}, "'template' and 'fields.input' exclude"),
        ({"path": "a.csv", "scorer": {"name": "rubric", "rubric": "r"}}, "env.scorer 'rubric': no model to ask"),
    ],
)
def test_wrong_settings_are_named_before_any_file_is_read(options: dict, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        DatasetEnvironment(options)
    assert message in caught.value.message
