import json
from pathlib import Path

import pytest

from etude.envs.dataset import DatasetEnvironment
from etude.envs.scorers.numeric import Numeric
from etude.errors import ConfigError, DataError
from etude.records import SPLITS, Task, Trajectory
from etude.testing.environment import EnvironmentContract


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


def test_another_split_seed_gives_another_split(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", 20)
    one, two = (DatasetEnvironment({"path": path, "split_seed": seed}).tasks("test") for seed in (1, 2))
    assert one != two


def test_a_limit_holds_for_all_splits_or_for_those_named(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", 100)

    def sizes(limit: object) -> list[int]:
        env = DatasetEnvironment({"path": path, "limit": limit})
        return [len(env.tasks(split)) for split in SPLITS]

    assert sizes(15) == [15, 10, 15]
    assert sizes({"test": 7}) == [20, 10, 7]


def test_fields_template_and_format_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text("q,c,sol\n" + "".join(f"what {n * 77},x,{n}\n" for n in range(12)))
    options = {"path": str(path), "format": "csv", "fields": {"gold": "sol"}, "template": "{q}? {c}"}
    task = DatasetEnvironment(options).tasks("train")[0]
    assert task.input == f"what {int(str(task.gold)) * 77}? x"


def test_warnings_are_kept_for_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"input": "Hi", "gold": 1}\n' * 2 + "".join(f'{{"input": "{n}", "gold": 1}}\n' for n in range(9))
    )
    (warning,) = DatasetEnvironment({"path": str(path)}).warnings
    assert warning.startswith("the same input occurs more than once within a split")


def test_overlapping_files_are_refused_by_name(tmp_path: Path) -> None:
    one, two = lines(tmp_path / "a.jsonl", 3), lines(tmp_path / "b.jsonl", 3, 2)
    with pytest.raises(DataError) as caught:
        DatasetEnvironment({"train": one, "val": two})
    assert one in caught.value.message
    assert two in caught.value.message


def test_too_few_tasks_for_a_ratio_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"val \(.*a.jsonl\): the val split is empty"):
        DatasetEnvironment({"path": lines(tmp_path / "a.jsonl", 2)})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "env: 'path' is missing"),
        ({"path": "a.csv", "train": "b.csv"}, "env: 'path' and 'train' exclude each other"),
        ({"train": "a.csv"}, "env: 'val' is missing"),
        ({"train": "a.csv", "val": "b.csv", "ratio": [1, 1, 1]}, "env: a ratio divides 'path'"),
        ({"paht": "a.csv"}, "env: unknown key 'paht'"),
        ({"path": "a.csv", "fields": {"inputs": "x"}}, "env: unknown key 'fields.inputs'"),
        ({"path": "a.csv", "ratio": 7267}, "env: ratio = 7267: write the ratio as a list"),
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


async def test_a_scorer_object_replaces_the_configured_one(tmp_path: Path) -> None:
    options = {"path": lines(tmp_path / "a.jsonl", 20)}
    env = DatasetEnvironment(options, scorer=Numeric())
    task = env.tasks("train")[0]
    assert (await env.score(task, Trajectory(answer=f"so {task.gold}.0"))).hard == 1
    assert env.fingerprint() != DatasetEnvironment(options).fingerprint()


def test_gold_is_required_only_by_scorers_that_compare_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"input": "say {n * n * n}"}}\n' for n in range(20)))
    with pytest.raises(DataError, match="no column for the task's gold"):
        DatasetEnvironment({"path": str(path)})
    assert DatasetEnvironment({"path": str(path), "scorer": {"name": "regex", "pattern": "x"}}).tasks("train")


def test_the_environment_is_as_repeatable_as_its_scorer(tmp_path: Path) -> None:
    assert DatasetEnvironment({"path": lines(tmp_path / "a.jsonl", 20)}).repeatable
