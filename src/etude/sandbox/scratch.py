"""Temporary folders that do not outlive the process they belong to by long: the next one removes what a killed one
left."""

import contextlib
import fcntl
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Self

_PREFIX = "etude-scratch-"
_NAME = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")
_YOUNG_SECONDS = 60
"""A folder may be this old before it has its lock."""
_SHOWN = 300
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Scratch:
    """A new folder, private to the user, below `root` or where the system keeps temporary files.

    It is locked as long as this process has it, and `close`, or leaving it, removes it with all that is in it,
    whatever permissions a program left behind.
    """

    def __init__(self, root: Path | str | None = None) -> None:
        self.path = Path(os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX, dir=root)))
        self._lock = os.open(self.path, _FOLDER)
        with contextlib.suppress(OSError):  # a file system without locks: it is never held for stale
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove it. A second time does nothing."""
        if self._lock < 0:
            return
        try:
            _remove(self.path)
        except OSError as problem:
            warnings.warn(f"'{self.path}' cannot be removed: {problem}", ResourceWarning, stacklevel=2)
        finally:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def remove_stale(root: Path | None = None) -> None:
    """Remove the folders of this user below `root` whose process is gone. One whose lock is still held,
    by any user, stays."""
    with contextlib.suppress(OSError), os.scandir(root or tempfile.gettempdir()) as entries:
        names = [Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name)]
        for path in names:
            with contextlib.suppress(OSError):
                _remove_if_stale(path)


def _remove_if_stale(path: Path) -> None:
    info = path.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or time.time() - info.st_mtime < _YOUNG_SECONDS:
        return
    lock = os.open(path, _FOLDER)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
    finally:
        os.close(lock)


def _remove(top: Path) -> None:
    """Removes a folder with all that is in it. Raises OSError."""
    try:
        shutil.rmtree(top)
    except (OSError, RecursionError):
        # Folders that may not be read, or are nested too deeply for Python. These programs know no deepest one.
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            done = subprocess.run([*command, "--", top], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if os.path.lexists(top):
            raise OSError(done.stderr.decode(errors="replace").strip()[-_SHOWN:]) from None
