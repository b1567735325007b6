"""`etude blame`."""

import argparse
from collections.abc import Iterator
from typing import Any

from etude.cli.lookup import find_run, last_run, names_run, need_trained
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.errors import DataError
from etude.readable import counted
from etude.records.provenance import Provenance
from etude.store.projections.skills import blamed, edits_of, provenance_of


def run(args: argparse.Namespace) -> int:
    """Print where each line of the best skill comes from, or all that is known about one line."""
    name, line = _asked(args)
    view = need_trained(find_run(name))
    provenance = provenance_of(view)
    if line is not None and not 1 <= line <= len(provenance.lines):
        raise DataError(f"the skill has no line {line}", hint=f"it has {counted(len(provenance.lines), 'line')}")
    found = provenance if line is None else {"number": line, **_data(provenance, line)}
    shown = _table(provenance) if line is None else _details(provenance, line)
    output.measured(found, shown, as_json=args.json, simulated=provenance.simulated)
    return 0


def _asked(args: argparse.Namespace) -> tuple[str, int | None]:
    """The run, by default the last one, and the line. A number alone is a line, unless a run has that name."""
    line = args.line
    if args.run is None:
        return last_run(), line
    if line is None and args.run.isdecimal() and not names_run(args.run):
        return last_run(), int(args.run)
    return args.run, line


def _data(provenance: Provenance, number: int) -> dict[str, Any]:
    line = provenance.lines[number - 1]
    data = line.model_dump(mode="json") | {"edits": edits_of(provenance, line)}
    change = None if line.change is None else provenance.changes[line.change]
    return data | {"change": change and change.model_dump(mode="json", exclude={"edits"})}


def _table(provenance: Provenance) -> Iterator[str]:
    own = sum(line.change is None for line in provenance.lines)
    whole = f"{counted(len(provenance.lines), 'line')}, {counted(provenance.tokens, 'token')}"
    yield f"run {provenance.run}: {whole}; {own} lines of the initial skill"
    rows: list[tuple[str, ...]] = [
        ("line", "from", "standing", "cites", "solved", "needed", "attempts", "tokens", "text")
    ]
    for number, line in enumerate(provenance.lines, start=1):
        found = blamed(provenance, number)
        known = found.evidence
        counts: tuple[object, ...] = ("",) * 5
        if known is not None:
            counts = (known.standing, known.cites, known.solved, known.needed, known.attempts)
        tokens = str(line.tokens) if line.tokens else ""
        rows.append((str(number), found.source, *map(str, counts), tokens, line.text))
    yield from text_lines(rows)
    yield "proved: its own contest against the skill without it was won; trusted: it entered on less"
    yield "not tested: it had no contest of its own; what it came with was accepted as a whole"
    yield "solved: cited tasks that did better with all edits of its step; needed: in most attempts with it"


def _details(provenance: Provenance, number: int) -> Iterator[str]:
    line = provenance.lines[number - 1]
    yield f"line {number}: {line.text}"
    yield f"from      {blamed(provenance, number).source}"
    yield f"tokens    {line.tokens}, with every attempt"
    if line.change is None:
        return
    yield f"accepted  {provenance.changes[line.change].reason}"
    for edit in edits_of(provenance, line):
        yield ""
        yield f"edit      {edit.edit.op}" + (f" at {edit.edit.target!r}" if edit.edit.target else "")
        if edit.edit.reason:
            yield f"reason    {edit.edit.reason}"
        cites = [f"{attempt} (task {task})" for attempt, task in edit.failures.items()]
        yield f"cites     {', '.join(cites) or 'no attempt'}"
        yield f"solved    {', '.join(edit.solved) or '-'}"
        yield f"needed    {', '.join(edit.needed) or '-'}"
        yield f"standing  {edit.standing}{f': {edit.tested}' if edit.tested else ''}"
        yield f"attempts  {edit.attempts}"
