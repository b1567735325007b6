"""A workspace is fresh, tells what became of its files, follows no link, and is gone afterwards."""

import contextlib
import os
import socket
import stat
import threading
import time
import warnings
from pathlib import Path

import pytest
from sandbox_boxes import nest

from etude.errors import DataError
from etude.records import File
from etude.sandbox import NotKept, Workspace


def file(text: str, *, executable: bool = False) -> File:
    return File(data=text.encode(), executable=executable)


def test_a_workspace_has_three_empty_private_folders_of_its_own_and_is_gone_at_the_end(tmp_path) -> None:
    with Workspace(tmp_path) as workspace, Workspace(tmp_path) as other:
        assert other.folder != workspace.folder
        assert workspace.folder.parent == tmp_path
        assert stat.S_IMODE(workspace.folder.stat().st_mode) == 0o700
        for folder in (workspace.work, workspace.home, workspace.tmp):
            assert list(folder.iterdir()) == []
    with pytest.raises(IsADirectoryError), Workspace(tmp_path) as workspace:
        (workspace.home / "..").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_files_are_put_where_they_belong(workspace) -> None:
    workspace.fill({"notes.md": file("notes"), "bin/run": file("#!/bin/sh\n", executable=True)})
    assert (workspace.work / "notes.md").read_text() == "notes"
    assert not os.stat(workspace.work / "notes.md").st_mode & stat.S_IXUSR
    assert os.stat(workspace.work / "bin/run").st_mode & stat.S_IXUSR


def test_what_is_left_alone_or_has_another_time_is_no_change(workspace) -> None:
    workspace.fill({"a.bin": File(data=b"\0\xff" * 100), "b/c": file("one")})
    workspace.fill({"b/c": file("two", executable=True)})
    os.utime(workspace.work / "a.bin", (time.time() + 1000,) * 2)
    assert workspace.changes() == {}


def test_new_different_and_missing_files_are_reported_in_order(workspace) -> None:
    workspace.fill({name: file("same") for name in ("kept", "longer", "other", "gone", "d/mode")})
    (workspace.work / "longer").write_text("same and more")
    (workspace.work / "other").write_text("emas")
    (workspace.work / "gone").unlink()
    (workspace.work / "d/mode").chmod(0o755)
    (workspace.work / "d/new").write_bytes(b"\xff\0")
    changes = workspace.changes()
    assert changes == {
        "d/mode": file("same", executable=True),
        "d/new": File(data=b"\xff\0"),
        "gone": None,
        "longer": file("same and more"),
        "other": file("emas"),
    }
    assert list(changes) == sorted(changes)


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../up", "a//b", "", ".", "a/", "a\\b", "nul\0"])
def test_a_path_that_could_lead_elsewhere_is_refused(workspace, path) -> None:
    with pytest.raises(DataError, match="cannot be used in a workspace") as error:
        workspace.fill({path: file("x")})
    assert "relative paths" in error.value.hint


@pytest.mark.parametrize("paths", [("a", "a/b"), ("a/b", "a"), ("x" * 300,)])
def test_files_that_exclude_each_other_are_an_error(workspace, paths) -> None:
    with pytest.raises(DataError, match=f"the file '{paths[-1]}' cannot be put into a workspace: ") as error:
        workspace.fill({path: file("x") for path in paths})
    assert "255 bytes" in error.value.hint


