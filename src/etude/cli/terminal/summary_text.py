"""The result of a run, for people."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.records.answer import Answer, Remark
from etude.records.summary import Summary
from etude.records.tasks import CURES, Ended

_WIDTH = 68
"""Of what stands behind a name, so that nothing wraps at 80 columns."""
_WHOLE = frozenset({"stopped", "best skill", "the other", "to settle"})
"""What is copied, or cut by programs: not broken into lines."""


def print_summary(summary: Summary) -> None:
    """Print it on stdout."""
    output.lines(summary_lines(summary), simulated=summary.simulated and not summary.dry)


def summary_lines(summary: Summary) -> Iterator[str]:
    """The verdict, the scores, what is to be known with them, and what it took."""
    answer = summary.answer
    if not summary.dry:
        yield from _scores(answer)
    yield from (text for line in answer.lines for text in remark_lines(line))
    yield from target_lines(answer.targets)
    yield ""
    yield from (text for line in answer.facts for text in remark_lines(line))


def target_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A column for each of several targets."""
    if rows:
        yield ""
        yield from text_lines([(f"{row[0]:<10}", *row[1:]) for row in rows])


def remark_lines(line: Remark) -> Iterator[str]:
    """A remark behind its name, broken between words unless it is copied whole."""
    text = line.text.replace("; ", "\n") if line.name == "to settle" else line.text
    whole = line.name in _WHOLE
    parts = [part for each in text.splitlines() for part in ([each] if whole else wrap(each, _WIDTH))]
    yield from (f"{line.name if number == 0 else '':<12}{part}" for number, part in enumerate(parts))


def endings(counts: Mapping[Ended, int], width: int) -> Iterator[str]:
    """Replies of the target that did not end by themselves, and what to do about them."""
    for how, count in counts.items():
        yield f"{how:<{width}}{'1 reply' if count == 1 else f'{count:,} replies'}: {CURES[how]}"


def _scores(answer: Answer) -> Iterator[str]:
    if not any(row.initial or row.best for row in answer.scores):
        yield "no skill has been scored yet"
        return
    yield f"{'verdict':<12}{answer.words}"
    if answer.gain is not None:
        yield f"{'test gain':<12}{answer.gain.shown_change}  paired, n={answer.gain.n}"
    yield f"{'score':<12}{'initial':<17}    {'best':<17}  ({answer.about})"
    for row in answer.scores:
        n = "/".join(map(str, sorted({each.n for each in (row.initial, row.best) if each is not None})))
        old, new = ("not measured" if each is None else each.shown for each in (row.initial, row.best))
        yield f"{row.name:<12}{old:<17} -> {new:<17}  n={n}"
