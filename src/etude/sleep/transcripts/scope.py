"""Which folders are those of a project: the folder itself, other paths that it has, worktrees of its repository."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PureWindowsPath

from etude.programs.repository import first_line, repository

_WSL = re.compile(r"[\\/]{2}wsl(?:\$|\.localhost)[\\/][^\\/]+", re.IGNORECASE)
_DRIVE = re.compile(r"/mnt/[a-z]/")


class Scope:
    """The folders of a project; without any, all projects there are. Symbolic links are followed, and no folder needs
    to exist."""

    def __init__(self, folders: Iterable[str] | None) -> None:
        self._folders = None if folders is None else [_compared(each) for each in _folders(folders)]
        self._known: dict[str, bool] = {}

    def has(self, project: str) -> bool:
        """Whether a session of that folder belongs to the project: it is one of its folders or below it. A session
        without a folder is in scope of all projects only."""
        if self._folders is None:
            return True
        if project not in self._known:
            inner = _real(project)
            self._known[project] = inner is not None and any(map(_compared(inner).is_relative_to, self._folders))
        return self._known[project]


@lru_cache(maxsize=4096)
def is_gone(project: str) -> bool:
    """Whether a folder that a session names is not on this machine: it has another name now, or it is another
    machine's."""
    found = _real(project)
    return bool(project) and (found is None or not found.is_dir())


def _real(project: str) -> Path | None:
    """The folder on this machine; None for what is no path. Windows and its Linux (WSL) name the same folders
    differently."""
    if _WSL.match(project):
        project = _WSL.sub("", project).replace("\\", "/")
    elif re.match(r"[A-Za-z]:[\\/]", project):
        parts = PureWindowsPath(project)
        project = "/".join(("/mnt", parts.drive[0].lower(), *parts.parts[1:]))
    if not os.path.isabs(project):
        return None
    try:
        return Path(os.path.realpath(project))
    except ValueError:  # a transcript may hold what no path can
        return None


def _compared(path: Path) -> Path:
    """The path as it is compared with others: on drives of Windows case does not count."""
    return Path(str(path).lower()) if _DRIVE.match(f"{path}/") else path


def _folders(named: Iterable[str]) -> Iterator[Path]:
    for place in filter(None, map(_real, named)):
        yield place
        yield from worktrees(place)


def worktrees(folder: Path) -> Iterator[Path]:
    """The same folder in the other worktrees of its repository."""
    found = repository(folder)
    if found is None:
        return
    root, git = found
    inner = folder.relative_to(root)
    trees = [git.parent] if git.name == ".git" else []
    with suppress(OSError):
        trees += [
            (each / line).parent for each in (git / "worktrees").iterdir() if (line := first_line(each / "gitdir"))
        ]
    yield from (Path(os.path.realpath(tree / inner)) for tree in trees if tree != root)
