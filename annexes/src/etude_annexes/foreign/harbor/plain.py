"""Tasks that need no image: a Dockerfile that takes a plain Linux and names a folder."""

import os
import tempfile
from collections.abc import Collection
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


def plain_start(dockerfile: File, where: str) -> str:
    """The working directory of a task that needs no image. Raises NeedsImage: a line is none of FROM, one WORKDIR and
    CMD, or asks for more than this machine has; names `where` and quotes the line."""
    place, workdir = f"{where}, environment/Dockerfile", ""
    for number, line in enumerate(dockerfile.data.decode("utf-8", "replace").splitlines(), 1):
        known = not line.strip() or line.lstrip().startswith("#")
        match line.split():
            case ["FROM", image]:
                known = not workdir and image.partition(":")[0] in PLAIN
            case ["WORKDIR", path]:
                known = not workdir and has_room(path, _SYSTEMS)
                workdir = path
            case ["CMD", *_]:
                known = True
            case _:
                pass
        if not known:
            raise NeedsImage(f"{place}, line {number}, {line.strip()[:200]!r}: this needs an image")
    if not workdir:
        raise NeedsImage(f"{place}: without WORKDIR it needs an image")
    return workdir


def has_room(path: str, taken: Collection[str]) -> bool:
    """Whether a workspace can be put at this path, which must not hide the temporary files nor any of `taken`."""
    top = PurePosixPath(path).parts[1:2]
    hides = Path(tempfile.gettempdir()).is_relative_to(path)
    return path.startswith("/") and bool(top) and top[0] not in taken and not hides and os.path.normpath(path) == path
