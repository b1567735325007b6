"""`etude plan`."""

import argparse
from collections.abc import Callable, Iterator, Mapping

from etude.cli import trigger
from etude.cli.scaffold.drafts import most_calls
from etude.cli.settings import read_settings, upcoming
from etude.cli.several import bound, folders_in, suite_of
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.cli.watch import watch
from etude.config import TrainConfig
from etude.errors import InputError
from etude.measure.audit.suite import most_of_audit
from etude.measure.forecast import Forecast, Share, Span
from etude.measure.plan import TRIALS, Plan, aplan
from etude.measure.pruning.prune import most_of_prune
from etude.measure.several import acheck_suites
from etude.readable import counted, duration, money, short, some
from etude.workbench import Given

_SIMULATED = "SIMULATED MODELS: tokens, money and time say nothing about a real model."
_UNKNOWN = "unknown"
_SHOWN = 5
_DRAFTED = 20
"""Tasks that one would have drafted for a skill."""


def run(args: argparse.Namespace) -> int:
    """Print what the run may use, what the tasks can show, and what stands in the way; 0 also with warnings."""
    config = read_settings(args)
    if args.skills is not None:
        return _of_skills(args, config)
    coming = upcoming(config)

    async def work(given: Given) -> Plan:
        if not args.measure:  # warnings stand below the plan; they are said beforehand where something is attempted
            given["sinks"] = []
        return await aplan(coming, measure=args.measure, **given)

    plan = watch(work, args.command)
    if args.json:
        output.json_result(plan)
        return 0
    if plan.simulated:
        output.line(_SIMULATED, output.LOUD)
    output.lines(plan_lines(plan))
    for advice in plan.warnings:
        first, *rest = advice.text.splitlines()
        output.line(f"warning: {first}", "yellow")
        output.lines(f"  {text}" for text in [*rest, *([f"hint: {advice.hint}"] if advice.hint else [])])
    return 0


def _of_skills(args: argparse.Namespace, config: TrainConfig) -> int:
    """Print the most that verbs over a folder of skills ask, with one trial each."""
    folders, unasked = folders_in(args.skills), ""
    try:
        case = trigger.case_of(argparse.Namespace(skill=args.skills, among=None, requests=[], list_as="claude-code"))
    except InputError as error:  # the other verbs may do
        if not folders:
            raise
        case, unasked = None, error.message
    suites = [suite_of(folder) for folder in folders]
    if any(not suite.problem for suite in suites):
        try:
            suites = watch(lambda given: acheck_suites(config, suites, **{**given, "offline": True}), args.command)
        except InputError as error:  # of triggers more may be known
            output.note(error.message)
            suites = []
    if args.json:
        tasks = {suite.name: suite.tasks for suite in suites}
        problems = {suite.name: suite.problem for suite in suites if suite.problem}
        output.json_result({"tasks": tasks, "problems": problems, "requests": len(case.requests) if case else 0})
        return 0
    if suites:
        output.line(f"evaluate, recheck  {bound(config, suites)}")
        most = most_of_audit(sum(suite.tasks for suite in suites))[0]
        output.line(f"audit              at most {most:,} attempts")
        pruned = sum(most_of_prune(suite.tasks) for suite in suites)
        output.line(f"prune              at most {pruned:,} attempts, as a rule ten for each block")
        output.lines(f"  {suite.name}: {suite.problem}" for suite in suites if suite.problem)
    asked = trigger.bound(config, config.agent, len(case.requests)) if case else unasked
    output.line(f"trigger            {asked}")
    if case:
        try:
            said = watch(lambda given: trigger.training_bound(config, case), args.command)
        except InputError as error:
            said = error.message
        output.line(f"trigger --train    {said}")
    drafts, tried = most_calls(_DRAFTED)
    output.line(
        f"init --make-tasks  {_DRAFTED} for a skill: at most {drafts} questions and {tried} to try the criteria"
    )
    return 0


