"""Where transcripts come from: one source for each agent program, by name. An installed package adds one by an entry
point in the group `etude.sources`; `etude.testing.source` is its contract."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from etude.config.loading import is_path
from etude.registry import find, names
from etude.sleep.transcripts.sources.plain import PlainTranscripts
from etude.sleep.transcripts.sources.source import Source

__all__ = ["Source", "source_of", "sources_named"]


def sources_named(named: Sequence[str]) -> list[Source]:
    """The sources of those names, where a path is a JSONL file of converted transcripts or a folder of such files; by
    default those of all programs.

    Raises:
        ConfigError: a name is unknown; the source of an installed package cannot be loaded.
    """
    return [PlainTranscripts(Path(name)) if is_path(name) else source_of(name) for name in named or names("sources")]


def source_of(name: str) -> Source:
    """The source of that name; a ConfigError where there is none, or it cannot be loaded."""
    return cast(Source, find("sources", name)())
