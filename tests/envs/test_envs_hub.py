"""Datasets of the Hugging Face hub, through a stand-in for its library; with the library itself where it is there."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from envs_images import data_url, png, write_png

from etude.envs.dataset import DatasetEnvironment
from etude.errors import ConfigError, DataError, install_command
from rows import rows


@dataclass
class FakeImage:
    """The feature of a column of pictures."""

    decode: bool = True

    def decode_example(self, value: Any) -> Any:
        raise AssertionError("a picture was decoded")


@dataclass
class FakeAudio:
    def decode_example(self, value: Any) -> Any:
        raise AssertionError("a sound was decoded")


@dataclass
class FakeList:
    feature: Any


@dataclass
class FakeLabel:
    names: list[str]


@dataclass
class FakeDataset:
    rows: list[dict[str, Any]]
    features: dict[str, Any]
    _fingerprint: str = "f00d"

    def __iter__(self):
        return (self[at] for at in range(len(self.rows)))

    def __getitem__(self, at: int) -> dict[str, Any]:
        row = {name: self.rows[at][name] for name in self.features}
        for name, feature in self.features.items():
            inner = getattr(feature, "feature", feature)
            if getattr(inner, "decode", False) or isinstance(inner, FakeAudio):
                inner.decode_example(row[name])
        return row

    def remove_columns(self, names: list[str]) -> "FakeDataset":
        kept = {name: feature for name, feature in self.features.items() if name not in names}
        return FakeDataset(self.rows, kept, "changed")

    def cast_column(self, name: str, feature: Any) -> "FakeDataset":
        return FakeDataset(self.rows, self.features | {name: feature}, "changed")


@dataclass
class FakeLibrary:
    """Has a dataset `someone/sums`, and notes what it was asked for."""

    splits: Mapping[str, FakeDataset]
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    Image = FakeImage

    def load_dataset(self, path: str, name: str | None = None, *, split: str, revision: str | None) -> FakeDataset:
        self.asked.append((path, name, split, revision))
        if path != "someone/sums":
            raise FileNotFoundError(f"Dataset {path!r} doesn't exist on the Hub")
        if split not in self.splits:
            raise ValueError(f"Unknown split {split!r}.")
        return self.splits[split]


def sums(count: int, start: int = 0, fingerprint: str = "f00d") -> FakeDataset:
    rows = [{"question": f"{n} + {n * n} = ?", "answer": n + n * n} for n in range(start, start + count)]
    return FakeDataset(rows, {"question": "text", "answer": "int"}, fingerprint)


def library(**changed: FakeDataset) -> FakeLibrary:
    return FakeLibrary({"train": sums(9, 0, "a"), "validation": sums(5, 20, "b"), "test": sums(4, 40, "c")} | changed)


def from_hub(options: dict[str, Any], fake: FakeLibrary) -> DatasetEnvironment:
    """The environment, with a stand-in for the library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "datasets", fake)
        return DatasetEnvironment(options)


HUB = {"hub": "someone/sums", "splits": {"train": "train", "val": "validation", "test": "test"}, "scorer": "numeric"}


def test_fields_map_columns_and_labels_become_their_names() -> None:
    rows = [{"text": f"text {n * 77}", "label": n % 3 - 1, "extra": 1.5} for n in range(6)]
    features = {"text": "string", "label": FakeLabel(["bad", "good"]), "extra": "float"}
    fake = library(train=FakeDataset([row for row in rows if row["label"] >= 0], features))
    labelled = HUB | {"fields": {"input": "text", "gold": "label"}, "splits": {"train": "train", "val": "v"}}
    env = from_hub(
        labelled | {"scorer": "exact"},
        FakeLibrary({**fake.splits, "v": FakeDataset([dict(rows[1], text="v")], features)}),
    )
    assert [(task.gold, task.data) for task in env.tasks("train")][:2] == [
        ("bad", {"extra": 1.5}),
        ("good", {"extra": 1.5}),
    ]
    unlabelled = FakeLibrary({**fake.splits, "v": FakeDataset([dict(rows[0], text="v")], features)})
    with pytest.raises(DataError, match=r"someone/sums v: row 1: no value in column 'label' for gold"):
        from_hub(labelled, unlabelled)


def documents(column: Any, values: list[Any]) -> FakeDataset:
    rows = [
        {"question": f"q{n * 77}", "answer": "x", "page": value, "scan": b"?", "scans": [b"?"]}
        for n, value in enumerate(values)
    ]
    media = {"page": column, "scan": FakeAudio(), "scans": FakeList(FakeAudio())}
    return FakeDataset(rows, {"question": "s", "answer": "s", **media})


