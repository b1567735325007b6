"""Reading, writing and editing files: exact, told in words when it cannot be, and never outside of the workspace."""

import os
from pathlib import Path

import pytest

from etude.agents.file_tools import FileTools, ToolMisuse


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path / "work"


def refusal(tools: FileTools, what: str, *arguments: object) -> str:
    with pytest.raises(ToolMisuse) as caught:
        getattr(tools, what)(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("first", "count", "shown"),
    [
        (1, 9, "1\n2\f\n3\n4"),
        (1, 4, "1\n2\f\n3\n4"),
        (2, 2, "[lines 2 to 3 of 4]\n2\f\n3\n"),
        (4, 9, "[lines 4 to 4 of 4]\n4"),
    ],
)
def test_a_part_of_a_file_says_which_lines_it_has(work: Path, first: int, count: int, shown: str) -> None:
    (work / "f").write_text("1\n2\f\n3\n4")
    assert FileTools(work).read("f", first, count) == shown


def test_lines_behind_the_end_are_reported(work: Path) -> None:
    (work / "f").write_text("1\n2\n")
    assert refusal(FileTools(work), "read", "f", 3, 9) == "'f' has 2 lines; there is no line 3"


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("missing", "'missing' cannot be read: No such file or directory"),
        ("text/below", "'text/below' cannot be read: Not a directory"),
        ("bytes", "'bytes' is not UTF-8 text; it has 2 bytes"),
        ("pipe", "'pipe' is not an ordinary file"),
        ("loop", "'loop' cannot be read: Too many levels of symbolic links"),
        ("x" * 300, f"{'x' * 300!r} cannot be read: File name too long"),
    ],
)
def test_what_cannot_be_read_is_reported(work: Path, path: str, problem: str) -> None:
    (work / "text").write_text("x")
    (work / "bytes").write_bytes(b"\xff\xfe")
    os.mkfifo(work / "pipe")
    (work / "loop").symlink_to("loop")
    assert refusal(FileTools(work), "read", path, 1, 9) == problem


def test_a_huge_file_is_not_read(work: Path) -> None:
    with (work / "huge").open("wb") as file:
        file.truncate(10_000_001)
    problem = "'huge' has more than 10,000,000 bytes; look at parts of it"
    assert refusal(FileTools(work), "read", "huge", 1, 9) == problem


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".", "'.' cannot be written: Is a directory"),
        ("text/below", "'text/below' cannot be written: File exists"),
        ("pipe", "'pipe' cannot be written: No such device or address"),
    ],
)
def test_what_cannot_be_written_is_reported(work: Path, path: str, problem: str) -> None:
    (work / "text").write_text("x")
    os.mkfifo(work / "pipe")
    assert refusal(FileTools(work), "write", path, "y") == problem


@pytest.mark.parametrize(
    ("old", "problem"),
    [
        ("= 1", "`old` occurs more than once in 'f'; give more of the text around it"),
        ("aa", "`old` occurs more than once in 'f'; give more of the text around it"),
        ("b  = 1", "`old` does not occur in 'f'; it must be copied exactly, with all spaces"),
    ],
)
def test_an_edit_of_no_place_or_of_several_changes_nothing(work: Path, old: str, problem: str) -> None:
    (work / "f").write_text("aaa\nb = 1\nc = 1\n")
    assert refusal(FileTools(work), "edit", "f", old, "x") == problem
    assert (work / "f").read_text() == "aaa\nb = 1\nc = 1\n"


ESCAPES = ["../secret.txt", "../new.txt", "/etc/hostname", "link", "folder/secret.txt", "folder/new.txt", "dangling"]


@pytest.mark.parametrize("path", [*ESCAPES, "a/../../secret.txt", ".."])
def test_no_path_and_no_link_leads_out_of_the_workspace(work: Path, path: str) -> None:
    (work / "link").symlink_to("../secret.txt")
    (work / "folder").symlink_to("..")
    (work / "dangling").symlink_to("../new.txt")
    tools = FileTools(work)
    problem = f"path {path!r} leads out of the workspace; give one that is relative to it"
    for what, arguments in (("read", (1, 9)), ("write", ("x",)), ("edit", ("secret", "x"))):
        assert refusal(tools, what, path, *arguments) == problem
    assert (work.parent / "secret.txt").read_text() == "secret"
    assert not (work.parent / "new.txt").exists()


def test_a_read_only_folder_can_be_read_through_a_link_and_not_be_written(work: Path) -> None:
    skill = work.parent / "skill"
    skill.mkdir()
    (skill / "notes.md").write_text("old")
    (work / ".skill").symlink_to(skill)
    tools = FileTools(work, [skill])
    assert tools.read(".skill/notes.md", 1, 9) == "old"
    assert tools.read(".skill", 1, 9) == "'.skill' is a folder with:\nnotes.md"
    for what, arguments in (("write", ("new",)), ("edit", ("old", "new"))):
        assert refusal(tools, what, ".skill/notes.md", *arguments) == "path '.skill/notes.md' can only be read"
    assert (skill / "notes.md").read_text() == "old"
