"""Files that belong to tasks: what an agent with a workspace finds in it.

They are read when tasks are, so that a run does not depend on what becomes of them afterwards, and travel in the
task: another content is another task.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath, PurePosixPath
from typing import cast

from pydantic import JsonValue

from etude.errors import DataError, raising
from etude.records import File, canonical

MOST_BYTES = 20_000_000
"""Most bytes in the files of one task: they are copied for every attempt, and kept in the journal where they
changed."""
MOST_FILES = 1_000


def check_inside(path: Path, folder: Path, what: str) -> None:
    """Raises DataError where a path leads out of the folder of the data, or to a file whose name or folder begins
    with a dot, also by a link: who wrote the data could name any file of the user's, such as `.env` or `.git/config`
    beside it, and a model would be sent it."""
    if "\0" in str(path):
        return  # there is no such file
    real = Path(os.path.realpath(folder))
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(real):
        raise DataError(
            f"{what} is outside of the folder of the data, {str(real)!r}", hint="put a copy into that folder"
        )
    for place, top in ((path, Path(os.path.abspath(folder))), (target, real)):
        if place.is_relative_to(top):
            _check_visible(place.relative_to(top), what)


def _check_visible(path: PurePath, what: str) -> None:
    """Raises DataError where a name on the way is one of those that programs read and people do not see."""
    hidden = next((part for part in path.parts if part.startswith(".")), None)
    if hidden is not None:
        raise DataError(
            f"{what}: {hidden!r} begins with a dot: rows name no hidden files",
            hint="give a copy another name, or name the folder that it is in",
        )


class TaskFiles:
    """Reads the files that tasks name, each once. `forbidden` are files that no agent may see, and what they are:
    data with gold answers, graders."""

    def __init__(self, forbidden: Mapping[Path, str]) -> None:
        self._forbidden = {path.resolve(): what for path, what in forbidden.items()}
        self._known: dict[Path, File] = {}

    def read(self, value: JsonValue, folder: Path, place: str) -> dict[str, File]:
        """The files of one task, by their path in the workspace.

        `value` is a path from `folder`, a list of paths, or an object of path in the workspace to path. A file gets
        its own name, the content of a folder goes to the top of the workspace. Raises DataError: a file is missing,
        outside of `folder`, cannot be read or may not be seen, two have the same name, or there is too much; names
        `place`."""
        found: dict[str, File] = {}
        size = 0
        for name, source in _named(value, place):
            path = Path(os.path.abspath(folder / source))
            check_inside(path, folder, f"{place}: files: {source[:300]!r}")
            # A folder of a task may hold hidden files. That of the data is the user's project, more often than not.
            all_of_it = "\0" not in source and os.path.realpath(path) == os.path.realpath(folder)
            for inside, each in _listed(name, path, f"{place}: files: {source[:300]!r}"):
                what = f"{place}: files: {str(each)[:300]!r}"
                if all_of_it or each.is_symlink():
                    check_inside(each, folder, what)
                _check_place(inside, found, what)
                found[inside] = self._file(each, what)
                size += len(found[inside].data)
                if size > MOST_BYTES or len(found) > MOST_FILES:
                    raise DataError(
                        f"{place}: files: more than {MOST_BYTES / 1e6:.0f} MB or {MOST_FILES:,} files for one task",
                        hint="name only what the task needs",
                    )
        return dict(sorted(found.items()))

    def _file(self, path: Path, what: str) -> File:
        real = Path(os.path.realpath(path))
        if real in self._forbidden:
            raise DataError(
                f"{what} is {self._forbidden[real]}, which no agent may see", hint="keep the files of tasks elsewhere"
            )
        if path not in self._known:
            with raising(DataError, f"{what} cannot be read", "give a file that you may read"):
                status = path.stat()
                if not stat.S_ISREG(status.st_mode):
                    raise DataError(f"{what} is not an ordinary file", hint="leave it out")
                if status.st_size > MOST_BYTES:
                    raise DataError(
                        f"{what} has {status.st_size / 1e6:.1f} MB; at most {MOST_BYTES / 1e6:.0f} MB for one task",
                        hint="make it smaller",
                    )
                self._known[path] = File(data=path.read_bytes(), executable=bool(status.st_mode & stat.S_IXUSR))
        return self._known[path]


def _check_place(inside: str, found: Mapping[str, File], what: str) -> None:
    """Raises DataError where a file cannot be put into the workspace with those that are found already."""
    above = [str(folder) for folder in PurePosixPath(inside).parents]
    clash = next(
        (other for other in found if other == inside or other in above or other.startswith(f"{inside}/")), None
    )
    if clash is not None:
        raise DataError(
            f"{what}: {inside!r} and {clash!r} cannot both be in the workspace",
            hint="give one of them another name, as in {'in/a.csv': 'a.csv'}",
        )
    if "\\" in inside:
        raise DataError(f"{what}: {inside!r} has a backslash in its name", hint="give it another name")


def _named(value: JsonValue, place: str) -> list[tuple[str, str]]:
    """Pairs of a name in the workspace, empty for the file's own, and a path."""
    if value in (None, "", [], {}):
        return []
    pairs: list[tuple[object, object]]
    if isinstance(value, dict):
        pairs = list(cast("dict[object, object]", value).items())
    else:
        pairs = [("", path) for path in (value if isinstance(value, list) else [value])]
    named = [(name, path) for name, path in pairs if isinstance(name, str) and isinstance(path, str) and path]
    if len(named) < len(pairs):
        raise DataError(
            f"{place}: files = {canonical(value)[:80]}: neither a path, nor a list of paths, nor an object of paths",
            hint="name another column in `fields.files`",
        )
    for name, _ in named:
        parts = PurePosixPath(name).parts
        if name and (name.startswith("/") or ".." in parts or not parts or "\0" in name):
            raise DataError(
                f"{place}: files: {name!r} is not a place in the workspace",
                hint="give a relative path, as in 'in/a.csv'",
            )
        _check_visible(PurePosixPath(name), f"{place}: files: {name!r}")
    return named


def _listed(name: str, path: Path, what: str) -> Iterator[tuple[str, Path]]:
    """The file at a path, or all files of the folder there, with their paths in the workspace."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # a name can also be too long, or have a zero byte in it
        missing = isinstance(error, FileNotFoundError)
        problem = "does not exist" if missing else f"cannot be looked for: {error}"[:300]
        raise DataError(f"{what} {problem}", hint=f"it was looked for at {str(path)[:300]!r}") from None
    if stat.S_ISREG(mode):
        yield str(PurePosixPath(name or path.name)), path
        return
    if not stat.S_ISDIR(mode):
        raise DataError(f"{what} is not an ordinary file", hint=f"it was looked for at {str(path)[:300]!r}")
    for folder, folders, files in os.walk(path):
        folders.sort()
        for each in folders:
            if Path(folder, each).is_symlink():
                raise DataError(
                    f"{what} has a link to a folder, {str(Path(folder, each))[:300]!r}", hint="put a copy there"
                )
        for each in sorted(files):
            inside = PurePosixPath(name, Path(folder, each).relative_to(path).as_posix())
            yield str(inside), Path(folder, each)
