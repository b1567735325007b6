"""Retirement: rules that earlier nights wrote are left out on trial, and those that nothing misses are taken out.

A block that only grows costs tokens in every conversation, and what once helped may be said by another rule by now,
or be known to a later model. Texts that a person wrote are never touched.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from etude.measure.compare import acompare_skills
from etude.records import Skill
from etude.sleep.adoption.adopt import kept_rules, receipts
from etude.sleep.adoption.rules import BY_HAND, Rule, active, lineage, render, revised, without
from etude.sleep.adoption.structure import plain
from etude.sleep.config import SleepConfig
from etude.sleep.improve.block import block_of, with_block
from etude.sleep.improve.changes import Change, LeftOut, Place, RuleTrial
from etude.sleep.improve.consolidate import Consolidation, in_context, with_judge
from etude.sleep.improve.context import Documents
from etude.sleep.limits import Spent, spent_in, within
from etude.sleep.tasks.mined import MinedTask, original_id
from etude.workbench import Given

__all__ = ["Pruning", "Standing", "due", "left_out", "pruned", "standing"]


_QUOTED = 80
"""Most characters of a rule that a reason has."""


class Standing(NamedTuple):
    """What is known of the rules of a document."""

    rules: Sequence[Rule] = ()
    """As they were last adopted, the retired ones too."""
    tried: Mapping[str, RuleTrial] = MappingProxyType({})
    """The last trial of each, by id."""
    put_back: Collection[str] = ()
    """Ids of those whose removal was adopted: where one stands all the same, a person wants it."""


class Pruning(NamedTuple):
    """What rules are tried on."""

    config: SleepConfig
    """Its limits are what is left of the night's."""
    folder: Path
    """The run folders `retire-skill` and `retire-memory` are below it."""
    tasks: Sequence[MinedTask]
    """Of the night."""
    earlier: Sequence[MinedTask]
    """Of nights before."""
    rules: Mapping[Place, Standing]
    """Of each document."""


class _Pruned(NamedTuple):
    """A document without the rules that nothing misses."""

    document: Skill
    measured: Mapping[str, str]
    tried: tuple[LeftOut, ...] = ()
    """All that were left out."""


def standing(state: Path, real: str, tried: Mapping[str, RuleTrial]) -> Standing:
    """What is known of the rules of a document, by its real path.

    Raises:
        EtudeError: rules or receipts cannot be read.
    """
    adopted = {one.night for one in receipts(state) if any(each.real == real for each in one.documents)}
    put_back = {rule for rule, trial in tried.items() if trial.retired and f"{trial.night:04d}" in adopted}
    return Standing(kept_rules(state).documents.get(real, ()), tried, put_back)


async def pruned(work: Pruning, result: Consolidation, given: Given) -> Consolidation:
    """The documents without the rules that nothing misses: at most `sleep.retire` of each are left out, one after the
    other as they are due. Those that cannot be tried do not count.

    The tasks that a rule rests on, as far as they can still be attempted, and all held-out ones are attempted anew
    with and without it, `sleep.confirm_trials` times. It goes when each task has a score and none a lower one without
    it. What has an untried or unsettled candidate is left as it is.

    Raises:
        StopRun: as `etude.measure.compare.acompare_skills`; the same call goes on from there.
    """
    documents, changes, used = result.documents, list[Change](), Spent()
    for change in result.changes:
        if change.status not in ("unverified", "inconclusive"):
            mine = work._replace(config=within(work.config, used))
            trial = await _tried(mine, change, documents, given)
            spent = spent_in(work.folder / _name(change.place))
            used, change = used + spent, _without(change, trial, spent)
            if trial.measured:
                documents = documents.with_document(change.place, change.after)
        changes.append(change)
    return Consolidation(changes=tuple(changes), documents=documents)


