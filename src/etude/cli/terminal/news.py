"""What happened while nobody looked: one line for each project, shown once, by the next command at a terminal."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from etude.cli.terminal.output import note
from etude.user_state import user_state

_LONGEST = 1_000


def news_folder() -> Path:
    """A file for each project. It need not exist."""
    return user_state(os.environ, Path.home()) / "news"


def show_news(words: Sequence[str]) -> None:
    """Print what there is, where a person sees it and no program reads it, and forget it."""
    if "--json" in words or not sys.stderr.isatty():
        return
    with suppress(OSError, RuntimeError):  # without a home there is nothing
        for path in sorted(news_folder().iterdir()):
            if not path.name.startswith("."):  # still being written
                note(f"note: {path.read_text(encoding='utf-8', errors='replace')[:_LONGEST]}")
                path.unlink()
