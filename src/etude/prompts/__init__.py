"""The texts that tell models what to do: one Markdown file each, used as the system message of one kind of call.

What the optimizer returns is said in a text of its own (`return_*`) where several kinds of calls share it: it follows
the text that says how to read.

What a call is about (skill, attempts, earlier edits) follows in the user message, composed by code. So a prompt is
plain text without placeholders, it can be replaced by name, and the stable part of every request comes first.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from etude.errors import ConfigError, did_you_mean, raising
from etude.records import digest

__all__ = ["Prompts", "prompt_names"]


@cache
def _shipped() -> Mapping[str, str]:
    folder = files(__name__)
    return {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8").strip()
        for entry in folder.iterdir()
        if entry.name.endswith(".md")
    }


def prompt_names() -> list[str]:
    """Names of all prompts that can be replaced."""
    return sorted(_shipped())


class Prompts:
    """The prompts of a run: the shipped ones, some of them replaced.

    Args:
        replacements: prompt name to the text itself (str) or to a Markdown file (Path).

    Raises:
        ConfigError: no prompt has that name, or the file cannot be read.
    """

    def __init__(self, replacements: Mapping[str, str | Path] | None = None) -> None:
        self._texts = dict(_shipped())
        for name, source in (replacements or {}).items():
            if name not in self._texts:
                raise ConfigError(f"prompts: {name!r} is not a prompt", hint=did_you_mean(name, self._texts))
            self._texts[name] = _read(name, source) if isinstance(source, Path) else source.strip()

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def replaced(self, texts: Mapping[str, str]) -> "Prompts":
        """With other texts in the place of some."""
        return Prompts({**self._texts, **texts})

    def fingerprint(self) -> str:
        """Changes whenever a prompt does."""
        return digest(self._texts)[:16]


def _read(name: str, path: Path) -> str:
    with raising(ConfigError, f"prompts.{name}: {str(path)!r} cannot be read", "give a Markdown file in UTF-8"):
        return path.read_text(encoding="utf-8").strip()
