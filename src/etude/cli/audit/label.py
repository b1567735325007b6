"""Asking a person which answers pass, without telling what the judge said."""

import random
import sys
from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path

from etude.cli.terminal import output
from etude.measure.audit.suite import Audit, JudgedAnswer
from etude.readable import counted
from etude.records import digest
from etude.store.judge_labels import Label, keep_labels, labels_of


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
