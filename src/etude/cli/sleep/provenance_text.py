"""Where tasks come from, for people."""

from collections.abc import Iterable

from etude.sleep.adoption.structure import plain
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.transcripts.provenance import Snapshot

__all__ = ["provenance_lines"]

_SHORT = 12
"""Digits of a commit that are shown."""
_FILES = 5


def provenance_lines(tasks: Iterable[MinedTask]) -> list[str]:
    """Of each task of which something is known the folder, and of each of its sessions what it worked on."""
    lines: list[str] = []
    for task in tasks:
        stood = [text for one in task.snapshots if (text := _stood(one))]
        if stood:
            lines.append(f"  {plain(task.id, 40)}  {plain(task.project, 200)}")
            lines += [f"    {text}" for text in dict.fromkeys(stood)]
    return ["", "where the tasks come from", *lines] if lines else []


def _stood(one: Snapshot) -> str:
    """As in `commit 1f0e9d8c7b6a (at harvest), branch main; changed src/a.py, src/b.py`."""
    late = " (at harvest)" if one.commit_of == "harvest" else ""
    at = [f"commit {one.commit[:_SHORT]}{late}"] if one.commit else []
    at += [f"branch {plain(one.branch, 80)}"] if one.branch else []
    names = ", ".join(plain(name, 80) for name in one.files[:_FILES])
    more = f" and {len(one.files) - _FILES} more" if len(one.files) > _FILES else ""
    changed = [f"changed {names}{more}"] if names else []
    return "; ".join([*([", ".join(at)] if at else []), *changed])
