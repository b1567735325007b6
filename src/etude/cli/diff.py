"""`etude diff`."""

import argparse
from collections.abc import Iterator

from etude.cli.lookup import NamedSkill, find_run, skill_of
from etude.cli.terminal import output
from etude.skill.diff import unified_diff
from etude.store import RunView
from etude.store.projections.runs import Decision, decisions


def run(args: argparse.Namespace) -> int:
    """Print what was decided between two skills of a run, and how their texts differ."""
    view = find_run(args.run)
    a, b = skill_of(view, args.a), skill_of(view, args.b)
    between = tuple(_between(view, a, b))
    diff = unified_diff(a.skill.text, b.skill.text, a.label, b.label)
    names = {*a.skill.files, *b.skill.files}
    files = sorted(name for name in names if a.skill.files.get(name) != b.skill.files.get(name))
    if args.json:
        steps = [{"name": decision.name, **decision.view.model_dump(mode="json")} for decision in between]
        result = {"run": view.name, "a": _data(a), "b": _data(b), "steps": steps, "files": files, "diff": diff}
        output.json_result(result)
        return 0
    output.line(f"run {view.name}: {a.label} -> {b.label}")
    for decision in between:
        output.line(_verdict(decision))
    for name in files:
        output.line(f"file {name!r} differs")
    output.line()
    output.diff(diff or "the texts are equal")
    return 0


def _between(view: RunView, a: NamedSkill, b: NamedSkill) -> Iterator[Decision]:
    """What was decided after the earlier one of two skills, up to the later one; nothing when one is a path."""
    if a.step is not None and b.step is not None:
        first, last = sorted((a.step, b.step))
        yield from (decision for decision in decisions(view) if first < decision.step <= last)


def _verdict(decision: Decision) -> str:
    view = decision.view
    name = f"step {decision.name}" if decision.name.isdecimal() else decision.name
    best = ", became the best skill" if view.best else ""
    reason = f": {view.reason}" if view.reason else ""
    return f"{name} {view.action or 'under way'}{best}{reason}"


def _data(named: NamedSkill) -> dict[str, str | int | None]:
    return {"label": named.label, "step": named.step, "hash": named.skill.hash}
