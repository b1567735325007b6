"""The lines that begin and end a protected region, those above the files of a skill, and what only looks like one."""

import re
from collections.abc import Iterable

NAME = re.compile(r"[a-z][a-z0-9_-]*")
FORM = "write '<!-- etude:begin NAME -->' and '<!-- etude:end NAME -->', each alone on a line"

FILES = "<!-- etude:files -->"
"""The line between the text of a skill and its files, where these are trained, too."""
FILE_FORM = "write '<!-- etude:file references/NAME -->' or '<!-- etude:file scripts/NAME -->', alone on a line"

_PATH = re.compile(r"(?:references|scripts)(?:/[A-Za-z0-9_][A-Za-z0-9._-]*){1,4}")
_NOT_SAVED = frozenset({"skill.md", "provenance.json", "__pycache__", "thumbs.db", "desktop.ini"})
_MAX_PATH = 120
_FILE = re.compile(r"<!-- etude:file (\S+)(?: (\+x|kept))? -->")
_MARKER = re.compile(rf"[ \t]*<!-- etude:(begin|end) ({NAME.pattern}) -->[ \t]*")
_LIKE_MARKER = re.compile(r"etude\s*:\s*(begin|end|files?)\b", re.IGNORECASE)
_LIKE_MARKER_LINE = re.compile(r"\s*<!--\s*" + _LIKE_MARKER.pattern, re.IGNORECASE)
_COMMENT = re.compile(_LIKE_MARKER_LINE.pattern + r"(?:(?!-->).)*-->\s*", re.IGNORECASE)


def read_marker(line: str) -> tuple[str, str] | None:
    """(`begin` or `end`, name of the region); None for a line that is not a marker."""
    found = _MARKER.fullmatch(line)
    return (found[1], found[2]) if found else None


def read_file_mark(line: str) -> tuple[str, str] | None:
    """(path, what is said of the file: `+x`, `kept` or nothing); None for another line."""
    found = _FILE.fullmatch(line.strip(" \t"))
    return (found[1], found[2] or "") if found else None


def path_fault(path: str, others: Iterable[str] = ()) -> str:
    """Why a file of a skill that is trained cannot have this path, beside these others; empty when it can."""
    names = path.casefold().split("/")
    if not _PATH.fullmatch(path) or len(path) > _MAX_PATH or any(name.endswith(".") for name in names):
        return f"{path!r:.200} is not references/NAME or scripts/NAME, of letters, digits, '.', '_' and '-'"
    if not _NOT_SAVED.isdisjoint(names):
        return f"{path!r} has a name that is kept for something else"
    for other in others:
        if all(one == two for one, two in zip(names, other.casefold().split("/"), strict=False)):
            return f"{path!r} would be in the place of {other!r}"
    return ""


def pretends(line: str) -> bool:
    """Whether a line starts like a marker."""
    return _LIKE_MARKER_LINE.match(line) is not None


def is_marker_comment(line: str) -> bool:
    """Whether a line is one comment that is a marker or would be one if it were written right."""
    return _COMMENT.fullmatch(line) is not None


def looks_like_marker(text: str) -> bool:
    """Whether `text` holds something that is a region marker or could pass for one."""
    return _LIKE_MARKER.search(text) is not None


def made_harmless(text: str) -> str:
    """The text with `etude begin` for `etude:begin`, so that nothing in it is a marker."""
    return _LIKE_MARKER.sub(r"etude \1", text)
