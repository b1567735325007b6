"""`etude recheck`."""

import argparse
from collections.abc import Iterator, Mapping

from etude.cli.compare import settings_for
from etude.cli.evaluate import with_target
from etude.cli.lookup import find_skill, note_choice
from etude.cli.settings import read_settings
from etude.cli.several import measure_folder, skill_folders
from etude.cli.terminal import output
from etude.cli.terminal.summary_text import endings
from etude.cli.watch import watch
from etude.measure.recheck import Help, Recheck, arecheck_skill
from etude.models import build_model
from etude.records.answer import about
from etude.workbench import Given

EXIT_CODES: Mapping[Help, int] = {"still helps": 0, "inconclusive": 4, "does not help": 5}


def run(args: argparse.Namespace) -> int:
    """Say whether a skill still helps on another target, with as few attempts as decide it; or each of a folder."""
    if folders := skill_folders(args, "recheck", [args.skill]):
        return measure_folder(args, with_target(read_settings(args), args.target, args), folders, 1, args.margin)
    skill = find_skill(args.skill)
    split = args.split or "test"
    note_choice([skill], split)
    settings = settings_for(args, skill.run)
    config = with_target(settings, args.target, args)
    build_model(config.target)  # a bad name is reported before the first call
    summary = None if skill.run is None else skill.run.summary
    known, of = None, ""
    # It was measured for the best skill.
    if summary is not None and summary.no_skill is not None and skill.skill.hash == summary.best.hash:
        known, targets = summary.no_skill.gain, summary.no_skill.targets
        of = f", the mean of {len(targets)} targets" if targets else ""
        own = [one.called for one in settings.targets if args.target in (one.called, one.model)]
        for target in targets:
            if target.target in own[:1]:
                known, of = target.difference, ", as the run measured for this target"

    async def work(given: Given) -> Recheck:
        given["skill"] = skill.skill
        return await arecheck_skill(config, split, before=known, margin=args.margin, **given)

    result = watch(work, args.command)
    output.measured(result, _lines(result, of), as_json=args.json, simulated=result.simulated)
    return EXIT_CODES[result.verdict]


def _lines(result: Recheck, of: str) -> Iterator[str]:
    yield f"target      {result.target}"
    yield f"verdict     {result.verdict}, {about('tasks like these')}: {_why(result)}"
    gain = result.with_skill - result.without
    yield f"scores      without {result.without:.2f}, with the skill {result.with_skill:.2f} ({gain:+.2f})"
    if result.before is not None:
        yield f"before      {result.before.shown_change} over no skill{of}; now {result.change}"
    yield f"tasks       {result.tasks} of {result.of} were needed; calls sent {result.calls_sent}"
    if result.voids:
        yield f"errors      {result.voids} attempts errored; their tasks are compared without them"
    yield from endings(result.ended, 12)
    yield f"file        {result.file}"


def _why(result: Recheck) -> str:
    low, high = f"{result.at_least:+.2f}", f"{result.at_most:+.2f}"
    if result.verdict == "still helps":
        return f"it gains {low} or more over no skill, with 95% confidence"
    if result.verdict == "does not help":
        hurts = "it does harm" if result.at_most < 0 else "it gains nothing worth having"
        return f"{hurts}, with 95% confidence ({high} at most)"
    return f"it may help, or not ({low} to {high})"
