"""The lines that begin and end a protected region, and what only looks like one."""

import re

NAME = re.compile(r"[a-z][a-z0-9_-]*")
FORM = "write '<!-- etude:begin NAME -->' and '<!-- etude:end NAME -->', each alone on a line"

_MARKER = re.compile(rf"[ \t]*<!-- etude:(begin|end) ({NAME.pattern}) -->[ \t]*")
_LIKE_MARKER = re.compile(r"etude\s*:\s*(begin|end)\b", re.IGNORECASE)
_LIKE_MARKER_LINE = re.compile(r"\s*<!--\s*" + _LIKE_MARKER.pattern, re.IGNORECASE)
_COMMENT = re.compile(_LIKE_MARKER_LINE.pattern + r"(?:(?!-->).)*-->\s*", re.IGNORECASE)


def read_marker(line: str) -> tuple[str, str] | None:
    """(`begin` or `end`, name of the region); None for a line that is not a marker."""
    found = _MARKER.fullmatch(line)
    return (found[1], found[2]) if found else None


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