def due(known: Standing) -> tuple[Rule, ...]:
    """The rules that nights wrote and that stand in the document, in the order in which they are left out: those that
    were never tried, then those whose last trial is longest ago; of these the oldest first, of one night in their
    order. What a rule says in other words is as old, and was tried as lately, as what it said before.

    Not among them is what a person wrote, in the words of a night too, nor what a person has put back.
    """
    past = {rule.id: lineage(rule, known.rules) for rule in active(known.rules)}
    ours = [
        rule
        for rule in active(known.rules)
        if all(one.night != BY_HAND and one.id not in known.put_back for one in past[rule.id])
    ]

    def order(rule: Rule) -> tuple[int, str]:
        last = max((known.tried[one.id].night for one in past[rule.id] if one.id in known.tried), default=0)
        return last, min(one.night for one in past[rule.id])

    return tuple(sorted(ours, key=order))


def left_out(document: Skill, rules: Sequence[Rule], rule: str) -> Skill | None:
    """The document without a rule, by its id; None where it does not stand there as it is known."""
    there = active(revised(rules, block_of(document), BY_HAND))
    if all(one.id != rule for one in there):
        return None
    return with_block(document, render(without(there, [rule])))


async def _tried(work: Pruning, change: Change, documents: Documents, given: Given) -> _Pruned:
    config, place = work.config, change.place
    known = work.rules.get(place, Standing())
    rules = revised(known.rules, block_of(change.before), BY_HAND)
    document, measured, tried = change.after if change.proposed else change.before, dict[str, str](), list[LeftOut]()
    run = config.for_run(work.folder, _name(place))
    trials = config.sleep.confirm_trials
    for rule in due(known._replace(rules=rules)):
        if len(tried) == config.sleep.retire:
            break
        shorter, tasks = left_out(document, rules, rule.id), _tasks(rule, work, rules)
        if shorter is None or not tasks:
            continue
        others = documents.with_document(place, document)
        parts: Given = {**with_judge(config, given), "env": in_context(tasks, others, place, config)}
        found = await acompare_skills(run, document, shorter, "val", trials, **parts)
        seen = len(found.gained) + len(found.lost) + found.equal
        missed = tuple(flip.task for flip in found.lost)
        tried.append(
            LeftOut(rule=rule.id, text=rule.text, tasks=len(tasks), missed=missed, unscored=len(tasks) - seen)
        )
        if tried[-1].retired:
            document = shorter
            times = f"{trials} fresh attempts each" if trials > 1 else "one fresh attempt each"
            measured[rule.id] = f"{len(tasks)} tasks, {times} with and without it: none does worse without"
    return _Pruned(document, measured, tuple(tried))


def _tasks(rule: Rule, work: Pruning, rules: Sequence[Rule]) -> tuple[MinedTask, ...]:
    """What a rule is tried on, as held-out tasks; none where nothing that it rests on can be attempted any more."""
    known = {task.id: task for task in work.earlier if task.origin == "real" and not task.tools}
    known |= {task.id: task for task in work.tasks if task.origin == "real"}
    # What rests on a rewording or a recalled task rests on the one it is derived from, by its id.
    named = {original_id(name) for one in lineage(rule, rules) for name in one.evidence.tasks}
    behind = {name: known[name] for name in named & known.keys() if known[name].split != "test"}
    if named and not behind:
        return ()
    behind |= {task.id: task for task in work.tasks if task.split == "val"}
    return tuple(behind[name].model_copy(update={"split": "val"}) for name in sorted(behind))


def _without(change: Change, trial: _Pruned, spent: Spent) -> Change:
    """The change with what the trial found; its comparison is one of the candidate only."""
    stays = [f"left out on trial: {plain(one.text, _QUOTED)!r}, {one.told}" for one in trial.tried if not one.retired]
    reason = "; ".join([change.reason, *stays])
    update = {"spent": change.spent + spent, "left_out": trial.tried, "reason": reason}
    change = change.model_copy(update=update)
    if not trial.measured:
        return change
    count = len(trial.measured)
    what = f"{count} rule{'s are' if count > 1 else ' is'} retired: nothing misses {'them' if count > 1 else 'it'}"
    none = {} if change.proposed else {"confirmed": None, "fresh": None, "status": "accepted", "proposed": True}
    update = {"after": trial.document, "retired": trial.measured, "reason": f"{change.reason}; {what}"}
    return change.model_copy(update={**update, **none})


def _name(place: Place) -> str:
    return f"retire-{place}"
