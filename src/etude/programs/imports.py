"""Files that stand in another file of instructions as `@path`, and which of them each agent program reads. Seen with
real programs; the tests marked `programs` hold it."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from etude.skill.anchors import LIST_MARK
from etude.skill.lines import lines_of

_LARGEST = 200_000
"""Bytes of a file of instructions; a larger one is none."""
_TICKS = r"(?<!`)(?P<ticks>`+)(?!`)(?:%s|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)"
_SPAN = _TICKS % r"[^`\n]++|\n(?![ \t]*\r?\n)"
_FENCED = r"^[ \t]*(?P<fence>```+|~~~+)[\s\S]*?(?:^[ \t]*(?P=fence)|\Z)"
_FRONT = r"\A\ufeff?---[ \t]*\r?\n[\s\S]*?^---[ \t]*\r?$"
_HTML = r"<!--(?:(?!<!--)[\s\S])*?-->|^ {0,3}</?[A-Za-z][^>\n]*>[ \t]*\r?\n(?:.*\S.*\n?)*"
"""Comments, and lines from one that is only a tag up to a blank one."""
_SPANNED = "\0"
"""What stands in the place of code within a line: no white space, and no word."""
_QUOTED = re.compile(r"(?: {0,3}> ?)+")
_NO_PARAGRAPH = re.compile(r" *(?:#{1,6}(?: |\Z)|(?:([-*_=]) *)(?:\1 *)*\Z)")
"""A heading, a rule, or the line below a heading: what is indented below it is code."""
_INDENTED = 4


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
    indented: bool = True
    """What is indented as code counts as well."""
    lists: bool = True
    """In lists, too, code is no place for an import."""


def _unread(*kinds: str) -> re.Pattern[str]:
    return re.compile("|".join(kinds), re.MULTILINE)


_WORD = re.compile(r"(?<!\S)@(\S+)")
CLAUDE = Imports(
    re.compile(r"(?:(?<!\S)|(?<=[*_>\0\ufeff]))@((?:[^\s\\*<#]|\\ )+?)(?=_?(?:[\s*<#]|\Z))"),
    _unread(_FRONT, _FENCED, _HTML, _SPAN),
    4,
    resolved=True,
    indented=False,
)
GEMINI = Imports(_WORD, _unread(r"```[\s\S]*?(?:```|\Z)", _TICKS % "[^`]++"))
QWEN = Imports(_WORD, _unread(_FENCED, _SPAN), 5, indented=False, lists=False)
COPILOT = Imports(
    re.compile(r"(?<![\w*~@`])@([^\s'\"()\[\]<>`*]+?)(?=[.,;:!?]*(?:[\s'\"()\[\]<>`]|\Z))"),
    _unread(_FENCED, _TICKS % r"[^`\n]++"),
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
    read = imports.unread.sub(lambda found: _SPANNED if found["ticks"] else "\n", text)
    read = read if imports.indented else _without_indented(read, lists=imports.lists)
    return (each[1].replace("\\ ", " ") for each in imports.form.finditer(read))


def _without_indented(text: str, *, lists: bool) -> str:
    """A text without the lines that are indented as code: by four more than what they are in, and below no line of a
    paragraph. In `lists` only if these are looked at."""
    items, running, kept = list[int](), False, list[str]()
    for line in lines_of(text):
        read = _QUOTED.sub("", line.text.expandtabs(_INDENTED), count=1)
        indent, mark = len(read) - len(read.lstrip()), LIST_MARK.match(read)
        if read.strip() and (mark or not running):
            items = [item for item in items if item <= indent]
        inner = items[-1] if items else 0
        code = not running and indent >= inner + _INDENTED and (lists or not items)
        if mark and not code:
            wide = len(mark[0]) - len(mark[0].rstrip()) > _INDENTED  # all but one of the blanks belong to the text
            items.append(len(mark[0].rstrip()) + 1 if wide else mark.end())
            code, read = wide and lists, read[mark.end() :]
        kept.append("" if code else line.text)
        running = bool(read.strip()) and not code and _NO_PARAGRAPH.match(read) is None
    return "\n".join(kept)


def read_text(path: Path) -> str | None:
    """A file of instructions; None where it cannot be read as one."""
    try:
        data = path.read_bytes()
        return data.decode() if len(data) <= _LARGEST else None
    except (OSError, UnicodeDecodeError):
        return None
