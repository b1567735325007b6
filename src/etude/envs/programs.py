"""Programs of the user's that run in the sandbox: where they are, and what has to be readable for them."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

_SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")))
"""What every sandbox has."""


def find_program(name: str, folders: Iterable[Path] = ()) -> Path | None:
    """The program that a command begins with; None when there is none.

    `python` and `python3` are the interpreter that runs etude. Other names are looked for on the PATH, and names
    with a slash from each of the folders.
    """
    if name in ("python", "python3"):
        return Path(sys.executable)
    if "/" not in name:
        found = shutil.which(name)
        return Path(os.path.abspath(found)) if found is not None else None
    for folder in folders:
        path = Path(os.path.abspath(folder / name))
        if path.is_file() and os.access(path, os.X_OK):
            return path
    return None


def find_interpreter(program: Path) -> str:
    """What the first line of a script, as in `#!/bin/sh`, says that runs it; empty for what is not a script. For
    `env` it is what that has to find."""
    with open(program, "rb") as file:
        line = file.readline(256)
    words = line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        return next((word for word in words[1:] if not word.startswith("-") and "=" not in word), words[0])
    return words[0] if words else ""


def runtime_folders(program: Path) -> list[Path]:
    """What has to be readable to run a program that is not part of the system: its installation, and the one behind a
    link to it."""
    places = {program, program.resolve()}
    if program == Path(sys.executable):
        places |= {Path(prefix, "bin", "python") for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix)}
    found = {_installation(place) for place in places if not is_system(place)}
    return sorted(found)


def _installation(program: Path) -> Path:
    """The folder above `bin`, where that is not the user's home or the whole disk; else the program's own."""
    folder = program.parent
    if folder.name in ("bin", "sbin") and folder.parent not in (Path.home(), Path(folder.anchor)):
        return folder.parent
    return folder


def is_system(path: Path) -> bool:
    """Whether every sandbox has it."""
    return any(path.is_relative_to(folder) for folder in _SYSTEM)
