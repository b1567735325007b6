"""What agent programs really wrote, kept in tests/transcripts by `scripts/transcripts`."""

import asyncio
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from etude.programs.known import known_programs
from whole_group import run_to_its_end

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "tests" / "transcripts"


def made_now(program: str, target: Path) -> None:
    """Has the program that is here write all of it again."""
    if not (CHECKOUT / ".tools" / "programs" / "bin" / known_programs()[program].command).exists():
        pytest.skip(f"no {program} here: scripts/programs --all installs it")
    script = [sys.executable, CHECKOUT / "scripts" / "transcripts", "--to", target, program]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = asyncio.run(run_to_its_end(script, 300, env=environ))
    assert ended.code == 0, ended.err.decode()[-2000:]


def home_of(program: str, run: str, target: Path, recorded: Path = FOLDER) -> Path:
    """A home with what the program left there; databases are made of their SQL."""
    home = target / program / run
    shutil.copytree(recorded / program / run / "home", home)
    for script in home.rglob("*.sql"):
        database = sqlite3.connect(script.with_suffix(".db"))
        database.executescript(script.read_text(encoding="utf-8"))
        database.close()
    return home
