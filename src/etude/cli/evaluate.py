"""`etude evaluate`."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etude.cli.lookup import NamedSkill, find_arm, without_skill
from etude.cli.parsing.verb import UsageError
from etude.cli.settings import read_settings
from etude.cli.several import measure_folder, skill_folders
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.cli.terminal.summary_text import endings
from etude.cli.trust import trusted
from etude.cli.watch import watch
from etude.comparison import delivers
from etude.config import TrainConfig
from etude.errors import StopRun
from etude.measure.benchmark import Arm, write_benchmark
from etude.measure.evaluate import SkillEvaluation, aevaluate_skill
from etude.models import build_model
from etude.records import MEANS, Attempt
from etude.records.summary import seen_before
from etude.skill import load_skill
from etude.workbench import Given

Rows = list[tuple[str, SkillEvaluation]]
"""A label of the skill, and how it did."""

_COLUMNS = ("skill", "model", "mean", "95% interval", "n", "errors", "calls sent")


def run(args: argparse.Namespace) -> int:
    """Score skills on a split, each with each model, and print means and intervals. Of a folder of skills each is
    compared with none, on its own tasks."""
    folders = skill_folders(args, "evaluate", args.skill or ())
    config = read_settings(args)
    configs = [with_target(config, model, args) for model in args.target] if args.target else [config]
    if folders:
        return measure_folder(args, configs[0], folders, args.trials)
    own = config.skill.path
    skills = [find_arm(text) for text in args.skill or ()]
    skills = skills or [without_skill() if own is None else NamedSkill(own, load_skill(own))]
    _check_evals(skills, args)
    for one in configs:
        build_model(one.target)  # a bad name is reported before the first call
    asked = [(skill, one) for skill in skills for one in configs]
    rows: Rows = []
    arms: list[Arm] = []
    try:
        for skill, one in asked:
            attempts: list[Attempt] = []
            rows.append((skill.label, _evaluate(one, skill, args, attempts if args.evals else None)))
            arms.append(Arm(rows[-1][1], attempts, delivers(skill.skill)))
    except StopRun as stop:
        return _stopped(stop, rows, len(asked), args)
    if len(asked) == 1 and not args.json:
        _print(*rows[0])
    else:
        _print_rows(rows, args)
    if args.evals:
        output.note(f"written: {write_benchmark(arms, Path(args.evals))}")
    return 0


def _check_evals(skills: Sequence[NamedSkill], args: argparse.Namespace) -> None:
    """Raises UsageError: more than a skill and none would be written into one benchmark."""
    arms = [delivers(skill.skill) for skill in skills]
    if args.evals and (len(args.target or ()) > 1 or len(set(arms)) < len(arms)):
        raise UsageError(
            "--evals writes one skill, and none beside it, with one model",
            hint="as in `--skill none --skill first:best --evals results`",
        )


def _stopped(stop: StopRun, rows: Rows, asked: int, args: argparse.Namespace) -> int:
    """The rows that are finished, then why there are no more. Returns the exit code."""
    if rows or args.json:
        _print_rows(rows, args, {"error": stop.message, "hint": stop.hint, "exit_code": stop.exit_code})
    if asked > 1:
        output.note(f"finished: {len(rows)} of {asked} rows")
    output.tell(stop)
    return stop.exit_code


def _print_rows(rows: Rows, args: argparse.Namespace, error: Mapping[str, Any] = {}) -> None:
    """Any number of rows; in JSON what ended them early stands next to them."""
    if args.json:
        found = [{"label": label, **result.model_dump(mode="json")} for label, result in rows]
        output.json_result({"evaluations": found, **error})
        return
    first = rows[0][1]
    trials = "1 trial" if first.trials == 1 else f"{first.trials} trials each"
    table = text_lines([_COLUMNS, *(_row(label, result) for label, result in rows)])
    about = f"{first.split} split, {trials}, {MEANS[first.metric]}"
    output.lines([*table, "", about], simulated=any(result.simulated for _, result in rows))


def with_target(config: TrainConfig, model: str, args: argparse.Namespace) -> TrainConfig:
    """The settings with one of their targets, by its name or its model; or with another one, at the same endpoint,
    and the price was that of the model in the settings."""
    known = next((target for target in config.targets if model in (target.called, target.model)), None)
    if known is not None:
        update = {"target": known.alone, "agent": known.agent or config.agent, "targets": ()}
    else:
        change = {} if model == config.target.model else {"model": model, "price": None}
        update = {"target": config.target.model_copy(update=change), "targets": ()}
    config = config.model_copy(update=update)
    return trusted(config, args, ("target.model",))


def _evaluate(
    config: TrainConfig, skill: NamedSkill, args: argparse.Namespace, attempts: list[Attempt] | None
) -> SkillEvaluation:
    async def work(given: Given) -> SkillEvaluation:
        given["skill"] = skill.skill
        return await aevaluate_skill(config, args.split or "test", args.trials, attempts=attempts, **given)

    return watch(work, args.command)


def _print(label: str, result: SkillEvaluation) -> None:
    if result.simulated:
        output.line(output.SIMULATED, output.LOUD)
    trials = f", {result.trials} trials each" if result.trials > 1 else ""
    name = label if label == without_skill().label else result.skill
    output.line(f"skill   {name} ({result.hash})")
    output.line(f"{result.split:<8}{result.score.shown}  n={result.score.n}{trials}, {MEANS[result.metric]}")
    if result.voids:
        output.line(f"errors  {result.voids} attempts errored; the mean is over the others")
    output.lines(endings(result.ended, 8))
    if result.test_openings > 1:
        output.line(f"test    {seen_before(result.test_openings)}")
    output.line(f"file    {result.file}")


def _row(label: str, result: SkillEvaluation) -> tuple[str, ...]:
    mean, low, high = (f"{value:.3f}" for value in (result.score.mean, result.score.low, result.score.high))
    counts = (str(count) for count in (result.score.n, result.voids, result.calls_sent))
    return label, result.target, mean, f"[{low}, {high}]", *counts
