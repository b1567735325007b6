"""Tasks that need no image: a Dockerfile that takes a plain Linux, names a folder and copies files there."""

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath

from etude.errors import DataError
from etude.records import File

PLAIN = frozenset({"debian", "python", "ubuntu"})
"""Images that stand for the programs of this machine."""
OURS = frozenset({"dev", "logs", "proc", "solution", "sys", "tests"})
"""Folders below / that hold something else wherever a task runs."""
_SYSTEMS = OURS | {"bin", "etc", "lib", "lib32", "lib64", "nix", "run", "sbin", "usr", "var"}
"""Those that hold something else in the sandbox."""


class NeedsImage(DataError):
    """A task needs an image of its own, and with it Docker."""


def plain_start(context: Mapping[str, File], where: str) -> tuple[str, dict[str, File]]:
    """The working directory of a task that needs no image, and what is in it at first. `context` is the folder of its
    Dockerfile.

    Raises NeedsImage: a line is none of FROM, one WORKDIR, COPY of one path into it, and CMD, or asks for more than
    this machine has; names `where` and quotes the line."""
    place, workdir, files = f"{where}, environment/Dockerfile", "", dict[str, File]()
    for number, line in enumerate(context["Dockerfile"].data.decode("utf-8", "replace").splitlines(), 1):
        known = not line.strip() or line.lstrip().startswith("#")
        match line.split():
            case ["FROM", image]:
                known = not workdir and image.partition(":")[0] in PLAIN
            case ["WORKDIR", path]:
                known = not workdir and has_room(path, _SYSTEMS)
                workdir = path
            case ["COPY", source, target] if workdir and "$" not in target and ".dockerignore" not in context:
                copied = _copied(source, os.path.join(workdir, target), workdir, context)
                files |= copied
                known = bool(copied) and not _clash(files)
            case ["CMD", *_]:
                known = True
            case _:
                pass
        if not known:
            raise NeedsImage(f"{place}, line {number}, {line.strip()[:200]!r}: this needs an image")
    if not workdir:
        raise NeedsImage(f"{place}: without WORKDIR it needs an image")
    return workdir, files


def has_room(path: str, taken: Collection[str]) -> bool:
    """Whether a workspace can be put at this path, which must not hide the temporary files nor any of `taken`."""
    top = PurePosixPath(path).parts[1:2]
    hides = Path(tempfile.gettempdir()).is_relative_to(path)
    return path.startswith("/") and bool(top) and top[0] not in taken and not hides and os.path.normpath(path) == path


def _copied(source: str, target: str, workdir: str, context: Mapping[str, File]) -> dict[str, File]:
    """The files of a COPY by their path in the working directory; none where it does not copy into it."""
    name, into = os.path.normpath(source.lstrip("/")), os.path.normpath(target)
    if name in context:
        alone = into != workdir and not target.endswith("/")
        found = {into if alone else f"{into}/{PurePosixPath(name).name}": context[name]}
    else:
        top = "" if name == "." else f"{name}/"
        found = {f"{into}/{path.removeprefix(top)}": file for path, file in context.items() if path.startswith(top)}
    inside = all(path.startswith(f"{workdir}/") for path in found)
    return {path.removeprefix(f"{workdir}/"): file for path, file in found.items()} if inside else {}


def _clash(files: Mapping[str, File]) -> bool:
    """Whether a name is that of a file and of a folder."""
    return any(str(folder) in files for path in files for folder in PurePosixPath(path).parents)
