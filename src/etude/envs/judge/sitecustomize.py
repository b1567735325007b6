"""Imports in every Python that a check starts: the standard library, installed packages and the check's own folder
come first, the attempt's folder last. Libraries never find a module there: many try to import what may be missing.

Python runs this module at its start, because its folder is on PYTHONPATH. It works from Python 3.7 on.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import FrameType

_SAFE = bool(getattr(sys.flags, "safe_path", False))
"""Python 3.11 and newer put neither the script's nor the current folder on the path."""
_HERE = os.path.dirname(os.path.abspath(__file__))
_PASSED_ON = {"importlib", "pkgutil", "runpy", __name__}
"""Modules that import for others: who called them counts."""
_LOADERS = {"_pytest", "concurrent", "doctest", "multiprocessing", "unittest"}
"""Libraries whose work is to import the modules of users."""


class _Last:
    """Finds modules in `folder` after everything else has failed, except `never`."""

    def __init__(self, folder: str, never: str) -> None:
        self._folder = folder
        self._never = never
        self._libraries = ("<frozen ", *(os.path.join(path, "") for path in sys.path))

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if path is not None or name == self._never or self._for_library(sys._getframe(1)):  # pyright: ignore
            return None
        return PathFinder.find_spec(name, [self._folder])

    def _for_library(self, frame: FrameType | None) -> bool:
        while frame is not None:
            name = str(frame.f_globals.get("__name__")).partition(".")[0]
            if name not in _PASSED_ON:
                return name not in _LOADERS and frame.f_code.co_filename.startswith(self._libraries)
            frame = frame.f_back
        return False


class _Removal:
    """Takes away the folder that older Pythons put first on the path after this module has run."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if sys.path[0] != _HERE:
            sys.meta_path.remove(self)  # pyright: ignore
            del sys.path[0]


def _start() -> None:
    script = sys.argv[0]
    if os.path.isfile(script):
        if _SAFE:
            sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
        return
    if script not in ("", "-", "-c", "-m"):  # a folder or an archive: Python adds it
        return
    folder, foreign = os.getcwd(), os.environ.get("ETUDE_UNTRUSTED", "")
    if foreign and os.path.join(folder, "").startswith(os.path.join(foreign, "")):
        sys.meta_path.append(_Last(folder, os.environ.get("ETUDE_MODULE", "")))  # pyright: ignore
        if not _SAFE:
            sys.meta_path.insert(0, _Removal())
    elif _SAFE:
        sys.path.insert(0, folder)


_start()
