"""An environment of its own for each system, made with pip from the package registry."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parent.parent
SYSTEMS = Path(__file__).parent / "systems"
REQUIREMENTS: Mapping[str, str] = MappingProxyType(
    {"skillrl": "skillrl==1.0.0", "gepa": "gepa==0.1.4", "skillopt": "skillopt==0.2.0"}
)
"""What is compared with, by the name of its driver."""
OURS = "etude"
NAMES = (OURS, *REQUIREMENTS)
MINUTES = 9.0
"""Longest an installation may take."""


class CannotRun(Exception):
    """A system cannot be run; the text says why."""


def python_for(system: str) -> Path:
    """The interpreter that a driver runs under; made when there is none yet.

    Raises:
        CannotRun: the package could not be installed.
    """
    if system == OURS:
        return Path(sys.executable)
    place = ROOT / ".tools" / "bench" / system
    made = place / "made"
    if not made.exists() or made.read_text() != REQUIREMENTS[system]:
        shutil.rmtree(place, ignore_errors=True)
        _run(system, sys.executable, "-m", "venv", str(place))
        _run(system, str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", REQUIREMENTS[system])
        if system == "skillopt":
            give_prompts(place)
        made.write_text(REQUIREMENTS[system])
    return place / "bin" / "python"


def give_prompts(place: Path) -> None:
    """The package in the registry comes without the prompt files that its code reads. It gets prompts from here that
    ask for the same forms, unless it has some."""
    (prompts,) = place.glob("lib/python*/site-packages/skillopt/prompts")
    if not list(prompts.glob("*.md")):
        for prompt in sorted((SYSTEMS / "skillopt_prompts").glob("*.md")):
            shutil.copy(prompt, prompts)


def _run(system: str, *command: str) -> None:
    done = subprocess.run(command, stdout=sys.stderr, timeout=MINUTES * 60, check=False)
    if done.returncode:
        raise CannotRun(f"pip could not install {REQUIREMENTS[system]}")
