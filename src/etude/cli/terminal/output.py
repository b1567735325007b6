"""Results on stdout, everything else on stderr."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from etude.cli.terminal.streams import results
from etude.errors import EtudeError
from etude.readable import SIMULATED, fitted, visible, visible_json

Table = Sequence[Sequence[str]]
"""The first row is the header."""
LOUD = "yellow bold"
_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def line(text: str = "", style: str | None = None) -> None:
    """A line of the result. `style` (as rich names it) shows in a terminal only."""
    stream, text = results(), visible(text)
    if style is None or not stream.isatty():
        print(text, file=stream)
        return
    from rich.console import Console

    Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True).print(text, style=style)


def data(text: str) -> None:
    """A text that is the result: as it is where a program or a file takes it."""
    print(visible(text) if results().isatty() else text, file=results())


def lines(texts: Iterable[str], *, simulated: bool = False) -> None:
    """Lines of the result, broken between words in a terminal; the first one says so where answers were simulated."""
    if simulated:
        line(SIMULATED, LOUD)
    in_terminal = results().isatty()
    for text in texts:
        for part in fitted(text, shutil.get_terminal_size().columns) if in_terminal else [text]:
            line(part)


def diff(text: str) -> None:
    """A unified diff, in colours."""
    for each in text.removesuffix("\n").split("\n"):
        line(each, _DIFF.get(each[:1]))


def program() -> str:
    """How this program was called: `etude` where that is enough, else its path."""
    called = Path(sys.argv[0])
    if called.name != "etude":
        return "etude"
    found = shutil.which("etude")
    if found is not None and os.path.realpath(found) == os.path.realpath(called):
        return "etude"
    return min(os.path.relpath(called), str(called.absolute()), key=len)


def note(text: str) -> None:
    """A line that is not part of the result."""
    print(visible(text), file=sys.stderr)


def json_result(value: Any) -> None:
    """The result as JSON data; records in it become data, too."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=lambda record: record.model_dump(mode="json"))
    print(visible_json(text), file=results())


def measured(result: Any, texts: Iterable[str], *, as_json: bool, simulated: bool = False) -> None:
    """What a verb has found: as JSON data, or these lines."""
    if as_json:
        json_result(result)
    else:
        lines(texts, simulated=simulated)


def flush() -> None:
    """Have the result shown while the work continues."""
    results().flush()


def tell(error: EtudeError) -> None:
    """What went wrong and what to do, for people."""
    flush()
    note(f"error: {error.message}")
    if error.hint:
        note(f"hint: {error.hint}")


def json_error(error: EtudeError) -> None:
    """The same for programs."""
    json_result({"error": error.message, "hint": error.hint, "exit_code": error.exit_code})


def text_lines(table: Table) -> list[str]:
    """Columns side by side, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return [row.rstrip() for row in rows]


def shown(score: float | None) -> str:
    """A score as a cell; `-` where it was not measured."""
    return "-" if score is None else f"{score:.3f}"
