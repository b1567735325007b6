"""The repository that a folder is in."""

import os
from pathlib import Path
from typing import NamedTuple


class Repository(NamedTuple):
    """A repository, as one of its worktrees has it."""

    root: Path
    """The worktree's folder."""
    git: Path
    """What all of its worktrees share, without links."""


def repository(folder: Path) -> Repository | None:
    """The one that a folder is in; None where it is in none."""
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if root is None:
        return None
    git = root / ".git"
    if linked := first_line(git).removeprefix("gitdir: "):
        git = root / linked
        git /= first_line(git / "commondir") or "."
    return Repository(root, Path(os.path.realpath(git)))


def first_line(path: Path) -> str:
    """What a small file says; empty where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
