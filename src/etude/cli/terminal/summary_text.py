"""The result of a run, for people."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from etude.cli.terminal import output
from etude.cli.terminal.tables import text_lines
from etude.progress import duration, money, short
from etude.records.summary import Cost, Interval, OfTarget, Settle, Summary

_WIDTH = 68
"""Of what stands behind a name, so that nothing wraps at 80 columns."""


def print_summary(summary: Summary) -> None:
    """Print it on stdout."""
    output.lines(summary_lines(summary), simulated=summary.simulated and not summary.dry)


def summary_lines(summary: Summary) -> Iterator[str]:
    """Scores, what the steps came to, costs and the place of the best skill."""
    initial, best = summary.initial, summary.best
    if summary.dry:
        yield from _plumbing(summary)
        return
    yield from _scores(summary)
    if summary.withheld:
        yield f"{summary.withheld_why}: the best skill is the initial one"
        yield f"the other   {Path(summary.folder) / summary.withheld}"
    elif initial.hash == best.hash and best.val is not None:
        yield "no candidate scored higher: the best skill is the initial one"
    for doubt in summary.doubts:
        yield from _wrapped("doubtful", doubt.text)
    yield ""
    yield (
        f"steps       {summary.steps}; candidates: {summary.accepted} accepted, {summary.rejected} rejected, "
        f"{summary.skipped} skipped"
    )
    if summary.missed_edits:
        yield f"edits       {summary.missed_edits} could not be located in the skill"
    if summary.repaired_cites or summary.uncited:
        yield (
            f"citations   {summary.repaired_cites} repaired; {summary.uncited} proposals cited no attempt, so they "
            "count for all failures that their analysis was shown"
        )
    if summary.voids:
        yield f"errors      {summary.voids} attempts errored; they count neither as solved nor as failed"
    if summary.noise is not None and summary.noise.note:
        yield from _wrapped("noise", summary.noise.note)
    yield f"calls       {_calls(summary.cost)}"
    yield f"tokens      {_tokens(summary.cost)}"
    yield f"cost        {money(summary.cost.usd)}"
    yield f"time        {duration(summary.cost.wall_seconds)}"
    if summary.stopped is not None:
        yield f"stopped     {summary.stopped}"
    if best.val is not None or best.hash != initial.hash:
        yield f"best skill  {Path(summary.folder) / best.skill}"


def _plumbing(summary: Summary) -> Iterator[str]:
    """What a dry run shows: nothing about skills or models."""
    if summary.stopped is not None:
        yield f"stopped     {summary.stopped}"
    elif summary.voids:
        yield f"errors      {summary.voids} attempts errored: `{output.program()} show {summary.folder}` shows them"
    else:
        yield "the plumbing works: tasks are read, attempted and scored, the optimizer is asked, files are written"
    yield f"calls       {_calls(summary.cost)}"
    yield f"time        {duration(summary.cost.wall_seconds)}"
    yield f"folder      {summary.folder}"


def score(interval: Interval) -> str:
    """Mean and 95% interval, as in `0.86 [0.77, 0.92]`."""
    return interval.shown


def settle_lines(settle: Settle) -> Iterator[str]:
    """What would settle an inconclusive comparison."""
    for number, part in enumerate(settle.note.split("; ")):
        yield f"{'to settle' if number == 0 else '':<12}{part}"


def _wrapped(name: str, text: str) -> Iterator[str]:
    parts = [part for line in text.splitlines() for part in wrap(line, _WIDTH)]
    yield from (f"{name if number == 0 else '':<12}{part}" for number, part in enumerate(parts))


def _scores(summary: Summary) -> Iterator[str]:
    initial, best = summary.initial, summary.best
    if best.val is None and initial.val is None:
        yield "no skill has been scored yet"
        return
    yield f"{'score':<12}{'initial':<17}    {'best':<17}  (mean {summary.metric}, 95% interval)"
    yield _row("validation", initial.val, best.val)
    if initial.val is not None and initial.hash != best.hash:
        yield f"{'':12}best was chosen by this score, so it tends to be too high"
    if initial.test is not None or best.test is not None:
        yield _row("test", initial.test, best.test)
    else:
        yield f"{'test':<12}not measured"
    gain = summary.test_gain
    if gain is not None and initial.hash != best.hash:
        yield f"{'test gain':<12}{gain.shown_change}  paired, n={gain.n}"
    if summary.verdict is not None and initial.hash != best.hash:
        yield f"{'verdict':<12}{summary.verdict}"
    if summary.settle is not None:
        yield from settle_lines(summary.settle)
    yield from _worth(summary)
    if initial.hash != best.hash:
        yield from target_lines(summary.targets, () if summary.no_skill is None else summary.no_skill.targets)
    if best.loaded is not None:
        count = f"{best.loaded.attempts} of {best.loaded.of}"
        yield f"{'loaded':<12}the program opened the best skill in {count} test attempts"
    if summary.test_openings > 1:
        yield f"{'test split':<12}{seen_before(summary.test_openings)}"


def _worth(summary: Summary) -> Iterator[str]:
    """What the best skill is worth against none."""
    if summary.no_skill is None:
        return
    without, gain = summary.no_skill.score.mean, summary.no_skill.gain
    both = f"without {without:.2f}, with the best skill {without + gain.mean:.2f}"
    yield f"{'no skill':<12}{both}: {gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]"
    if gain.low <= 0:
        yield f"{'':12}the test does not show that the skill helps"


def target_lines(
    targets: Sequence[OfTarget], no_skill: Sequence[OfTarget] = (), skills: tuple[str, str] = ("initial", "best")
) -> Iterator[str]:
    """A column for each of several targets."""
    if not targets:
        return
    rows = [
        ("", *(each.target for each in targets)),
        (skills[0], *(each.a.shown for each in targets)),
        (skills[1], *(each.b.shown for each in targets)),
        ("gain", *(each.difference.shown_change for each in targets)),
        ("verdict", *(each.verdict for each in targets)),
    ]
    if no_skill:
        rows.insert(1, ("no skill", *(each.a.shown for each in no_skill)))
        rows.insert(-1, ("over none", *(each.difference.shown_change for each in no_skill)))
    yield ""
    yield from text_lines([(f"{row[0]:<10}", *row[1:]) for row in rows])


def seen_before(openings: int) -> str:
    """That the test split is not unseen any more."""
    return f"scored {openings} times in this run: a skill that is chosen by these scores has no unseen test left"


def _row(name: str, before: Interval | None, after: Interval | None) -> str:
    counts = sorted({interval.n for interval in (before, after) if interval is not None})
    n = "/".join(map(str, counts))
    old, new = ("not measured" if interval is None else score(interval) for interval in (before, after))
    return f"{name:<12}{old:<17} -> {new:<17}  n={n}"


def _calls(cost: Cost) -> str:
    parts = [f"{cost.target_calls:,} target", f"{cost.optimizer_calls:,} optimizer"]
    if cost.judge_calls:
        parts.append(f"{cost.judge_calls:,} judge")
    return ", ".join(parts)


def _tokens(cost: Cost) -> str:
    parts: list[str] = []
    for role, usage in cost.tokens.items():
        cached = f" ({short(usage.cached_tokens)} cached)" if usage.cached_tokens else ""
        parts.append(f"{role} {short(usage.input_tokens)} in{cached} + {short(usage.output_tokens)} out")
    return ", ".join(parts) or "none"
