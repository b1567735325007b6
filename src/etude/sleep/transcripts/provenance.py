"""On what a session worked: the commit, the branch and the files, kept with the tasks that come from it.

Nothing is restored from it, and nothing is run: git's own files are read.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from etude.records import Record
from etude.sleep.transcripts.sessions import Session
from etude.sleep.transcripts.sources.lines import open_regular

__all__ = ["Head", "Snapshot", "head_of", "snapshot"]

_MOST_FILES = 100
_LONGEST_NAME = 300
_LONGEST_FILE = 4 * 2**20
"""Bytes of a file of git's that are read."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# No part of a branch's name begins with a dot: repositories of the format reftable have `.invalid` in the file.
_BRANCH = re.compile(r"ref: refs/heads/((?!\.|.*[/.]\.)[^\x00-\x20\x7f~^:?*\[\\]{1,200})")


class Snapshot(Record):
    """Where a session stood. What nobody knows is empty."""

    source: str
    id: str
    """Of the session."""
    branch: str = ""
    commit: str = ""
    """The commit that was checked out."""
    commit_of: Literal["session", "harvest", ""] = ""
    """`session`: as the transcript tells. `harvest`: what was checked out when the session was read, on the same
    branch as far as that is known; the session may have begun on an earlier one."""
    files: tuple[str, ...] = ()
    """Files in the project's folder that the agent changed, by their names from there; at most 100."""


class Head(NamedTuple):
    """What is checked out in a repository."""

    commit: str = ""
    """Empty before the first one."""
    branch: str = ""
    """Empty when none is checked out."""


def snapshot(session: Session, head: Head, redact: Callable[[str], str]) -> Snapshot:
    """What is known of a session that was redacted.

    Args:
        head: what is checked out now, which counts where the transcript tells no commit and no other branch.
        redact: takes secrets out of what git tells.
    """
    told = session.commit if _COMMIT.fullmatch(session.commit) else ""
    branch = redact(head.branch)
    same = not session.branch or session.branch == branch
    commit = told or (head.commit if same else "")
    return Snapshot(
        source=session.source,
        id=session.id,
        branch=session.branch or (branch if not told else ""),
        commit=commit,
        commit_of="session" if told else "harvest" if commit else "",
        files=tuple(dict.fromkeys(_inside(session)))[:_MOST_FILES],
    )


def _inside(session: Session) -> Iterator[str]:
    """Names of files in the project's folder. Looks at no file: the names are a transcript's."""
    for name in session.files:
        if not os.path.isabs(session.project) or not name.strip() or "\0" in name or len(name) > _LONGEST_NAME:
            continue
        inner = os.path.relpath(os.path.join(session.project, name), session.project)
        if inner != os.curdir and inner.split(os.sep)[0] != os.pardir:
            yield inner


def head_of(folder: str) -> Head:
    """What is checked out in the repository of a folder, or of one above it; nothing where there is none, or it
    cannot be read."""
    if not os.path.isabs(folder):
        return Head()
    try:
        repository = _repository(Path(folder))
        return Head() if repository is None else _head(repository)
    except (OSError, ValueError):  # not for us, damaged, or no path at all
        return Head()


def _repository(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        found = place / ".git"
        if found.is_dir():
            return found
        if found.is_file():  # of a worktree or a submodule: it names the folder
            named = _text(found).removeprefix("gitdir:").strip()
            return place / named
    return None


def _head(repository: Path) -> Head:
    text = _text(repository / "HEAD").strip()
    if _COMMIT.fullmatch(text):
        return Head(commit=text)
    named = _BRANCH.fullmatch(text)
    if named is None:
        return Head()
    branch, common = named[1], repository
    if (repository / "commondir").is_file():  # worktrees share their branches
        common = repository / _text(repository / "commondir").strip()
    return Head(commit=_commit(common, f"refs/heads/{branch}"), branch=branch)


def _commit(repository: Path, ref: str) -> str:
    """The commit of a branch: from a file of its own, else from the list of all."""
    if (repository / ref).is_file():
        text = _text(repository / ref).strip()
        return text if _COMMIT.fullmatch(text) else ""
    packed = repository / "packed-refs"
    rows = (line.split(" ", 1) for line in _text(packed).splitlines()) if packed.is_file() else ()
    return next((row[0] for row in rows if row[1:] == [ref] and _COMMIT.fullmatch(row[0])), "")


def _text(path: Path) -> str:
    with open_regular(path) as file:
        return file.read(_LONGEST_FILE).decode()
