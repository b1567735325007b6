"""Files that stand in another file of instructions as `@path`, and which of them each agent program reads. Seen with
real programs; the tests marked `programs` hold it."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

_LARGEST = 200_000
"""Bytes of a file of instructions; a larger one is none."""
_SPAN = r"(?P<ticks>`+)[^`]*(?P=ticks)"
_FENCED = r"^[ \t]*(?P<fence>```+|~~~+)[\s\S]*?(?:^[ \t]*(?P=fence)|\Z)"
_HTML = r"<!--(?:(?!<!--)[\s\S])*?-->|^ {0,3}</?[A-Za-z][^>\n]*>[ \t]*\r?\n(?:.*\S.*\n?)*"
"""Comments, and lines from one that is only a tag up to a blank one."""


class Imports(NamedTuple):
    """How a program reads what a file imports."""

    form: re.Pattern[str]
    """An import, with its path."""
    unread: re.Pattern[str]
    """Where none counts."""
    depth: int | None = None
    """How many lead from one file to another; None for any number."""
    resolved: bool = False
    """Paths begin where the file is without links."""


def _unread(*kinds: str) -> re.Pattern[str]:
    return re.compile("|".join(kinds), re.MULTILINE)


_WORD = re.compile(r"(?<!\S)@(\S+)")
CLAUDE = Imports(
    re.compile(r"(?:(?<!\S)|(?<=[*_>]))@((?:[^\s\\*<#]|\\ )+?)(?=_?(?:[\s*<#]|\Z))"),
    _unread(_FENCED, _HTML, _SPAN),
    4,
    resolved=True,
)
GEMINI = Imports(_WORD, _unread(r"```[\s\S]*?(?:```|\Z)", _SPAN))
QWEN = Imports(_WORD, _unread(_FENCED, _SPAN), 5)
COPILOT = Imports(
    re.compile(r"(?<![\w*~@`])@([^\s'\"()\[\]<>`*]+?)(?=[.,;:!?]*(?:[\s'\"()\[\]<>`]|\Z))"),
    _unread(_FENCED, _SPAN),
    8,
)


def imported(
    file: Path, home: Path, imports: Imports, counts: Callable[[Path], bool], within: Path | None
) -> Iterator[Path]:
    """A file, with those behind it that it imports: each once, where it `counts` and is in the folder `within`, if
    one is given, since programs ask before they read others."""
    seen: set[Path] = set()
    inner = None if within is None else Path(os.path.realpath(within))

    def reads(path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return path.is_file() and counts(path) and (inner is None or real.is_relative_to(inner))

    def found(path: Path, depth: int) -> Iterator[Path]:
        seen.add(path)
        yield path
        if imports.depth is not None and depth == imports.depth:
            return
        folder = (Path(os.path.realpath(path)) if imports.resolved else path).parent
        for word in _named(read_text(path) or "", imports):
            named = Path(os.path.normpath(folder / re.sub("^~/", lambda _: f"{home}/", word)))
            if named not in seen and reads(named):
                yield from found(named, depth + 1)

    yield from found(file, 0)


def _named(text: str, imports: Imports) -> Iterator[str]:
    """The paths that a text imports, in its order."""
    return (each[1].replace("\\ ", " ") for each in imports.form.finditer(imports.unread.sub(" ", text)))


def read_text(path: Path) -> str | None:
    """A file of instructions; None where it cannot be read as one."""
    try:
        data = path.read_bytes()
        return data.decode() if len(data) <= _LARGEST else None
    except (OSError, UnicodeDecodeError):
        return None
