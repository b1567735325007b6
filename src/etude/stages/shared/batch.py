"""The attempts of a step as a whole: how many failed, what was expected and what was given, and how often."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from etude.envs.splits import fold
from etude.records import Attempt, Tally
from etude.stages.shared.render import fence

_FEEDBACK = re.compile(r"\bexpected: (?P<expected>.*?)(?:; got: (?P<given>.*))?$", re.DOTALL | re.IGNORECASE)
"""How the scorers say what was expected, and what came instead."""
_LONGEST = 40
"""Characters of an answer that can stand in a table."""
_LABELS = 12
"""Most different right answers that are taken for labels."""
_GIVEN = 5
"""Most different answers in a row of the table, and most rows of answers that are no labels."""
_STEPS = 12
"""Most earlier steps of which the score is shown."""
_NOTHING = "(nothing)"


class AnswerPair(NamedTuple):
    """What was right and what an attempt gave, each on one line. What is right is known where feedback told it, or
    the answer was right; else it is None."""

    expected: str | None
    given: str


def answered(attempt: Attempt) -> AnswerPair:
    """What an attempt gave, as far as it is compared."""
    answer = " ".join(attempt.trajectory.answer.split()) or _NOTHING
    if attempt.solved:
        gold = attempt.task.gold
        golds = gold if isinstance(gold, list) else [gold]
        right = (" ".join(str(one).split()) for one in golds if fold(str(one)) == fold(answer))
        return AnswerPair(next(right, None), answer)
    told = attempt.score.feedback if attempt.score is not None else ""
    if (found := _FEEDBACK.search(told)) is not None:
        given = " ".join((found["given"] or "").split())
        short = answer if answer == _NOTHING or not given or given.startswith(answer) else given.partition("; ")[0]
        return AnswerPair(" ".join(found["expected"].split()), short)
    return AnswerPair(None, answer)


def spread(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts in another order: of each that gave the same where the same was expected first one, then the
    second one, and so on. So the first few differ as far as they can."""
    seen: Counter[AnswerPair] = Counter()
    turns: list[int] = []
    for attempt in attempts:
        pair = answered(attempt)
        turns.append(seen[pair])
        seen[pair] += 1
    return [attempts[index] for index in sorted(range(len(attempts)), key=lambda index: turns[index])]


def batch_block(batch: Sequence[Attempt], earlier: Mapping[str, Attempt], tallies: Sequence[Tally] = ()) -> str:
    """How many attempts of a step failed, how many in the steps before, and the table of what was expected and given.

    Args:
        earlier: other attempts, of which only the right answers count: where they are labels, all are named.
    """
    scored = [attempt for attempt in batch if attempt.score is not None]
    if not scored:
        return ""
    lines = [f"# All attempts of this step\n\n{_failed(scored)}"]
    if tallies:
        moved = ", ".join(f"{tally.solved}/{tally.attempted}" for tally in tallies[-_STEPS:])
        lines.append(f"Solved in the steps before: {moved}.")
    table = _table(scored, earlier)
    return " ".join(lines) + (f" {table}" if table else "")


def _failed(attempts: Sequence[Attempt]) -> str:
    def share(some: Sequence[Attempt]) -> str:
        return f"{sum(not attempt.solved for attempt in some)} of {len(some)}"

    kinds = sorted({attempt.task.type for attempt in attempts})
    each = [f"{json.dumps(kind)} {share([a for a in attempts if a.task.type == kind])}" for kind in kinds if kind]
    return f"{share(attempts)} attempts failed" + (f" ({', '.join(each)})." if 1 < len(kinds) <= _LABELS else ".")


def _table(batch: Sequence[Attempt], earlier: Mapping[str, Attempt]) -> str:
    others = [attempt for name, attempt in earlier.items() if name not in {a.task.id for a in batch}]
    every = _in_one_spelling([*batch, *others])
    pairs = every[: len(batch)]
    known = [pair.expected for pair in every if pair.expected is not None]
    labels = set(known)
    if labels and len(labels) <= _LABELS and 2 * len(labels) <= len(known) and max(map(len, labels)) <= _LONGEST:
        rows = _rows((pair.expected, pair.given) for pair in pairs if pair.expected is not None)
        rows += [f"{label}: not among these" for label in sorted(labels - {pair.expected for pair in pairs})]
        return "Expected answer, its count, and what was given:\n\n" + fence("table", "\n".join(rows))
    failed = [pair for pair, attempt in zip(pairs, batch, strict=True) if not attempt.solved]
    counts = Counter(pair.given for pair in failed)
    several = [pair for pair in failed if counts[pair.given] > 1]
    rows = _rows((pair.given, pair.expected or "(unknown)") for pair in several)[:_GIVEN]
    shown = fence("table", "\n".join(rows))
    return f"Given by several failed attempts, and what was expected:\n\n{shown}" if rows else ""


def _in_one_spelling(attempts: Sequence[Attempt]) -> list[AnswerPair]:
    """What they gave. Answers that differ in case alone are one, unless that is why an attempt failed."""
    pairs = [answered(attempt) for attempt in attempts]
    texts = [*(pair.expected or "" for pair in pairs), *(pair.given for pair in pairs)]
    first = {fold(text): text for text in reversed(texts)}
    found = [AnswerPair(one and first[fold(one)], first[fold(other)]) for one, other in pairs]
    apart = any(not attempt.solved and len({*pair}) == 1 for attempt, pair in zip(attempts, found, strict=True))
    return pairs if apart else found


def _rows(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each different first part, the most frequent ones first, with the second parts and their counts."""
    groups: dict[str, Counter[str]] = {}
    for first, second in pairs:
        groups.setdefault(first, Counter())[_short(second)] += 1
    order = sorted(groups.items(), key=lambda group: (-group[1].total(), group[0]))
    return [f"{_short(first)} {counts.total()}: {_counted(counts)}" for first, counts in order]


def _counted(counts: Counter[str]) -> str:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    more = len(ranked) - _GIVEN
    shown = ", ".join(f"{text} {count}" for text, count in ranked[:_GIVEN])
    return f"{shown} and {more} others" if more > 0 else shown


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
