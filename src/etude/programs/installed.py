"""Programs on this machine: how they are called, and what has to be readable to run them in the sandbox."""

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from etude.errors import ConfigError, Missing
from etude.sandbox.box import PROGRAMS


@dataclass(frozen=True)
class Installed:
    """A program on this machine."""

    path: Path
    argv: tuple[str, ...]
    """How it is called: the program, with its interpreter before it where it needs one."""
    readable: tuple[Path, ...]
    """Files and folders it has to see to run; those that every sandbox has are left out."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables without which it does not find what it needs."""


def installed(path: Path) -> Installed:
    """How to call the program at `path`, and what it needs to see. Raises Missing: there is no interpreter."""
    path = Path(os.path.abspath(path))
    named = _first_word(path)
    found = shutil.which(named) if named else None
    if named and found is None:
        raise Missing(
            f"program {str(path)!r} needs {named!r}, which was not found",
            hint=f"install {named!r}, or correct the first line of {str(path)!r}",
        )
    runs = [path] if found is None else [path, Path(os.path.abspath(found))]
    # The system starts an interpreter that is named by its path, with the words behind it.
    argv = (str(path),) if found is None or "/" in named else (found, str(path))
    return Installed(path, argv, tuple(dict.fromkeys(place for each in runs for place in _runtime(each))))


def find_program(name: str, folders: Iterable[Path] = ()) -> Path | None:
    """The program that a command begins with; None when there is none.

    `python` and `python3` are the interpreter that runs etude. Other names are looked for on the PATH, and names
    with a slash from each of the folders.
    """
    name = os.path.expanduser(name)
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


def interpreter(name: str | None, where: str) -> Path:
    """The Python that a setting names; the one that runs etude when it names none. Raises ConfigError: it is no
    program."""
    found = find_program(name or "python", [Path()])
    if found is None:
        raise ConfigError(f"{where}: python = {name!r} is not a program", hint="give the path of an interpreter")
    return found


def _first_word(program: Path) -> str:
    """What the first line of a script, as in `#!/bin/sh`, says that runs it, for `env` what that has to find; empty
    for what is not a script."""
    with open(program, "rb") as file:
        line = file.readline(256)
    words = line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        return next((word for word in words[1:] if not word.startswith("-") and "=" not in word), words[0])
    return words[0] if words else ""


def _runtime(program: Path) -> list[Path]:
    """What a program brings, and what the one behind a link brings."""
    places = [program, program.resolve()]
    if program == Path(sys.executable):
        places += [Path(prefix, "bin", "python") for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix)]
    return [found for place in places for found in _belongings(place)]


def _belongings(path: Path) -> list[Path]:
    """What a program cannot do without: the folder that npm or venv made for it, else the folder it is in, and the
    libraries next to that."""
    if any(path.is_relative_to(folder) for folder in PROGRAMS):
        return []
    parts = path.parts
    if "node_modules" in parts:
        return [Path(*parts[: parts.index("node_modules") + 1])]
    folder, above = path.parent, path.parent.parent
    if (above / "pyvenv.cfg").is_file():
        return [above]
    # A program that lies among a person's own files brings nothing but itself.
    if folder in {Path.home(), Path("/"), Path("/tmp")}:
        return [path]
    return [folder, above / "lib"] if folder.name == "bin" and (above / "lib").is_dir() else [folder]
