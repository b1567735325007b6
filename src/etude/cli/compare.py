"""`etude compare`."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from etude.cli.lookup import find_arm, here, note_choice
from etude.cli.settings import read_settings, with_options
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.cli.terminal.summary_text import endings, remark_lines, target_lines
from etude.cli.watch import watch
from etude.comparison import FEWEST
from etude.config import TrainConfig, load_config
from etude.errors import DataError
from etude.measure.compare import Asked, compared, lines_chosen_by, need_untrained
from etude.records import MEANS
from etude.records.answer import Remark
from etude.records.summary import Comparison, Flip, ShipVerdict, seen_before, target_rows
from etude.store import RunView
from etude.store.projections.runs import objects_of
from etude.workbench import Given

SHOWN = 20
"""Most tasks that are listed as better, and as worse."""
EXIT_CODES: Mapping[ShipVerdict, int] = {"ship": 0, "inconclusive": 4, "do not ship": 5}


def run(args: argparse.Namespace) -> int:
    """Compare two skills on the same tasks and print the verdict, the difference and the tasks behind it."""
    a, b = find_arm(args.a), find_arm(args.b)
    split = args.split or "test"
    if split == "all":
        for arm in (a, b):
            need_untrained(arm.label, trained=arm.trained)
    note_choice((a, b), split)
    config = settings_for(args, a.run or b.run)
    places = [Path(arm.label if arm.run is None else arm.run.path) for arm in (a, b) if arm.step != 0]
    margin = args.margin - args.allow_loss  # one of them is 0
    chosen_by = frozenset[str]().union(*map(lines_chosen_by, places))
    asked = Asked(split, args.trials, margin, not margin, chosen_by)

    async def work(given: Given) -> Comparison:
        return await compared(config, (a.skill, b.skill), asked, given)

    result = watch(work, args.command)
    output.measured(result, _lines(result, a.label, b.label), as_json=args.json, simulated=result.simulated)
    return EXIT_CODES[result.verdict]


def settings_for(args: argparse.Namespace, run: RunView | None) -> TrainConfig:
    """From the CONFIG argument; else those of the run that A or B comes from, whose answers are cached."""
    return read_settings(args) if args.config is not None or run is None else settings_of(args, run)


def settings_of(args: argparse.Namespace, run: RunView) -> TrainConfig:
    """Those of a run. Raises DataError: it was given what they do not say."""
    config = with_options(lambda flags: load_config(Path(run.path, "config.yaml"), flags=flags), args, here(run))
    if given := objects_of(run, config):
        raise DataError(
            f"run {run.name!r} was made in Python, and its {given} with it: the settings of the run do not have that",
            hint="name a settings file that does, or do it in Python" if "config" in args else "do it in Python",
        )
    return config


def _lines(result: Comparison, a: str, b: str) -> Iterator[str]:
    width = max(len(a), len(b))
    yield f"A           {a:<{width}}  {result.a.score.shown}  ({result.a.hash})"
    yield f"B           {b:<{width}}  {result.b.score.shown}  ({result.b.hash})"
    gain = result.difference
    trials = f", {result.trials} trials each" if result.trials > 1 else ""
    about = f"paired, {result.split} n={gain.n}{trials}, {MEANS[result.metric]}"
    yield f"difference  {gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]  {about}"
    yield from _verdicts(result)
    if result.settle is not None:
        yield from remark_lines(Remark(name="to settle", text=result.settle.note))
    yield f"tasks       {len(result.gained)} better, {len(result.lost)} worse, {result.equal} equal"
    yield from target_lines(target_rows(result.targets, skills=("A", "B")))
    if result.voids:
        yield f"errors      {result.voids} attempts errored; their tasks are compared without them"
    yield from endings(result.ended, 12)
    if result.gained or result.lost:
        yield ""
        yield from text_lines(
            [("task", "A", "B", "B - A", ""), *_rows(result.lost, "worse"), *_rows(result.gained, "better")]
        )
        yield ""
    if result.test_openings > 1:
        yield f"test split  {seen_before(result.test_openings)}"
    yield f"file        {result.file}"


def _verdicts(result: Comparison) -> Iterator[str]:
    """The verdict with what it is about, and what there is to say of the other claim."""
    these = result.these
    if these is not None and result.claim == "these tasks":
        yield f"verdict     {result.said}: {these.why}"
        yield f"{'':<12}on tasks like these: none, it takes {FEWEST} tasks or more"
        return
    yield f"verdict     {result.said}: {why(result)}"
    if these is not None:
        yield f"{'':<12}on just these tasks: {these.verdict}, {these.why}"


def why(result: Comparison) -> str:
    """What the verdict says, in a sentence."""
    if result.a.hash == result.b.hash:
        return "A and B are the same skill"
    low, high, loss = f"{result.at_least:+.3f}", f"{result.at_most:+.3f}", -result.margin
    if loss <= 0:
        worth = "better" if loss == 0 else f"better by {result.margin:g}"
        says = {
            "ship": f"B is better by {low} or more, with 95% confidence",
            "do not ship": f"B is not {worth}, with 95% confidence ({high} at most)",
        }
        return says.get(result.verdict, f"B may be {worth}, or not ({low} to {high})")
    says = {
        "ship": f"B is not worse by {loss:g} or more, with 95% confidence ({low} at least)",
        "do not ship": f"B is worse by {loss:g} or more, with 95% confidence ({high} at most)",
    }
    return says.get(result.verdict, f"B may be worse by {loss:g} or more, or not ({low} to {high})")


def _rows(flips: Sequence[Flip], what: str) -> Iterator[tuple[str, ...]]:
    for flip in flips[:SHOWN]:
        yield flip.task, f"{flip.a:.2f}", f"{flip.b:.2f}", f"{flip.b - flip.a:+.2f}", what
    if len(flips) > SHOWN:
        yield f"... {len(flips) - SHOWN} more", "", "", "", what
