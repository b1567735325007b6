"""Pictures of tasks: by reference in records, as data URLs for models."""

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
from envs_images import KINDS, data_url, png, write_png

from etude.envs import ListEnvironment
from etude.envs.dataset import DatasetEnvironment
from etude.envs.images import MOST_BYTES, Images
from etude.errors import DataError
from etude.records import Task


@pytest.mark.parametrize(("kind", "data"), KINDS.items())
def test_the_first_bytes_tell_the_kind_whatever_the_name_says(tmp_path: Path, kind: str, data: bytes) -> None:
    (tmp_path / "page.bin").write_bytes(data)
    images = Images()
    reference = images.add("page.bin", tmp_path, "x.jsonl:1")
    assert reference == f"page.bin#sha256={sha256(data).hexdigest()}"
    assert images.url(reference) == data_url(data, kind)


def test_addresses_stay_as_they_are() -> None:
    images = Images()
    for url in ("https://example.org/a.png", "HTTP://example.org/b"):
        assert images.add(url, Path("nowhere"), "place") == url
        assert images.url(url) == url


def test_a_picture_that_changed_or_went_away_is_an_error_when_it_is_sent(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", 1)
    images = Images()
    reference = images.add("a.png", tmp_path, "x.jsonl:1")
    write_png(tmp_path / "a.png", 2)
    with pytest.raises(DataError) as caught:
        images.url(reference)
    assert caught.value.message == "x.jsonl:1: image 'a.png' has changed since it was first read"
    (tmp_path / "a.png").unlink()
    with pytest.raises(DataError, match=r"image 'a.png' cannot be read: No such file"):
        images.url(reference)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("gone.png", "x.jsonl:7: image 'gone.png' does not exist"),
        ("folder", "x.jsonl:7: image 'folder' is a folder"),
        ("text.png", "x.jsonl:7: image 'text.png' is not a PNG, JPEG, GIF or WebP"),
        ("x" * 5000, f"x.jsonl:7: image '{'x' * 200}' cannot be read: File name too long"),
        ("data:image/png;base64,???", "x.jsonl:7: 'data:image/png;base64,???' is not a data URL of an image"),
        (data_url(b"no picture"), "x.jsonl:7: the image is not a PNG, JPEG, GIF or WebP"),
        ("big.png", "x.jsonl:7: image 'big.png' has 20.0 MB; at most 20 MB can be sent"),
    ],
)
def test_what_is_no_picture_is_named_with_its_file_and_line(tmp_path: Path, value: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.png").write_text("hello")
    with (tmp_path / "big.png").open("wb") as file:
        os.truncate(file.fileno(), MOST_BYTES + 1)
    with pytest.raises(DataError) as caught:
        Images().add(value, tmp_path, "x.jsonl:7")
    assert caught.value.message == message


def test_a_picture_in_memory_is_not_larger_than_one_in_a_file_may_be() -> None:
    with pytest.raises(DataError, match=r"hub row has 20\.0 MB"):
        Images().add_bytes(lambda: bytes(MOST_BYTES + 1), "a.png", "hub row")


def test_a_reference_from_elsewhere_is_refused() -> None:
    with pytest.raises(DataError, match="belongs to no task of this environment"):
        Images().url("a.png#sha256=" + "0" * 64)


def documents(folder: Path, count: int = 12, **more: object) -> str:
    """A data file of questions about pictures in a folder beside it."""
    rows = []
    for number in range(count):
        write_png(folder / "pages" / f"{number}.png", number)
        rows.append({"question": "What is the total?", "answer": str(number), "page": f"pages/{number}.png", **more})
    path = folder / "documents.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_pictures_leave_the_data_and_come_as_small_references(tmp_path: Path) -> None:
    env = DatasetEnvironment({"path": documents(tmp_path), "fields": {"images": "page"}})
    task = env.tasks("train")[0]
    assert task.data == {}
    assert len(task.images) == 1
    assert len(task.model_dump_json()) < 300
    assert env.image(task.images[0]) == data_url(png(int(str(task.gold))))
    assert task.text == f"What is the total?\n[image: {task.gold}.png]"
    assert env.warnings == ()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"question": "q", "answer": "a"}], "no value in column 'page' for images; columns: 'question', 'answer'"),
        ([{"question": "q", "answer": "a", "page": 3}], "a.json: item 1: images = 3: neither a path"),
        ([{"question": "q", "answer": "a", "page": [""]}], 'a.json: item 1: images = [""]: neither a path'),
        ([{"question": "q", "answer": "a", "page": "no.png"}], "a.json: item 1: image 'no.png' does not exist"),
    ],
)
def test_a_column_without_pictures_is_refused(tmp_path: Path, rows: list, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(DataError) as caught:
        DatasetEnvironment({"path": str(path), "fields": {"images": "page"}})
    assert message in caught.value.message


def test_lists_take_pictures_in_mappings_and_in_tasks(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_png(tmp_path / "a.png", 1)
    env = ListEnvironment(
        train=[{"input": "one", "gold": 1, "images": ["a.png"]}],
        val=[Task(id="two", input="two", gold=2, images=(data_url(png(2)), "https://example.org/x.png"))],
    )
    (train,), (val,) = env.tasks("train"), env.tasks("val")
    assert env.image(train.images[0]) == data_url(png(1))
    assert [image.partition("#")[0] for image in val.images] == ["image", "https://example.org/x.png"]
    assert env.image(val.images[0]) == data_url(png(2))


@pytest.mark.parametrize("escape", ["../secret.png", "{}/secret.png", "link.png", "up/secret.png"])
@pytest.mark.parametrize("form", [lambda path: path, lambda path: ["https://example.org/a.png", path]])
def test_a_picture_outside_of_the_data_never_reaches_a_model(tmp_path: Path, escape: str, form) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write_png(tmp_path / "secret.png")
    (data / "link.png").symlink_to("../secret.png")
    (data / "up").symlink_to(tmp_path)
    row = {"input": "x", "gold": "1", "page": form(escape.format(tmp_path))}
    (data / "tasks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (row, {"input": "y", "gold": "2"})))
    with pytest.raises(DataError, match="is outside of the folder of the data, ") as error:
        DatasetEnvironment({"path": str(data / "tasks.jsonl"), "ratio": [1, 1, 0], "fields": {"images": "page"}})
    assert "tasks.jsonl:1: image " in error.value.message
    assert error.value.hint == "put a copy into that folder"


@pytest.mark.parametrize("name", [".private.png", ".git/a.png", "alias.png"])
def test_rows_name_no_hidden_pictures(tmp_path: Path, name: str) -> None:
    for each in (".private.png", ".git/a.png"):
        (tmp_path / each).parent.mkdir(exist_ok=True)
        write_png(tmp_path / each)
    (tmp_path / "alias.png").symlink_to(".private.png")
    with pytest.raises(DataError, match=r"image '\S+': '\.\S+' begins with a dot: rows name no hidden files"):
        Images().add(name, tmp_path, "tasks.jsonl:1")


def test_tasks_given_in_python_name_pictures_anywhere(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "here").mkdir()
    write_png(tmp_path / "a.png")
    monkeypatch.chdir(tmp_path / "here")
    paths = {"x": "../a.png", "y": str(tmp_path / "a.png")}
    rows = [{"input": name, "gold": "1", "images": [path]} for name, path in paths.items()]
    env = ListEnvironment(train=rows[:1], val=rows[1:], scorer="exact")
    assert [task.images[0].partition("#")[0] for split in ("train", "val") for task in env.tasks(split)] == [
        "a.png"
    ] * 2
