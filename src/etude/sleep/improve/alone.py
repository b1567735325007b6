"""Evidence for each rule: of several new rules each is left out once, and stays only if a task does worse without it.

A candidate is accepted as a whole, so that a rule that does nothing, or that a page in a transcript asked for, could
come in beside a good one and be credited with what that one did.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from etude.config import TrainConfig
from etude.measure.compare import compare_alike
from etude.records import Skill
from etude.records.summary import Comparison
from etude.sleep.adoption.rules import (
    BY_HAND,
    Rule,
    Trial,
    active,
    block_of,
    render,
    revised,
    said,
    with_block,
    without,
)
from etude.sleep.config import SleepConfig
from etude.sleep.improve.changes import DocumentOutcome, Place
from etude.sleep.improve.consolidate import Consolidation, each_change, parts_of
from etude.sleep.improve.context import Documents
from etude.sleep.improve.groups import DocumentGroup
from etude.sleep.limits import within
from etude.sleep.report import Spent
from etude.sleep.tasks.mined import MinedTask
from etude.workbench import Given

_RIGHT = 0.5


async def each_alone(config: SleepConfig, group: DocumentGroup, result: Consolidation, given: Given) -> Consolidation:
    """The accepted documents without the new rules that nothing misses, and what was measured of each rule that
    stays. A rule is tried on the held-out tasks and on those that are trained on, in fresh attempts,
    `sleep.confirm_trials` of each. Where fresh attempts are not asked for, nothing is measured."""

    async def work(change: DocumentOutcome, documents: Documents, used: Spent) -> DocumentOutcome:
        if change.status != "accepted" or change.confirmed is None:
            return change
        return await _tried(within(config, used), group, change, documents, given)

    return await each_change(result, group.run, "alone", work)


class LeftOut(NamedTuple):
    """A rule that was left out on trial."""

    rule: Rule
    tasks: int
    """On which it was tried."""
    trial: Trial

    @property
    def stays(self) -> bool:
        """A task does worse without it, or has no score: where an attempt errored nothing is known against it."""
        return bool(self.trial.missed) or self.trial.tasks < self.tasks


async def each_left_out(
    config: SleepConfig,
    run: TrainConfig,
    documents: Documents,
    place: Place,
    rules: Sequence[tuple[Rule, Sequence[MinedTask]]],
    given: Given,
) -> tuple[Skill, list[LeftOut]]:
    """One of the documents without those of its rules that nothing misses: each is left out, one after the other, and
    goes where all of its tasks, in fresh attempts with and without it, have a score and none a lower one without."""
    document, tried = documents.at(place), list[LeftOut]()
    assert document is not None
    for rule, tasks in rules:
        shorter = left_out(document, [one for one, _ in rules], rule.id)
        if shorter is None:  # another one says the same, and was left out in its place
            continue
        parts = parts_of(config, tasks, documents.with_document(place, document), place, given)
        found = await compare_alike(run, shorter, document, config.sleep.confirm_trials, parts)
        tried.append(LeftOut(rule, len(tasks), trial_of(found)))
        document = document if tried[-1].stays else shorter
    return document, tried


async def _tried(
    config: SleepConfig, group: DocumentGroup, change: DocumentOutcome, documents: Documents, given: Given
) -> DocumentOutcome:
    rules = new_rules(change.before, change.after)
    assert change.confirmed is not None
    if len(rules) < 2:  # the fresh attempts that confirm the candidate are those with and without it
        return change.model_copy(update={"alone": {said(rule.text): trial_of(change.confirmed) for rule in rules}})
    run, tasks = config.for_run(group.run, f"alone-{change.place}"), _tasks(group.tasks)
    there = documents.with_document(change.place, change.after)
    document, tried = await each_left_out(config, run, there, change.place, [(rule, tasks) for rule in rules], given)
    alone = {said(one.rule.text): one.trial for one in tried if one.stays}
    idle = len(tried) - len(alone)
    if not idle:
        return change.model_copy(update={"alone": alone})
    left = f"{idle} of {len(rules)} new rules taken out again: no task does worse without them"
    if not alone:
        lost = {
            "status": "rejected",
            "proposed": False,
            "after": change.before,
            "held_out": change.held_out.judged(False),
        }
        return change.model_copy(update={**lost, "reason": left})
    return change.model_copy(update={"after": document, "alone": alone, "reason": f"{change.reason}; {left}"})


def new_rules(before: Skill, after: Skill) -> tuple[Rule, ...]:
    """The rules in the block of a document that were not there before, in their order."""
    known = revised((), block_of(before.text), BY_HAND)
    there = {rule.id for rule in known}
    return tuple(rule for rule in active(revised(known, block_of(after.text), "tonight")) if rule.id not in there)


def trial_of(found: Comparison) -> Trial:
    """What a comparison of a document without a rule (A) and with it (B) says of the rule."""
    right = [(fmean(one.a) > _RIGHT, fmean(one.b) > _RIGHT) for one in found.tried]
    return Trial(
        tasks=len(right),
        without=sum(a for a, _ in right),
        with_it=sum(b for _, b in right),
        missed=tuple(flip.task for flip in found.gained),
    )


def left_out(document: Skill, rules: Sequence[Rule], rule: str) -> Skill | None:
    """The document without a rule, by its id; None where it does not stand there."""
    there = active(revised(rules, block_of(document.text), BY_HAND))
    if all(one.id != rule for one in there):
        return None
    return document.with_text(with_block(document.text, render(without(there, [rule]))))


def _tasks(tasks: Sequence[MinedTask]) -> tuple[MinedTask, ...]:
    """Those of the night, as held-out tasks; none of the test."""
    real = (task for task in tasks if task.origin == "real" and task.split != "test")
    return tuple(task.model_copy(update={"split": "val"}) for task in real)