def test_links_are_no_files_and_are_not_followed(workspace, tmp_path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    workspace.fill({"was": file("a file")})
    (workspace.work / "was").unlink()
    (workspace.work / "was").symlink_to(outside / "secret")
    (workspace.work / "to-file").symlink_to(outside / "secret")
    (workspace.work / "to-folder").symlink_to(outside)
    (workspace.work / "dangling").symlink_to("nowhere")
    (workspace.work / "loop").symlink_to(".")
    assert workspace.changes() == {"was": None}


def test_filling_does_not_write_through_links_that_a_program_left(workspace, tmp_path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (workspace.work / "folder").symlink_to(outside)
    (workspace.work / "file").symlink_to(outside / "kept")
    os.link(outside / "kept", workspace.work / "hard")
    workspace.fill({name: file("new") for name in ("folder/kept", "folder/more", "file", "hard")})
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"kept": "kept"}
    assert (workspace.work / "folder/more").read_text() == "new"
    assert workspace.changes() == {}


def test_pipes_and_sockets_are_no_files_and_nobody_waits_for_them(workspace) -> None:
    os.mkfifo(workspace.work / "pipe")
    with socket.socket(socket.AF_UNIX) as ours:
        here = os.getcwd()
        os.chdir(workspace.work)
        try:
            ours.bind("socket")
        finally:
            os.chdir(here)
        assert workspace.changes() == {}


def test_files_without_permissions_are_read_and_removed(tmp_path) -> None:
    with Workspace(tmp_path) as workspace:
        folder = workspace.work / "locked"
        folder.mkdir()
        (folder / "file").write_text("x")
        (folder / "file").chmod(0)
        folder.chmod(0)
        assert workspace.changes() == {"locked/file": file("x")}
        folder.chmod(0o500)
        (workspace.home / "deep/er").mkdir(parents=True)
        (workspace.home / "deep/er/file").touch()
        for path in ("deep/er", "deep"):
            (workspace.home / path).chmod(0)
        workspace.work.chmod(0)
    assert list(tmp_path.iterdir()) == []


def many(folder: Path, count: int, *, folders: bool = False) -> None:
    for number in range(count):
        (folder / str(number)).mkdir() if folders else (folder / str(number)).touch()


def huge(file: Path) -> None:
    file.touch()
    os.truncate(file, 1 << 40)


TOO_MUCH = {
    "a huge file": (lambda work: huge(work / "sparse"), "the files in the workspace have more than 1 MB"),
    "a file that has become huge": (
        lambda work: huge(work / "filled"),
        "the files in the workspace have more than 1 MB",
    ),
    "files": (lambda work: many(work, 21), "there are more than 20 files in the workspace"),
    "folders": (lambda work: many(work, 81, folders=True), "there are more than 80 folders in the workspace"),
    "deep folders": (lambda work: nest(work, "deep", 1200), "that are deeper than 64"),
    "long paths": (lambda work: nest(work, "d" * 200, 25), "whose paths are too long"),
}


@pytest.mark.parametrize(("make", "problem"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_too_much_is_an_error_before_it_is_read_and_is_removed(tmp_path, make, problem) -> None:
    with Workspace(tmp_path, max_mb=1, max_files=20) as workspace:
        workspace.fill({"filled": file("x")})
        make(workspace.work)
        with pytest.raises(NotKept, match=problem):
            workspace.changes()
    assert list(tmp_path.iterdir()) == []


def test_what_was_filled_does_not_count(tmp_path) -> None:
    with Workspace(tmp_path, max_mb=0.001, max_files=1) as workspace:
        workspace.fill({name: File(data=bytes(5000)) for name in "abc"})
        assert workspace.changes() == {}


@pytest.mark.parametrize("name", [b"a\\b", b"in\\ner/a", b"\xff", b"\xe9" * 200, b"/".join([b"d" * 250] * 10)])
def test_a_name_that_no_workspace_could_take_again_is_an_error_when_files_are_collected(tmp_path, name) -> None:
    with Workspace(tmp_path) as workspace:
        place = os.path.join(os.fsencode(workspace.work), name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb"):
            pass
        with pytest.raises(
            NotKept, match=r"^the file '.*' cannot be kept: its path is not UTF-8, or too long, or has"
        ):
            workspace.changes()


def test_other_troubles_with_files_are_raised_as_they_are(tmp_path) -> None:
    with Workspace(tmp_path) as workspace:
        workspace.work.rmdir()
        with pytest.raises(FileNotFoundError):
            workspace.changes()


def test_a_folder_that_is_moved_while_it_is_removed_takes_nothing_else_with_it(tmp_path) -> None:
    """A program that could not be ended moves the folder that is being emptied beside one that has to stay."""
    kept = tmp_path / "kept"
    (kept / "inner").mkdir(parents=True)
    while not moved_in_time(tmp_path, kept / "moved"):
        pass
    assert sorted(path.name for path in kept.iterdir()) == ["inner", "moved"]


def moved_in_time(root: Path, place: Path) -> bool:
    """Leaves a workspace and moves a folder of it meanwhile; whether the move came before the end."""
    with warnings.catch_warnings(record=True) as said, Workspace(root) as workspace:
        warnings.simplefilter("always")
        inner = workspace.work / "inner"
        inner.mkdir()
        for number in range(500):
            (inner / str(number)).touch()
        first = inner / os.listdir(inner)[0]

        def move() -> None:
            while first.exists():
                pass
            with contextlib.suppress(FileNotFoundError):
                inner.rename(place)

        mover = threading.Thread(target=move)
        mover.start()
    mover.join()
    assert {warning.category for warning in said} <= {ResourceWarning}
    return place.exists()


def test_what_tools_keep_for_themselves_is_not_told(workspace) -> None:
    workspace.fill({"node_modules/given.js": file("given")})
    for folder in ("__pycache__", "node_modules", "sub/.venv"):
        (workspace.work / folder).mkdir(parents=True, exist_ok=True)
        (workspace.work / folder / "x").touch()
    (workspace.work / "sub/node_modules").write_text("a file")
    assert workspace.changes() == {"sub/node_modules": file("a file")}
