"""Evidence for each new rule: of several each is left out once, and stays only if a task does worse without it.

A candidate is accepted as a whole, so that a rule that does nothing, or that a page in a transcript asked for, could
come in beside a good one and be credited with what that one did.
"""

from statistics import fmean

from etude.measure.compare import compare_alike
from etude.records import Skill
from etude.records.summary import Comparison
from etude.sleep.adoption.rules import Rule, Trial, active, rules_in, said, with_rules, without
from etude.sleep.config import SleepConfig
from etude.sleep.improve.changes import DocumentOutcome
from etude.sleep.improve.consolidate import Consolidation, parts_of
from etude.sleep.improve.context import Documents
from etude.sleep.improve.groups import DocumentGroup
from etude.sleep.limits import spent_in, within
from etude.sleep.report import Spent
from etude.workbench import Given

_RIGHT = 0.5


async def without_idle_rules(
    config: SleepConfig, group: DocumentGroup, result: Consolidation, given: Given
) -> Consolidation:
    """The accepted documents without the new rules that nothing misses, and what was measured of each that stays. A
    rule is tried on the held-out tasks and on those that are trained on, in fresh attempts with and without it,
    `sleep.confirm_trials` of each. Where fresh attempts are not asked for, nothing is measured."""
    documents, changes, used = result.documents, list[DocumentOutcome](), Spent()
    for change in result.changes:
        if change.status == "accepted" and change.confirmed is not None:
            change = await _tried(within(config, used), group, change, documents, given)
            documents = documents.with_document(change.place, change.after)
        spent = spent_in(group.run / f"left-out-{change.place}")
        changes.append(change.model_copy(update={"spent": change.spent + spent}))
        used += spent
    return Consolidation(changes=tuple(changes), documents=documents)


def new_rules(before: Skill, after: Skill) -> tuple[Rule, ...]:
    """The rules in the block of a document that were not there before, in their order."""
    known = rules_in(before.text)
    there = {rule.id for rule in known}
    return tuple(rule for rule in active(rules_in(after.text, known, "tonight")) if rule.id not in there)


async def _tried(
    config: SleepConfig, group: DocumentGroup, change: DocumentOutcome, documents: Documents, given: Given
) -> DocumentOutcome:
    rules, place = new_rules(change.before, change.after), change.place
    assert change.confirmed is not None
    if len(rules) < 2:  # the fresh attempts that confirm the candidate are those with and without it
        found = {said(rule.text): _trial(change.confirmed, config) for rule in rules}
        return change.model_copy(update={"alone": found})
    real = (task for task in group.tasks if task.origin == "real" and task.split != "test")
    tasks = tuple(task.model_copy(update={"split": "val"}) for task in real)
    run, document, alone = config.for_run(group.run, f"left-out-{place}"), change.after, dict[str, Trial]()
    for rule in rules:
        shorter = _left_out(document, rule)
        if shorter is None:  # another one says the same, and was left out in its place
            continue
        parts = parts_of(config, tasks, documents.with_document(place, document), place, given)
        trial = _trial(await compare_alike(run, shorter, document, config.sleep.confirm_trials, parts), config)
        if trial.missed or trial.tasks < len(tasks):  # where an attempt errored nothing is known against it
            alone[said(rule.text)] = trial
        else:
            document = shorter
    idle = len(rules) - len(alone)
    left = f"{idle} of {len(rules)} new rules taken out again: no task does worse without them"
    if not alone:
        update = {"status": "rejected", "proposed": False, "after": change.before, "reason": left}
        return change.model_copy(update=update)
    reason = f"{change.reason}; {left}" if idle else change.reason
    return change.model_copy(update={"after": document, "alone": alone, "reason": reason})


def _trial(found: Comparison, config: SleepConfig) -> Trial:
    """What a comparison of a document without a rule (A) and with it (B) says of the rule."""
    right = [(fmean(one.a) > _RIGHT, fmean(one.b) > _RIGHT) for one in found.tried]
    return Trial(
        tasks=len(right),
        without=sum(a for a, _ in right),
        with_it=sum(b for _, b in right),
        missed=tuple(flip.task for flip in found.gained),
        delivered=config.delivers,
    )


def _left_out(document: Skill, rule: Rule) -> Skill | None:
    """The document without a rule; None where it does not stand there."""
    there = active(rules_in(document.text, [rule]))
    if all(one.id != rule.id for one in there):
        return None
    return document.with_text(with_rules(document.text, without(there, [rule.id])))
