"""Command lines of the small Python processes around a program."""

import marshal
import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

PACKAGE = Path(__file__).parent / "launch"
"""The modules that such a process imports."""

_START = "import sys; sys.path.append(sys.argv.pop(1)); from launch.main import main; main()"


def interpreter() -> str:
    """The Python to run them with: the one below any virtual environment, so that one file and its library are
    enough."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def interpreter_paths() -> list[Path]:
    """What that Python reads of the file system, outside of the system's own folders."""
    libraries = Path(sysconfig.get_config_var("LIBDIR") or "/nonexistent").glob("libpython*.so*")
    paths = {Path(interpreter()), Path(os.path.realpath(os.__file__)).parent, *libraries}
    return sorted(path for path in paths if not path.is_relative_to("/usr"))


def launcher(
    what: Literal["supervise", "restrict", "inside"],
    orders: Mapping[str, JsonValue | bytes],
    argv: Sequence[str],
    *,
    folder: str = str(PACKAGE.parent),
) -> list[str]:
    """The command line of such a process around `argv`; `folder` is where the process finds `launch`."""
    return [interpreter(), "-I", "-S", "-c", _START, folder, what, marshal.dumps({**orders}).hex(), "--", *argv]
