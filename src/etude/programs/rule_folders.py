"""Folders of rules, each in a file, and which of these an agent program reads in every session: front matter can keep
one for some files of the project. Seen with real programs; the tests marked `programs` hold it."""

import os
import re
from pathlib import Path
from typing import Any

import yaml

from etude.programs.transcripts.values import items, table
from etude.safe_yaml import load_yaml

_FRONT = re.compile(r"\A\ufeff?---[ \t]*$([\s\S]*?)^---[ \t]*$", re.MULTILINE)
_LINE = re.compile(r"^(\w+):[ \t]*(.*)$", re.MULTILINE)
_KEYS = {"copilot-cli": ("applyTo", "paths")}
"""What names the files; `paths` for the other programs."""
_EVERYWHERE = {"claude-code": ("", "**", "**/**"), "copilot-cli": ("", "*", "**", "**/*")}
"""What names all files; for the other programs only nothing does."""


def rules_in(folder: Path, agent: str) -> list[Path]:
    """The files of a folder of rules that are read in every session. Claude Code follows links to folders."""
    end = ".instructions.md" if folder.name == "instructions" else ".md"
    seen, found = set[str](), list[Path]()
    for at, inner, names in os.walk(folder, followlinks=agent == "claude-code"):
        if (real := os.path.realpath(at)) in seen:
            inner.clear()
            continue
        seen.add(real)
        found += [Path(at, name) for name in names if name.endswith(end)]
    return [path for path in sorted(found) if path.is_file() and not _for_some(text_of(path), agent)]


def text_of(path: Path) -> str:
    """A file as text, whatever its bytes and line ends are."""
    return path.read_bytes().decode(errors="replace").replace("\r\n", "\n")


def _for_some(rule: str, agent: str) -> bool:
    """Whether a rule is read with some files only."""
    front = _FRONT.match(rule)
    if front is None:
        return False
    try:
        meta = table(load_yaml(front[1]))
    except yaml.YAMLError:  # as where a pattern that begins with a star has no quotes
        meta = dict(_LINE.findall(front[1]))
    named = [one for key in _KEYS.get(agent, ("paths",)) for one in _patterns(meta.get(key))]
    return any(one not in _EVERYWHERE.get(agent, ("",)) for one in named)


def _patterns(value: Any) -> list[str]:
    found = [str(one) for one in items(value)] or str(value if isinstance(value, str) else "").split(",")
    return [one.strip(" \t\"'") for one in found]
