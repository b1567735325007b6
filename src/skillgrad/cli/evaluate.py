"""`skillgrad evaluate`."""

import argparse

from skillgrad.build import Given, StopSwitch
from skillgrad.cli import output
from skillgrad.cli.console import open_console
from skillgrad.cli.interrupt import run_stoppable
from skillgrad.cli.roles import prices_of
from skillgrad.cli.settings import config_path, read_settings
from skillgrad.cli.summary_text import LOUD, SIMULATED, score
from skillgrad.errors import StopRun
from skillgrad.evaluate import SkillEvaluation, aevaluate_skill


def run(args: argparse.Namespace) -> int:
    """Score a skill on a split and print mean and interval."""
    config = read_settings(config_path(args), args)

    with open_console(prices_of(config)) as console:

        async def work(switch: StopSwitch) -> SkillEvaluation:
            given = Given(sinks=[console], switch=switch)
            if args.skill is not None:
                given["skill"] = args.skill
            return await aevaluate_skill(config, args.split, args.trials, **given)

        try:
            result = run_stoppable(work, lambda text: console.say(text, "yellow"))
        except StopRun as stop:
            stop.hint = f"{stop.hint}\nresume: {args.command}".lstrip()
            raise
    if args.json:
        output.json_result(result.model_dump(mode="json"))
    else:
        _print(result)
    return 0


def _print(result: SkillEvaluation) -> None:
    if result.simulated:
        output.line(SIMULATED, LOUD)
    trials = f", {result.trials} trials each" if result.trials > 1 else ""
    output.line(f"skill   {result.skill} ({result.hash})")
    output.line(f"{result.split:<8}{score(result.score)}  n={result.score.n}{trials}, mean {result.metric} score")
    if result.voids:
        output.line(f"voids   {result.voids} attempts without a score")
    output.line(f"file    {result.file}")
