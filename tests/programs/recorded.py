"""What agent programs really wrote, kept in tests/transcripts by `scripts/transcripts`."""

import shutil
import sqlite3
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "transcripts"


def home_of(program: str, run: str, target: Path) -> Path:
    """A home with what the program left there; databases are made of their SQL."""
    home = target / program / run
    shutil.copytree(FOLDER / program / run / "home", home)
    for script in home.rglob("*.sql"):
        database = sqlite3.connect(script.with_suffix(".db"))
        database.executescript(script.read_text(encoding="utf-8"))
        database.close()
    return home
