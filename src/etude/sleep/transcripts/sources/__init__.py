"""Where transcripts come from: one source for each agent program, by name. An installed package adds one by an entry
point in the group `etude.sources`; `etude.testing.source` is its contract."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from etude.registry import find, names
from etude.sleep.transcripts.sources.base import Source
from etude.sleep.transcripts.sources.plain import Plain

__all__ = ["Source", "converted", "programs", "source_of"]


def source_of(name: str) -> Source:
    """The source of that name.

    Raises:
        ConfigError: there is none, or it cannot be loaded.
    """
    return cast(Source, find("sources", name)())


def programs() -> Sequence[Source]:
    """The sources of all programs whose reader was tried on real transcripts.

    Raises:
        ConfigError: one of an installed package cannot be loaded.
    """
    found = (source_of(name) for name in names("sources") if name != Plain.name)
    return [source for source in found if source.verified]


def converted(path: Path) -> Source:
    """The transcripts in a JSONL file, or in a folder of such files."""
    return Plain(path)
