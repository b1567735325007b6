"""Folders of cases: each case is a folder with texts and the answer that is expected, as JSON."""

import re
from collections.abc import Sequence
from pathlib import Path

from etude.cli.scaffold.table import fold_name
from etude.envs.files import Row, parse_rows
from etude.errors import DataError, raising

EXPECTED = "expected.json"
_TEMPLATE = "user-prompt-template.md"
_BEFORE, _AFTER = "system-prompt.md", "output-spec.md"
_SUFFIXES = (".md", ".txt", ".json", ".csv", ".yaml", ".yml")
_HOLE = re.compile(r"\{\{?\s*([\w-]+)\s*\}?\}")


def has_cases(folder: Path) -> bool:
    """Whether a folder has a case in it."""
    return next(folder.glob(f"*/{EXPECTED}"), None) is not None


def read_cases(folder: Path) -> list[Row]:
    """A row for each case: the texts of its folder in the places that the template has for them, else one after the
    other; what all cases share stands around them. The template and these stand with the cases or one folder above.
    Raises DataError: a text cannot be read, or a place of the template stays empty."""
    shared = {name: _shared(folder, name) for name in (_BEFORE, _TEMPLATE, _AFTER)}
    rows: list[Row] = []
    for expected in sorted(folder.glob(f"*/{EXPECTED}")):
        found = parse_rows(expected, f"[{read_text(expected)}]", "json")
        if len(found) != 1:
            raise DataError(f"{expected}: expected one object", hint="write the right answer of the case")
        texts = {file.stem: read_text(file) for file in _texts(expected.parent)}
        asked = _filled(shared[_TEMPLATE], texts, expected.parent)
        parts = [part for part in (shared[_BEFORE], asked, shared[_AFTER]) if part]
        rows.append(
            Row(str(expected), {"id": expected.parent.name, "input": "\n\n".join(parts), "gold": found[0].columns})
        )
    return rows


def _texts(case: Path) -> Sequence[Path]:
    return sorted(
        file
        for file in case.iterdir()
        if file.name not in (EXPECTED, "case-meta.json", "assertions.json")
        and file.suffix in _SUFFIXES
        and file.resolve().is_relative_to(case.resolve())
    )


def _shared(folder: Path, name: str) -> str:
    return next((read_text(place / name) for place in (folder, folder.parent) if (place / name).is_file()), "")


def _filled(template: str, texts: dict[str, str], case: Path) -> str:
    if not template:
        return "\n\n".join(texts.values())
    known = {fold_name(name): text for name, text in texts.items()}
    empty = sorted(hole for hole in _HOLE.findall(template) if fold_name(hole) not in known)
    if empty:
        raise DataError(
            f"{case}: no text for {empty[0]!r} of {_TEMPLATE}; texts: {', '.join(map(repr, texts)) or 'none'}",
            hint=f"write {empty[0]}.md there",
        )
    return _HOLE.sub(lambda match: known[fold_name(match[1])], template)


def read_text(file: Path) -> str:
    """A text without blanks around it. Raises DataError: it cannot be read."""
    with raising(DataError, f"{file} cannot be read", "save it as UTF-8"):
        return file.read_text(encoding="utf-8").strip()
