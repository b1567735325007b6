"""What is known of the commit, the branch and the files that a task comes from."""

import os
from pathlib import Path
from typing import Any

import pytest
from small_night import Small

from etude.sleep.tasks.mined import MinedTask, merged
from etude.sleep.transcripts.provenance import Head, head_of, snapshot
from etude.sleep.transcripts.sessions import Session

A, B = "a" * 40, "b" * 40


def session(**more: Any) -> Session:
    return Session(**{"source": "codex", "id": "s", "project": "/p", **more})


def same(text: str) -> str:
    return text


def repository(folder: Path, head: str = "ref: refs/heads/main\n") -> Path:
    git = folder / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text(head)
    return git


def test_the_head_of_a_repository_is_read_from_its_files(tmp_path: Path) -> None:
    git = repository(tmp_path)
    assert head_of(str(tmp_path)) == Head(branch="main")
    (git / "packed-refs").write_text(f"# pack-refs with: peeled\n{A} refs/heads/main\n{B} refs/heads/maintenance\n")
    assert head_of(str(tmp_path)) == Head(A, "main")
    (git / "refs" / "heads" / "main").write_text(f"{B}\n")
    assert head_of(str(tmp_path)) == Head(B, "main")
    (git / "HEAD").write_text(f"{A}\n")
    assert head_of(str(tmp_path)) == Head(A, "")


def test_a_folder_in_a_repository_has_its_head(tmp_path: Path) -> None:
    repository(tmp_path, A)
    (tmp_path / "docs" / "old").mkdir(parents=True)
    assert head_of(str(tmp_path / "docs" / "old")) == Head(A)


def test_a_worktree_has_a_head_of_its_own_and_the_branches_of_all(tmp_path: Path) -> None:
    git = repository(tmp_path / "main")
    (git / "refs" / "heads" / "topic").mkdir()
    (git / "refs" / "heads" / "topic" / "one").write_text(B)
    own = git / "worktrees" / "tree"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/topic/one\n")
    (own / "commondir").write_text("../..\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    assert head_of(str(tree)) == Head(B, "topic/one")
    (tree / ".git").write_text(f"gitdir: {os.path.relpath(own, tree)}\n")
    assert head_of(str(tree)) == Head(B, "topic/one")


@pytest.mark.parametrize(
    "head",
    [
        "",
        "ref: refs/heads/../../secret",
        "ref: refs/heads/a/.b",
        "ref: refs/tags/v1",
        "ref: /etc/passwd",
        "a" * 39,
        "\0",
        "ref: refs/heads/",
    ],
)
def test_a_head_that_git_would_not_write_tells_nothing(tmp_path: Path, head: str) -> None:
    git = repository(tmp_path, head)
    (git.parent / "secret").write_text(A)
    assert head_of(str(tmp_path)) == Head()


def test_the_stand_in_of_a_repository_that_keeps_its_branches_elsewhere_is_no_branch(tmp_path: Path) -> None:
    repository(tmp_path, "ref: refs/heads/.invalid\n")
    assert head_of(str(tmp_path)) == Head()
    assert snapshot(session(branch="main"), head_of(str(tmp_path)), same).branch == "main"


def test_what_is_no_repository_or_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    assert [head_of(folder) for folder in ("", "relative", str(tmp_path), "/nowhere/at/all", "/a\0b")] == [Head()] * 5
    git = repository(tmp_path, A)
    (git / "HEAD").unlink()
    assert head_of(str(tmp_path)) == Head()
    os.mkfifo(git / "HEAD")  # opened, it would be waited for
    assert head_of(str(tmp_path)) == Head()
    (git / "HEAD").unlink()
    (git / "HEAD").write_bytes(b"\xff\xfe")
    assert head_of(str(tmp_path)) == Head()


def test_the_commit_of_the_transcript_counts_before_the_one_of_the_harvest() -> None:
    told = snapshot(session(commit=A, branch="topic"), Head(B, "main"), same)
    assert (told.commit, told.commit_of, told.branch) == (A, "session", "topic")
    assert snapshot(session(commit=A), Head(B, "main"), same).branch == ""
    seen = snapshot(session(), Head(B, "main"), same)
    assert (seen.commit, seen.commit_of, seen.branch) == (B, "harvest", "main")
    seen = snapshot(session(commit="no commit", branch="main"), Head(B, "main"), same)
    assert (seen.commit, seen.commit_of) == (B, "harvest")


def test_the_head_of_another_branch_says_nothing_of_a_session() -> None:
    other = snapshot(session(branch="topic"), Head(B, "main"), same)
    assert (other.commit, other.commit_of, other.branch) == ("", "", "topic")


def test_files_are_named_from_the_project_and_those_outside_are_left_out() -> None:
    files = ("/p/src/a.py", "src/./a.py", "b.py", "/etc/passwd", "../up.py", "/p", "/p2/c.py", "", "x\0y", "n" * 301)
    assert snapshot(session(files=files), Head(), same).files == ("src/a.py", "b.py")
    assert snapshot(session(files=files, project=""), Head(), same).files == ()
    many = tuple(f"{n}.py" for n in range(200))
    assert len(snapshot(session(files=many), Head(), same).files) == 100


def test_what_git_tells_loses_its_secrets() -> None:
    assert snapshot(session(), Head("", "hush"), lambda text: text.replace("hush", "***")).branch == "***"


def test_tasks_of_a_night_say_what_their_sessions_worked_on(tmp_path: Path) -> None:
    small = Small(tmp_path)
    repository(small.project, A)
    small.night()
    for task in small.tasks():
        assert [(one["source"], one["id"]) for one in task["snapshots"]] == [
            (one["source"], one["id"]) for one in task["sessions"]
        ]
        assert {(one["commit"], one["commit_of"]) for one in task["snapshots"]} == {(A, "harvest")}


def test_where_a_session_stood_does_not_decide_what_a_task_says() -> None:
    def task(commit: str, context: str) -> MinedTask:
        where = [snapshot(session(commit=commit), Head(), same).model_dump()]
        return MinedTask.model_validate(
            {"id": "m", "intent": "Write a brief.", "context": context, "exact": ["x"], "snapshots": where}
        )

    kept = {merged([task(one, "left"), task(two, "right")])[0].context for one in (A, B) for two in (A, B)}
    assert len(kept) == 1
