"""How two texts differ, line by line."""

import difflib


def unified_diff(before: str, after: str, before_name: str, after_name: str) -> str:
    """A unified diff with three lines of context, as `patch` reads it; empty for equal texts."""
    lines: list[str] = []
    for line in difflib.unified_diff(_lines(before), _lines(after), before_name, after_name):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])
