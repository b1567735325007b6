"""`etude audit`."""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from etude.cli.compare import settings_for
from etude.cli.lookup import find_skill
from etude.cli.parsing.verb import UsageError
from etude.cli.scaffold.asking import asks
from etude.cli.settings import read_settings
from etude.cli.several import skill_folders, tabled
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.cli.terminal.summary_text import endings
from etude.cli.watch import watch
from etude.config import TrainConfig
from etude.measure.audit.suite import (
    FAULTS,
    Audit,
    AuditRow,
    AuditTable,
    JudgedAnswer,
    Seen,
    aaudit_skill,
    aaudit_suites,
    most_of_audit,
)
from etude.measure.several import Suite
from etude.readable import counted, some
from etude.records import digest
from etude.records.summary import seen_before
from etude.records.tasks import ends_together
from etude.store.judge_labels import Label, keep_labels, labels_of
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
        return await aaudit_skill(config, args.split or "all", **given)

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
        yield f"luck      of those said to be changed by none, one changes at most {result.error:.0%} on average"
    if result.undecided:
        names = some(result.undecided, _SHOWN)
        yield f"alike     {names}: all versions did alike in all attempts, but luck alone may do that: no finding"
    yield from _lost(result)
    if result.test_openings > 1:
        yield f"test      {seen_before(result.test_openings)}"
    yield f"calls     {result.calls_sent} sent"
    yield f"file      {result.file}"


def _lost(result: Seen) -> Iterator[str]:
    """What tells nothing of a suite."""
    if result.voids:
        yield f"errors    {counted(result.voids, 'attempt')} errored; they are not counted"
    if result.unscored:
        yield f"unscored  {counted(result.unscored, 'answer')} could not be scored again"
    yield from endings(result.ended, 10)


def label(audit: Audit, folder: Path, count: int) -> None:
    """Ask about answers that have no label yet, and keep each as it is given."""
    passed = sum(one.passed for one in audit.answers)
    counts = {"answers": (passed, len(audit.answers) - passed)}
    labels = labels_of(folder, audit.scoring).model_copy(update=counts)
    done = {(one.task, one.answer) for one in labels.labels}
    left = [one for one in audit.answers if (one.task.id, digest(one.answer)) not in done]
    chosen = mixed(left, count)
    if not chosen:
        output.note("no answer was scored by a judge" if not done else "all answers have a label")
    for number, one in enumerate(chosen, 1):
        output.note(f"\n--- {number} of {counted(len(chosen), 'answer')} ---\n{one.task.input}")
        if one.rubric:
            output.note(f"\nrubric: {one.rubric}")
        if one.task.gold is not None:
            output.note(f"\nreference: {one.task.gold}")
        output.note(f"\nanswer: {one.answer or '(empty)'}\n")
        said = _asked()
        if said == "q":
            break
        if said in ("y", "n"):
            new = Label(task=one.task.id, answer=digest(one.answer), judge=one.passed, person=said == "y")
            labels = labels.plus(new)
            keep_labels(folder, audit.scoring, labels)
    output.note(labels.told)


def mixed(answers: Sequence[JudgedAnswer], count: int) -> list[JudgedAnswer]:
    """So many answers, as many that pass as not where there are enough of both: agreement on one kind says little."""
    order = list(answers)
    random.Random(len(order)).shuffle(order)
    passed, failed = ([one for one in order if one.passed is kind] for kind in (True, False))
    pairs = chain.from_iterable(zip_longest(passed, failed))
    return [one for one in pairs if one is not None][:count]


def _asked() -> str:
    while True:
        output.note("does it pass? [y]es, [n]o, [s]kip, [q]uit")
        line = sys.stdin.readline()
        said = line.strip().lower()[:1] if line else "q"
        if said in ("y", "n", "s", "q"):
            return said


def audit_folder(args: argparse.Namespace, config: TrainConfig, folders: Sequence[Path]) -> int:
    """Audit each skill of a folder on its own tasks, and print the table; returns the exit code."""

    async def work(suites: Sequence[Suite], given: Given) -> AuditTable:
        most = most_of_audit(sum(suite.tasks for suite in suites))[0]
        able = sum(not suite.problem for suite in suites)
        output.note(f"{counted(able, 'skill')}: at most {most:,} attempts of the target")
        return await aaudit_suites(config, suites, **given)

    return tabled(args, config, folders, work, _table_lines)


def _table_lines(table: AuditTable) -> Iterator[str]:
    yield from text_lines([("skill", "tasks", *FAULTS), *map(_cells, table.rows)])
    yield ""
    yield from (f"{row.skill}: {row.problem}" for row in table.rows if row.problem)
    for kind, (title, cure) in FAULTS.items():
        tasks = [f"{row.skill}/{each.task}" for row in table.rows for each in row.findings if each.kind == kind]
        if tasks:
            yield f"{kind}: {title} -> {cure}"
            yield f"  {', '.join(tasks)}"
    share = f"on average at most {table.error:.0%} of those that are named as passes or fails"
    yield f"luck      {share} are changed by a version after all, over the whole table (Benjamini-Hochberg)"
    every = [row for row in table.rows if not row.problem]
    voids, unscored = sum(row.voids for row in every), sum(row.unscored for row in every)
    yield from _lost(Seen(skill="", voids=voids, unscored=unscored, ended=ends_together(row.ended for row in every)))
    yield f"calls     {table.calls_sent} sent"


def _cells(row: AuditRow) -> tuple[str, ...]:
    if row.problem:
        return row.skill, "-", *("-" for _ in FAULTS)
    judged = f"{row.judged} of {row.tasks}" if row.judged < row.tasks else str(row.judged)
    return row.skill, judged, *(str(sum(each.kind == kind for each in row.findings)) for kind in FAULTS)
