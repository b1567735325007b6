"""`etude audit`."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from etude.cli.audit.folder import audit_folder
from etude.cli.audit.label import label
from etude.cli.compare import settings_for
from etude.cli.lookup import find_skill
from etude.cli.parsing.usage import UsageError
from etude.cli.scaffold.asking import asks
from etude.cli.settings import read_settings
from etude.cli.several.table import skill_folders
from etude.cli.terminal import output
from etude.cli.terminal.tables import text_lines
from etude.cli.watch import watch
from etude.measure.audit.suite import FAULTS, Audit, aaudit_skill
from etude.readable import counted
from etude.records.summary import seen_before
from etude.workbench import Given

_SHOWN = 10
"""Most tasks of one kind of finding that are listed: all of it is one page, and the file has the rest."""


def run(args: argparse.Namespace) -> int:
    """Attempt the tasks with four versions of a skill and print what is wrong with the tasks; or those of
    each skill of a folder."""
    if args.label and not asks(args):
        raise UsageError("--label asks a person at a terminal", hint="without it, the audit prints its findings only")
    if folders := skill_folders(args, "audit", [args.skill]):
        if args.label:
            raise UsageError("--label goes with one skill", hint="name one of the folder")
        return audit_folder(args, read_settings(args), folders)
    skill = find_skill(args.skill)
    config = settings_for(args, skill.run)

    async def work(given: Given) -> Audit:
        given["skill"] = skill.skill
        return await aaudit_skill(config, args.split, **given)

    result = watch(work, args.command)
    output.measured(result, _lines(result), as_json=args.json, simulated=result.simulated)
    if args.label:
        label(result, Path(config.run.folder), args.label)
    return 0


def _lines(result: Audit) -> Iterator[str]:
    yield f"skill     {result.skill} ({result.hash})"
    asked = "all splits" if result.split == "all" else f"{result.split} split"
    yield f"suite     {counted(result.tasks, 'task')} of {asked}, {result.attempts:,} attempts of {result.target}"
    passed = ", ".join(f"{version} {count}" for version, count in result.passed.items())
    yield f"passed    {passed}, of {result.judged} (first attempts)"
    wrong = len({each.task for each in result.findings})
    yield f"findings  {counted(wrong, 'task')} of {result.tasks}"
    for kind, (title, cure) in FAULTS.items():
        found = [each for each in result.findings if each.kind == kind]
        if found:
            yield ""
            yield f"{title} ({counted(len(found), 'task')})"
            yield from (
                f"  {row}" for row in text_lines([(each.task, each.what, each.asked) for each in found[:_SHOWN]])
            )
            if len(found) > _SHOWN:
                yield f"  and {len(found) - _SHOWN} more, in the file"
            yield f"  -> {cure}"
    yield ""
    if any(each.kind in ("passes", "fails") for each in result.findings):
        share = f"at most {result.error:.0%} of those that are named so in such tables"
        yield f"error     a version changes some of the tasks that none is said to change: {share}"
    if result.undecided:
        more = f" and {len(result.undecided) - _SHOWN} more" if len(result.undecided) > _SHOWN else ""
        names = ", ".join(result.undecided[:_SHOWN])
        yield f"alike     {names}{more}: so too in all attempts, which luck may do as well"
    if result.voids:
        yield f"errors    {result.voids} attempts errored; they are not counted"
    if result.unscored:
        yield f"unscored  {result.unscored} answers could not be scored again"
    if result.test_openings > 1:
        yield f"test      {seen_before(result.test_openings)}"
    yield f"calls     {result.calls_sent} sent"
    yield f"file      {result.file}"