def plan_lines(plan: Plan) -> Iterator[str]:
    """What the run may use, by role; what the splits can show; how much there is to gain."""
    sizes = ", ".join(f"{count:,} {split}" for split, count in plan.tasks.items())
    yield f"run {plan.name!r}: policy {plan.forecast.policy}, {counted(plan.epochs, 'epoch')}; {sizes} tasks"
    yield ""
    yield from _forecast(plan.forecast)
    if plan.usual:
        yield plan.usual
    attempts, asked = plan.audit
    judge = f" and {asked:,} questions to the judge" if asked else ""
    yield f"`etude audit` of a skill on all tasks takes at most {attempts:,} attempts{judge}"
    yield f"`etude prune` takes at most {plan.prune:,}, as a rule ten for each block of the skill"
    yield ""
    yield from _detectable(plan)
    yield ""
    yield from _headroom(plan)


def _forecast(forecast: Forecast) -> Iterator[str]:
    rows = [("", "at most", "tokens", "cost", "time"), ("attempts", f"{forecast.attempts:,}", "", "", "")]
    rows += [_row(f"{role} calls", share) for role, share in forecast.roles.items()]
    yield from text_lines(rows)
    if forecast.limits:
        yield f"limits, for all of it together: {_limits(forecast.limits)}"
    if forecast.roles["target"].calls is None:
        yield "an attempt is one call of the target or more; limits.calls bounds them"
    if any(share.tokens is None for share in forecast.roles.values()):
        bounded = "" if "usd" in forecast.limits else "; limits.usd bounds the cost"
        yield f"unknown: the first calls will tell{bounded}"


def _row(name: str, share: Share) -> tuple[str, ...]:
    calls = _UNKNOWN if share.calls is None else f"{share.calls:,}"
    usd = money(None) if share.tokens and share.usd is None else _range(share.usd, money)
    return name, calls, _range(share.tokens, lambda count: short(int(count))), usd, _range(share.seconds, duration)


def _range(span: Span | None, shown: Callable[[float], str]) -> str:
    return _UNKNOWN if span is None else " to ".join(dict.fromkeys((shown(span.low), shown(span.high))))


def _limits(limits: Mapping[str, float]) -> str:
    return ", ".join(money(most) if name == "usd" else f"{most:,g} {name}" for name, most in limits.items())


def _detectable(plan: Plan) -> Iterator[str]:
    known = "measured" if plan.noise_measured else "assumed"
    how = "paired, significance level 5%, one-sided"
    yield f"smallest gain on tasks like these that 4 of 5 comparisons would detect ({how}):"
    for each in plan.detectable:
        trials = counted(each.trials, "trial")
        gain = "none, there are too few tasks" if each.gain is None else f"{each.gain:+.2f}"
        yield f"  {each.split:<5} {gain}  ({each.tasks:,} tasks, {trials}; noise {plan.noise:.2f} {known})"
    if plan.few:
        yield f"  test: {plan.few}"


def _headroom(plan: Plan) -> Iterator[str]:
    found, tasks = plan.headroom, plan.tasks["val"]
    if found is None:
        yield f"room for improvement: unknown; --measure finds out with {TRIALS * tasks:,} attempts"
        return
    n = found.score.n
    trials = counted(found.trials, "trial")
    yield f"room for improvement: the initial skill scores {found.score.shown} on {n:,} validation tasks, {trials}"
    yield f"  {found.always:,} of {n:,} tasks always pass, {len(found.never):,} never pass"
    if found.never:
        yield f"  never pass: {some(found.never, _SHOWN)}"
    if found.noise is None or found.spread is None:
        yield "  noise: unknown with one trial; --measure makes another"
    else:
        yield (
            f"  noise: {found.noise:.0%} of the tasks come out differently in two trials of the same skill, "
            f"the standard deviation of the mean score is {found.spread:.3f}"
        )
