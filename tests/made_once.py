"""Folders that take long to make and that all workers of the tests read."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that goes by this name: the first worker of the tests makes it, and the others wait for it."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = factory.mktemp(name) / "demo"
        make(folder)
        return folder
    place = factory.getbasetemp().parent / name
    with FileLock(f"{place}.lock"):
        if not (place / "made").exists():
            shutil.rmtree(place, ignore_errors=True)  # of a worker that did not come to the end
            place.mkdir()
            make(place / "demo")
            (place / "made").touch()
    return place / "demo"
