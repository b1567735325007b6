"""Retirement: rules that earlier nights wrote are left out on trial, and those that nothing misses are taken out.

A block that only grows costs tokens in every conversation, and what once helped may be said by another rule by now,
or be known to a later model. Texts that a person wrote are never touched.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from etude.sleep.adoption.rules import BY_HAND, Rule, Trial, active, block_of, lineage, revised
from etude.sleep.adoption.structure import plain
from etude.sleep.config import SleepConfig
from etude.sleep.improve.alone import each_left_out, left_out
from etude.sleep.improve.changes import DocumentOutcome, Place
from etude.sleep.improve.consolidate import Consolidation, each_change
from etude.sleep.improve.context import Documents
from etude.sleep.improve.groups import DocumentGroup
from etude.sleep.limits import within
from etude.sleep.report import Spent
from etude.sleep.tasks.mined import MinedTask, original_id
from etude.workbench import Given

_QUOTED = 80
"""Most characters of a rule that a reason has."""


class Standing(NamedTuple):
    """What is known of the rules of a document."""

    rules: Sequence[Rule] = ()
    """As they were last adopted, the retired ones too."""
    tried: Mapping[str, int] = MappingProxyType({})
    """The night of the last trial of each, by id."""
    tasks: Sequence[MinedTask] = ()
    """Of earlier nights."""
    wanted: frozenset[str] = frozenset()
    """Ids of rules that a person wants to keep."""


async def pruned(
    config: SleepConfig, group: DocumentGroup, result: Consolidation, known: Mapping[Place, Standing], given: Given
) -> Consolidation:
    """The documents without the rules that nothing misses: at most `sleep.retire` of each are left out, one after the
    other as they are due. The tasks that a rule rests on and all held-out ones are attempted again with and without
    it, `sleep.confirm_trials` times: it goes when each task has a score and none a lower one without it. A document
    with an untried or unsettled candidate is left as it is."""

    async def work(change: DocumentOutcome, documents: Documents, used: Spent) -> DocumentOutcome:
        if change.status in ("unverified", "inconclusive"):
            return change
        there = known[change.place]
        there = there._replace(rules=revised(there.rules, block_of(change.before.text), BY_HAND))
        return await _tried(within(config, used), group, change, documents, there, given)

    return await each_change(result, group.run, "retire", work)


def due(known: Standing) -> tuple[Rule, ...]:
    """The rules that nights wrote and that stand in the document, in the order in which they are left out: those that
    were never tried, then those whose last trial is longest ago; of these the oldest first, of one night in their
    order. A reworded rule is as old, and was tried as lately, as what it said before. Never what a person wrote, also
    where a night reworded it, nor what a person has put back."""
    past = {rule.id: lineage(rule, known.rules) for rule in active(known.rules)}
    ours = [
        rule
        for rule in active(known.rules)
        if rule.id not in known.wanted and all(one.night != BY_HAND and not one.ablation for one in past[rule.id])
    ]

    def order(rule: Rule) -> tuple[int, str]:
        last = max(known.tried.get(one.id, 0) for one in past[rule.id])
        return last, min(one.night for one in past[rule.id])

    return tuple(sorted(ours, key=order))


async def _tried(
    config: SleepConfig,
    group: DocumentGroup,
    change: DocumentOutcome,
    documents: Documents,
    known: Standing,
    given: Given,
) -> DocumentOutcome:
    """The change with what the trials found; its comparison is one of the candidate only."""
    run = config.for_run(group.run, f"retire-{change.place}")
    document = change.after if change.proposed else change.before
    standing = (rule for rule in due(known) if left_out(document, known.rules, rule.id) is not None)
    rules = [(rule, tasks) for rule in standing if (tasks := _tasks(rule, group, known))][: config.sleep.retire]
    there = documents.with_document(change.place, document)
    document, tried = await each_left_out(config, run, there, change.place, rules, given)
    stays = [_stays(one.rule, one.tasks, one.trial) for one in tried if one.stays]
    fresh = f"fresh attempts at each with and without it: {config.sleep.confirm_trials}; none does worse without"
    retired = {one.rule.id: f"{one.tasks} tasks, {fresh}" for one in tried if not one.stays}
    gone = [f"rules retired, which nothing misses: {len(retired)}"] if retired else []
    update: dict[str, object] = {
        "left_out": tuple(one.rule.id for one in tried),
        "reason": "; ".join([change.reason, *stays, *gone]),
    }
    if retired:
        update |= {"after": document, "retired": retired}
    if retired and not change.proposed:
        update |= {"confirmed": None, "fresh": None, "status": "accepted", "proposed": True}
    return change.model_copy(update=update)


def _stays(rule: Rule, tasks: int, trial: Trial) -> str:
    """Why a rule that was left out on trial stays, for people."""
    missed, unscored = plain(", ".join(trial.missed), _QUOTED), tasks - trial.tasks
    why = f"{len(trial.missed)} of {tasks} tasks do worse without it ({missed})" if missed else ""
    void = f"attempts at {unscored} of {tasks} tasks errored" if unscored else ""
    return f"left out on trial: {plain(rule.text, _QUOTED)!r}, {', '.join(filter(None, (why, void)))}: stays"


def _tasks(rule: Rule, group: DocumentGroup, known: Standing) -> tuple[MinedTask, ...]:
    """What a rule is tried on, as held-out tasks; none where nothing that it rests on can be attempted any more."""
    real = {task.id: task for task in known.tasks if task.origin == "real" and not task.tools}
    real |= {task.id: task for task in group.tasks if task.origin == "real"}
    # What rests on a rewording or a recalled task rests on the one it is derived from, by its id.
    named = {original_id(name) for one in lineage(rule, known.rules) for name in one.evidence.tasks}
    behind = {name: real[name] for name in named & real.keys() if real[name].split != "test"}
    if named and not behind:
        return ()
    behind |= {task.id: task for task in group.tasks if task.split == "val"}
    return tuple(behind[name].model_copy(update={"split": "val"}) for name in sorted(behind))
