"""`etude plan`."""

import argparse
from collections.abc import Callable, Iterator

from etude.cli.settings import read_settings
from etude.cli.terminal import output
from etude.cli.terminal.summary_text import score
from etude.cli.terminal.tables import text_lines
from etude.cli.watch import watch
from etude.measure.forecast import Forecast, Used
from etude.measure.headroom import TRIALS
from etude.measure.plan import Plan, aplan
from etude.progress import counted, duration, money, short
from etude.records.summary import Span

_SIMULATED = "SIMULATED MODELS: tokens, money and time say nothing about a real model."
_SHOWN = 5


def run(args: argparse.Namespace) -> int:
    """Print the forecast, what the tasks can show, and what stands in the way; 0 also with warnings."""
    config = read_settings(args)
    plan = watch(lambda given: aplan(config, measure=args.measure, **given), args.command)
    if args.json:
        output.json_result(plan.model_dump(mode="json"))
        return 0
    if plan.simulated:
        output.line(_SIMULATED, output.LOUD)
    output.lines(plan_lines(plan))
    for advice in plan.warnings:
        first, *rest = advice.text.splitlines()
        output.line(f"warning: {first}", "yellow")
        output.lines(f"  {text}" for text in [*rest, *([f"hint: {advice.hint}"] if advice.hint else [])])
    return 0


def plan_lines(plan: Plan) -> Iterator[str]:
    """What the run will use, by role and by stage; what the splits can show; how much there is to gain."""
    sizes = ", ".join(f"{count:,} {split}" for split, count in plan.tasks.items())
    yield f"run {plan.name!r}: policy {plan.forecast.policy}, {counted(plan.epochs, 'epoch')}; {sizes} tasks"
    yield ""
    yield from _forecast(plan.forecast)
    yield ""
    yield "these rest on:"
    yield from (f"  {text}" for text in plan.forecast.assumptions)
    yield ""
    yield from _detectable(plan)
    yield ""
    yield from _headroom(plan)


def _forecast(forecast: Forecast) -> Iterator[str]:
    rows = [("", "at least", "at most")]
    roles = [("target calls", forecast.target_calls), ("optimizer calls", forecast.optimizer_calls)]
    if forecast.judge_calls.high:
        roles.append(("judge calls", forecast.judge_calls))
    rows += [(name, f"{each.low:,}", f"{each.high:,}") for name, each in roles]
    rows += [(name, *_ends(span, show)) for name, span, show in _spent(forecast)]
    yield from text_lines(rows)
    yield ""
    table: list[tuple[str, ...]] = [("stage", "attempts", "optimizer calls", "tokens", "cost", "time")]
    for stage in forecast.stages:
        spent = (" to ".join(dict.fromkeys(filter(None, _ends(span, show)))) for _, span, show in _spent(stage))
        table.append((stage.name, stage.attempts.shown, stage.optimizer_calls.shown, *spent))
    yield from text_lines(table)


def _spent(used: Used) -> list[tuple[str, Span | None, Callable[[float], str]]]:
    return [
        ("tokens", used.tokens, lambda count: short(int(count))),
        ("cost", used.usd, money),
        ("time", used.seconds, duration),
    ]


def _ends(span: Span | None, show: Callable[[float], str]) -> tuple[str, str]:
    return (money(None), "") if span is None else (show(span.low), show(span.high))


def _detectable(plan: Plan) -> Iterator[str]:
    known = "measured" if plan.noise_measured else "assumed"
    yield "smallest gain that 4 of 5 comparisons would detect (paired, significance level 5%, one-sided):"
    for each in plan.detectable:
        trials = counted(each.trials, "trial")
        gain = "none, there are too few tasks" if each.gain is None else f"{each.gain:+.2f}"
        yield f"  {each.split:<5} {gain}  ({each.tasks:,} tasks, {trials}; noise {plan.noise:.2f} {known})"


def _headroom(plan: Plan) -> Iterator[str]:
    found, tasks = plan.headroom, plan.tasks["val"]
    if found is None:
        baseline = any(stage.name == "baseline" for stage in plan.forecast.stages)
        reused = f", {tasks:,} of which the run reuses" if baseline else ""
        yield f"room for improvement: unknown; --measure finds out with {TRIALS * tasks:,} attempts{reused}"
        return
    n = found.score.n
    trials = counted(found.trials, "trial")
    yield f"room for improvement: the initial skill scores {score(found.score)} on {n:,} validation tasks, {trials}"
    yield f"  {found.always:,} of {n:,} tasks always pass, {len(found.never):,} never pass"
    if found.never:
        more = f" and {len(found.never) - _SHOWN:,} more" if len(found.never) > _SHOWN else ""
        yield f"  never pass: {', '.join(found.never[:_SHOWN])}{more}"
    if found.noise is None or found.spread is None:
        yield "  noise: unknown with one trial; --measure makes another"
    else:
        yield (
            f"  noise: {found.noise:.0%} of the tasks come out differently in two trials of the same skill, "
            f"the standard deviation of the mean score is {found.spread:.3f}"
        )
