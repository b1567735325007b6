"""`etude help settings [KEY]`: what the reference says about settings."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from html import unescape
from pathlib import Path

from etude.cli.parsing.verb import UsageError

_PAGES = (Path(__file__).with_name("settings.md"), Path(__file__).parents[4] / "docs" / "reference" / "config.md")
"""The page as it is installed, and as it stands in the repository."""
_ROW = re.compile(r"\|`([\w.-]+)`\|(.*?)\|(`[^`]*`|[a-z]*)\|(.*)\|")
_SHARED = re.compile(r"The keys are those of \[(\w+)\]")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def settings_help(words: Sequence[str]) -> Iterator[str]:
    """Lines: all sections; or the keys of one; or the keys of that name, with what stands below them.
    Raises UsageError: there is none."""
    page = next(path for path in _PAGES if path.is_file()).read_text(encoding="utf-8")
    intro, *parts = re.split(r"^## ", page, flags=re.MULTILINE)
    sections = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}
    wanted = ".".join(words).removeprefix("--").lower()
    if not wanted:
        yield from (_plain(line) for line in intro.splitlines()[4:])
        width = max(map(len, sections))
        for name, text in sections.items():
            yield f"  {name:<{width}}  {_plain(' '.join(text.split()).partition('. ')[0].rstrip('.'))}"
        yield from ("", "`etude help settings SECTION` for its keys, `etude help settings KEY` for one")
        return
    if wanted in sections:
        yield from _described(sections[wanted].splitlines())
        return
    section, _, key = wanted.partition(".")
    shared = _SHARED.search(sections.get(section, ""))
    told = [name for name in (wanted, f"{shared[1]}.{key}" if shared else "") if name]
    found = ([line for line in page.splitlines() if _names(line, name)] for name in told)
    top = [line for line in intro.splitlines() if f"`{wanted}` " in line]
    rows = next((lines for lines in (*found, top) if lines), top)
    if not rows:
        known = {row[1] for row in map(_ROW.match, page.splitlines()) if row is not None}
        near = get_close_matches(wanted, [*sections, *known, *(key.rpartition(".")[2] for key in known)], 1)
        hint = f"did you mean {near[0]!r}?" if near else "`etude help settings` lists the sections"
        raise UsageError(f"there is no setting {wanted!r}", hint=hint)
    yield from _described(rows)


def _names(line: str, wanted: str) -> bool:
    row = _ROW.match(line)
    return row is not None and f".{wanted}." in f".{row[1]}."


def _described(lines: Sequence[str]) -> Iterator[str]:
    """Rows of tables as two lines each; other text as it is."""
    for line in lines:
        row = _ROW.match(line)
        if row is not None:
            default = f", default {row[3].strip('`')}" if row[3].startswith("`") else f", {row[3]}" if row[3] else ""
            yield f"{row[1]}  ({_plain(row[2])}{default})"
            yield f"    {_plain(row[4])}"
        elif not line.startswith("|"):
            yield _plain(line)


def _plain(text: str) -> str:
    return unescape(_LINK.sub(r"\1", text).replace(r"\|", "|"))
