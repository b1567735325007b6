"""Patterns of paths in settings of agent programs and in the front matter of rules, as the programs read them:
`**/CLAUDE.md`, `docs/{a,b*}.md`. Seen with real programs; the tests marked `programs` hold it."""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from etude.programs.transcripts.values import items, table
from etude.safe_yaml import load_yaml

_PART = re.compile(
    r"(?P<deep>(?<![^/])\*\*/)|(?P<all>(?<![^/])\*\*(?![^/]))|(?P<times>[@?*+]?)\(|(?P<stars>\*+)|(?P<any>\?)"
    r"|\{(?P<first>\w)\.\.(?P<last>\w)\}|(?P<opens>\{(?=[^}]*,))|(?P<one>\[[^\]/]+\])|(?P<sign>.)",
    re.DOTALL,
)
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
_PARTIAL = re.compile(r"(?<=[^/])\*\*+|\*\*+(?=[^/])")
"""Two stars that are not all between two slashes: as one."""
_FIXED = {"deep": "(?:.*/)?", "all": ".*", "stars": "[^/]*", "any": "[^/]"}
_ENDS = {"}": ",", ")": "|"}
"""What ends a choice, and what stands between its parts."""

_FRONT = re.compile(r"\A\ufeff?---[ \t]*$([\s\S]*?)^---[ \t]*$", re.MULTILINE)
_LINE_OF_FRONT = re.compile(r"^(\w+):[ \t]*(.*)$", re.MULTILINE)
_KEYS = {"copilot-cli": ("applyTo", "paths")}
"""What names the files; `paths` for the other programs."""
_EVERYWHERE = {"claude-code": ("", "**", "**/**"), "copilot-cli": ("", "*", "**", "**/*")}
"""What names all files; for the other programs only nothing does."""


def matching(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """What matches whole paths that one of the patterns means; None without any."""
    found = [_expression(pattern) for pattern in patterns]
    return re.compile("|".join(found), re.DOTALL) if found else None


def _expression(pattern: str) -> str:
    if pattern.startswith("!") and len(pattern) > 1:
        return rf"(?!(?:{_expression(pattern[1:])})\Z).*"
    said, ends = "", list[tuple[str, str]]()
    for part in _PART.finditer(pattern):
        kind = part.lastgroup or ""
        if kind in _FIXED:
            said += _FIXED[kind]
        elif kind in ("times", "opens"):
            times = part[0].rstrip("({").replace("@", "")
            ends.append(("}" if kind == "opens" else ")", times))
            said += "(?:"
        elif kind == "last":
            said += f"[{part['first']}-{part['last']}]"
        elif kind == "one":
            said += part[0]
        elif ends and part[0] == ends[-1][0]:
            said += f"){ends.pop()[1]}"
        elif ends and part[0] == _ENDS[ends[-1][0]]:
            said += "|"
        else:
            said += re.escape(part[0])
    try:
        re.compile(said if not ends else "(")
    except re.error:  # what is no pattern is a path
        return re.escape(pattern)
    return said


def named_in(folder: Path, pattern: str) -> list[Path]:
    """What is in a folder and has a path of the pattern, sorted. A pattern that is none names nothing."""
    choice = _CHOICE.search(pattern)
    if choice is not None:
        parts = (f"{pattern[: choice.start()]}{one}{pattern[choice.end() :]}" for one in choice[1].split(","))
        return [path for part in parts for path in named_in(folder, part)]
    found, pattern = list[Path](), _PARTIAL.sub("*", pattern)
    # A folder that cannot be listed, and what is no pattern: nothing, a whole path, or a dot.
    with suppress(OSError, ValueError, NotImplementedError, IndexError):
        found += sorted(folder.glob(f"{pattern}/*" if pattern.endswith("**") else pattern))
    return found


def for_some(rule: str, agent: str) -> bool:
    """Whether a rule is read with some files only."""
    front = _FRONT.match(rule)
    if front is None:
        return False
    try:
        meta = table(load_yaml(front[1]))
    except yaml.YAMLError:  # as where a pattern that begins with a star has no quotes
        meta = dict(_LINE_OF_FRONT.findall(front[1]))
    named = [one for key in _KEYS.get(agent, ("paths",)) for one in _patterns(meta.get(key))]
    return any(one not in _EVERYWHERE.get(agent, ("",)) for one in named)


def _patterns(value: Any) -> list[str]:
    found = [str(one) for one in items(value)] or str(value if isinstance(value, str) else "").split(",")
    return [one.strip(" \t\"'") for one in found]
