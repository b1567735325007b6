"""Files that tasks bring into the workspace of an agent."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from etude.envs import workspaces
from etude.envs.dataset import DatasetEnvironment
from etude.envs.workspaces import TaskFiles
from etude.errors import ConfigError, DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one" / "in").mkdir(parents=True)
    (tmp_path / "one" / "in" / "a.csv").write_text("a,b\n")
    (tmp_path / "one" / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "one" / "run.sh").chmod(0o755)
    (tmp_path / "notes.txt").write_text("notes")
    return tmp_path


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ("gone.txt", "tasks.jsonl:1: files: 'gone.txt' does not exist", "it was looked for at '{}/gone.txt'"),
        (7, "tasks.jsonl:1: files = 7: neither a path, nor a list of paths, nor an object of paths", "name another"),
        ([""], 'tasks.jsonl:1: files = [""]: neither a path', "name another column in `fields.files`"),
        ({"../up.txt": "notes.txt"}, "tasks.jsonl:1: files: '../up.txt' is not a place in the workspace", "relative"),
        (
            ["notes.txt", "./notes.txt"],
            "'notes.txt' and 'notes.txt' cannot both be in the workspace",
            "give one of them another",
        ),
        (
            {"a": "notes.txt", "a/b": "notes.txt"},
            "'a/b' and 'a' cannot both be in the workspace",
            "give one of them another",
        ),
        ({"a\\b": "notes.txt"}, "has a backslash in its name", "give it another name"),
        ("x" * 5000, "cannot be looked for: [Errno 36] File name too long", "it was looked for at"),
        ("a\0b", "cannot be looked for: embedded null byte", "it was looked for at"),
        ("pipe", "tasks.jsonl:1: files: 'pipe' is not an ordinary file", "it was looked for"),
        ("linked", "tasks.jsonl:1: files: 'linked' has a link to a folder, '{}/linked/loop'", "put a copy there"),
        (
            "circle",
            "'{}/circle/x' cannot be read: Too many levels of symbolic links",
            "give a file that you may read",
        ),
    ],
)
def test_files_that_cannot_be_used_are_named(folder: Path, value: object, message: str, hint: str) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "linked").mkdir()
    (folder / "linked" / "loop").symlink_to(folder)
    (folder / "circle").mkdir()
    (folder / "circle" / "x").symlink_to("x")
    with pytest.raises(DataError) as error:
        TaskFiles({}).read(value, folder, "tasks.jsonl:1")
    assert message.format(folder) in error.value.message
    assert hint.format(folder) in error.value.hint


def test_a_task_may_not_bring_too_much(folder: Path) -> None:
    with (folder / "big.bin").open("wb") as file:
        file.truncate(workspaces.MOST_BYTES + 1)
    with pytest.raises(DataError, match=r"big\.bin' has 20\.0 MB; at most 20 MB for one task"):
        TaskFiles({}).read("big.bin", folder, "tasks.jsonl:1")
    for part in ("x", "y"):
        with (folder / part).open("wb") as file:
            file.truncate(workspaces.MOST_BYTES // 2 + 1)
    with pytest.raises(DataError, match=r"tasks\.jsonl:1: files: more than 20 MB or 1,000 files for one task"):
        TaskFiles({}).read(["x", "y"], folder, "tasks.jsonl:1")


def test_what_no_agent_may_see_is_refused_by_any_name(folder: Path) -> None:
    (folder / "alias.txt").symlink_to(folder / "notes.txt")
    files = TaskFiles({folder / "notes.txt": "the grader"})
    for value in ("notes.txt", "alias.txt", "../" + folder.name + "/notes.txt", "."):
        with pytest.raises(DataError, match="is the grader, which no agent may see"):
            files.read(value, folder, "tasks.jsonl:1")


def tasks(folder: Path, *rows: dict) -> dict:
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"path": str(folder / "tasks.jsonl"), "ratio": [1, 1, 0], "fields": {"files": "files"}}


def test_the_same_words_about_the_same_files_may_not_be_in_two_splits(folder: Path) -> None:
    row = json.dumps({"input": "Mend it.", "gold": "1", "files": "notes.txt"})
    for split in ("train", "val"):
        (folder / f"{split}.jsonl").write_text(row)
    options = {split: str(folder / f"{split}.jsonl") for split in ("train", "val")}
    with pytest.raises(DataError, match="the same input, case and white space apart, is in two splits"):
        DatasetEnvironment({**options, "fields": {"files": "files"}})


def test_a_column_of_files_that_is_nowhere_is_an_error(folder: Path) -> None:
    with pytest.raises(DataError, match="no value in column 'files' for files"):
        DatasetEnvironment(tasks(folder, {"input": "x", "gold": "1"}, {"input": "y", "gold": "2"}))


def test_a_dataset_of_the_hub_has_no_files(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"'hub' and 'fields\.files' exclude each other"):
        DatasetEnvironment({"hub": "a/b", "splits": {"train": "x", "val": "y"}, "fields": {"files": "files"}})


ESCAPES = (
    "../secret.txt",
    "{}/secret.txt",
    "in/../../secret.txt",
    "link.txt",
    "up",
    "up/secret.txt",
    "in",
    "..",
    "/",
)


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("form", [lambda path: path, lambda path: ["a.txt", path], lambda path: {"x": path}])
def test_a_file_outside_of_the_data_never_reaches_an_agent(tmp_path: Path, escape: str, form) -> None:
    data = tmp_path / "data"
    (data / "in").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("the key")
    (data / "a.txt").write_text("mine")
    (data / "link.txt").symlink_to("../secret.txt")
    (data / "up").symlink_to("..")
    (data / "in" / "deep.txt").symlink_to(tmp_path / "secret.txt")
    row = {"input": "x", "gold": "1", "files": form(escape.format(tmp_path))}
    with pytest.raises(DataError, match="is outside of the folder of the data, ") as error:
        DatasetEnvironment(tasks(data, row, {"input": "y", "gold": "2"}))
    assert "tasks.jsonl:1: files: " in error.value.message
    assert error.value.hint == "put a copy into that folder"


def test_data_in_a_linked_folder_and_links_inside_of_it_are_in_order(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(folder)
    (folder / "alias.txt").symlink_to("notes.txt")
    for value in ("alias.txt", str(folder / "notes.txt"), str(tmp_path / "linked" / "notes.txt")):
        (found,) = TaskFiles({}).read(value, tmp_path / "linked", "tasks.jsonl:1").values()
        assert found.data == b"notes"


@pytest.mark.parametrize(
    "value",
    [
        ".env",
        ["a.txt", ".git/config"],
        "sub/.hidden/a.txt",
        ".git",
        ".",
        "alias",
        "sub",
        "./sub/../.env",
        {".claude/settings.json": "a.txt"},
        {"in/.git/hooks/pre-commit": "a.txt"},
        {".skill": "a.txt"},
        {"x": ".env"},
        {".x": "fine"},
    ],
)
def test_rows_name_no_hidden_files(value: Any, tmp_path: Path) -> None:
    for name in (".env", ".git/config", "sub/.hidden/a.txt", "sub/b.txt", "a.txt", "fine/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("the key")
    (tmp_path / "alias").symlink_to(".env")
    (tmp_path / "sub" / "linked.txt").symlink_to("../.env")
    with pytest.raises(DataError, match=r"begins with a dot: rows name no hidden files") as error:
        TaskFiles({}).read(value, tmp_path, "tasks.jsonl:1")
    assert error.value.message.startswith("tasks.jsonl:1: files: ")