def test_pictures_are_kept_as_stored_and_other_media_left_out(tmp_path: Path) -> None:
    write_png(tmp_path / "on-disk.png", 7)
    stored = [
        {"bytes": png(1), "path": "a.png"},
        {"bytes": None, "path": str(tmp_path / "on-disk.png")},
        {"bytes": png(2), "path": None},
        None,
    ]
    fake = library(train=documents(FakeImage(), stored), validation=documents(FakeImage(), [stored[0]]))
    fake.splits["validation"].rows[0]["question"] = "other"
    options = HUB | {
        "scorer": "exact",
        "fields": {"images": "page"},
        "splits": {"train": "train", "val": "validation"},
    }
    tasks = from_hub(options, fake).tasks("train")
    env = from_hub(options, fake)
    assert tasks == env.tasks("train")
    assert [[image.partition("#")[0] for image in task.images] for task in tasks] == [
        ["a.png"],
        ["on-disk.png"],
        ["image"],
        [],
    ]
    assert [env.image(task.images[0]) for task in tasks[:3]] == [data_url(png(n)) for n in (1, 7, 2)]
    assert all(task.data == {} for task in tasks)


def test_a_broken_picture_is_named_by_its_row() -> None:
    fake = library(train=documents(FakeImage(), [{"bytes": b"no", "path": "a.png"}]))
    with pytest.raises(DataError, match=r"someone/sums train: row 1: column 'page': the image is not a PNG"):
        from_hub(HUB | {"scorer": "exact", "fields": {"images": "page"}}, fake)


@rows(
    ("options", "message"),
    [
        ({"hub": "no/such"}, "hub dataset 'no/such', split 'train', cannot be loaded: FileNotFoundError"),
        (
            {"config": "x", "splits": {"train": "a", "val": "b"}},
            "split 'a', config 'x', cannot be loaded: ValueError",
        ),
        ({"splits": {"train": "train", "val": "empty"}}, "someone/sums empty: the split holds no tasks"),
    ],
)
def test_what_the_hub_does_not_have_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        from_hub(HUB | options, library(empty=sums(0)))
    assert message in caught.value.message


@rows(
    ("options", "message"),
    [
        ({"path": "a.csv"}, "env: 'hub' and 'path' exclude each other"),
        ({"train": "a.csv"}, "env: 'hub' and 'train' exclude each other"),
        ({"ratio": [1, 1, 1]}, "env: 'hub' and 'ratio' exclude each other"),
        ({"splits": {"train": "train"}}, "env: splits has no 'val'"),
        ({"splits": {"training": "train"}}, "env: splits.training"),
        ({"hub": None, "path": "a.csv"}, "env: 'splits' belongs to a dataset of the hub"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_hub(HUB | options, library())
    assert message in caught.value.message


def test_without_the_library_the_command_that_installs_it_is_reported() -> None:
    try:
        import datasets  # noqa: F401 - here only the absence is looked at
    except ImportError:
        with pytest.raises(ConfigError) as caught:
            DatasetEnvironment(HUB)
        assert str(caught.value) == (
            "hub dataset 'someone/sums' needs the library datasets, which is not installed\n"
            f"hint: {install_command('hf')}"
        )
    else:
        pytest.skip("the library datasets is installed")


def test_pictures_and_labels_of_a_dataset_on_this_machine_are_read_as_they_were_stored(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="the library datasets (300 MB) is not installed")
    for split, start in (("train", 0), ("validation", 20)):
        stored = [{"bytes": png(n), "path": f"{n}.png"} for n in range(start, start + 4)]
        columns = {
            "question": [f"q{n * 77}" for n in range(start, start + 4)],
            "answer": [0, 1, 1, 0],
            "page": stored,
            "pages": [stored[:2], [], stored[1:], stored[:1]],
        }
        write_hub_parquet(columns, tmp_path / f"{split}.parquet")
    options = HUB | {"hub": str(tmp_path), "splits": {"train": "train", "val": "validation"}, "scorer": "exact"}
    env = DatasetEnvironment(options | {"fields": {"images": "page"}})
    assert [env.image(task.images[0]) for task in env.tasks("val")] == [data_url(png(n)) for n in range(20, 24)]
    assert [task.gold for task in env.tasks("train")] == ["cat", "dog", "dog", "cat"]
    several = DatasetEnvironment(options | {"fields": {"images": "pages"}})
    assert [len(task.images) for task in several.tasks("train")] == [2, 0, 3, 1]
    assert all(task.data == {} for task in several.tasks("train"))
    assert env.fingerprint() == DatasetEnvironment(options | {"fields": {"images": "page"}}).fingerprint()


def write_hub_parquet(columns: dict[str, Any], path: Path) -> None:
    """As the library writes it, which for pictures needs Pillow: reading them as they were stored does not."""
    import pyarrow
    import pyarrow.parquet

    features = {
        "question": {"dtype": "string", "_type": "Value"},
        "answer": {"names": ["cat", "dog"], "_type": "ClassLabel"},
        "page": {"_type": "Image"},
        "pages": {"feature": {"_type": "Image"}, "_type": "List"},
    }
    table = pyarrow.table(columns)
    about = json.dumps({"info": {"features": features}})
    pyarrow.parquet.write_table(table.replace_schema_metadata({"huggingface": about}), path)
