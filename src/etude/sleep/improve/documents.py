"""The documents of a project, improved on the tasks of a night, and what is proposed for them."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from etude.intervals import mean_interval
from etude.measure.evaluate import aevaluate_skill
from etude.records import Record, Skill
from etude.records.summary import Interval, ShipVerdict
from etude.sleep.adoption.adopt import kept_rules, receipts
from etude.sleep.adoption.proposal import Proposal, Proposed, opened, stage
from etude.sleep.adoption.rules import BY_HAND, Answers, Evidence, Rule, Trial, block_of, render, revised, said
from etude.sleep.config import SleepConfig
from etude.sleep.improve.alone import each_alone, new_rules
from etude.sleep.improve.changes import PLACES, Change, Place, worst
from etude.sleep.improve.consolidate import aconsolidate, parts_of, tasks_on
from etude.sleep.improve.context import Documents
from etude.sleep.improve.groups import Group, check_tasks, groups_of
from etude.sleep.improve.known import Memory, remember, remembered
from etude.sleep.improve.retire import Standing, pruned
from etude.sleep.improve.wishes import Asked
from etude.sleep.limits import Spent, spent_in, within
from etude.sleep.places import LiveDocument, documents_of
from etude.sleep.report import Diagnosed, DocumentReport, diagnosed, untrained
from etude.sleep.state import SleepState
from etude.sleep.tasks.gather import archived
from etude.sleep.tasks.mined import MinedTask, Quote
from etude.workbench import Given, Past


class Improved(Record):
    """What came of the documents."""

    documents: tuple[DocumentReport, ...] = ()
    idle: tuple[DocumentReport, ...] = ()
    """Of documents without training tasks."""
    diagnosed: tuple[Diagnosed, ...] = ()
    proposal: str = ""
    """Folder; empty when nothing passed."""
    rules: tuple[Rule, ...] = ()
    """Those that the proposal brings."""
    verdict: ShipVerdict | None = None
    """Of all proposed documents together: the worst one."""
    test: Interval | None = None
    """Mean of the new documents on all test tasks, which decide nothing; None without any."""
    spent: Spent = Spent()
    simulated: bool = False
    notes: tuple[str, ...] = ()
    inconclusive: tuple[MinedTask, ...] = ()
    """Tasks of documents whose candidate may be luck and was dropped."""


class Trained(NamedTuple):
    """What training came to, before anything is proposed."""

    changes: Sequence[tuple[Group, Change]] = ()
    idle: tuple[DocumentReport, ...] = ()
    scores: Mapping[str, float] = {}
    """Of the new documents on each test task."""
    spent: Spent = Spent()
    notes: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The new ones of all documents that are to be proposed."""
        return tuple(
            rule for _, change in self.changes if change.proposed for rule in new_rules(change.before, change.after)
        )


async def improve(
    config: SleepConfig, tasks: Sequence[MinedTask], state: SleepState, number: int, spent: Spent, given: Given
) -> Trained:
    """Improve every document that has tasks. The night has `spent` this already."""
    folder = state.night(number)
    memory, earlier = remembered(state, folder), archived(state)
    check_tasks(config, tasks)  # before anything is paid for
    groups, notes = groups_of(config, tasks, folder / "runs")
    held = _held_out(tasks, earlier)
    scores: dict[str, float] = {}
    changes: list[tuple[Group, Change]] = []
    idle: list[DocumentReport] = []
    for group in groups:
        if not tasks_on(group.tasks, "train"):
            idle.append(untrained(group.name, group.skill.path, tasks_on(group.tasks, "val")))
            continue
        only = config.sleep.model_copy(update={place: place in group.improves for place in PLACES})
        settings = within(config, spent).model_copy(update={"sleep": only})
        past: dict[Place, Past] = {
            place: _past(config, state, memory, held, group.live(place), group.title(place)) for place in PLACES
        }
        result = await aconsolidate(group.tasks, group.documents, settings, group.run, past, **given)
        after = sum((change.spent for change in result.changes), spent)
        result = await each_alone(within(config, after), group, result, given)
        if config.sleep.retire:
            kept, known = kept_rules(state.folder).documents, dict[Place, Standing]()
            for place in PLACES:
                real = group.live(place).real
                known[place] = Standing(kept.get(real, ()), memory.trials.get(real, {}), earlier)
            after = sum((change.spent for change in result.changes), spent)
            result = await pruned(within(config, after), group, result, known, given)
        changes += [(group, change) for change in result.changes]
        spent = sum((change.spent for change in result.changes), spent)
        if tasks_on(group.tasks, "test"):
            scores |= await _tested(within(config, spent), group, result.documents, given)
            spent = spent + spent_in(group.run / "test")
    remember(state, memory, number, [(group.live(change.place).real, change) for group, change in changes])
    return Trained(changes, tuple(idle), scores, spent, notes)


def propose(
    config: SleepConfig, state: SleepState, number: int, trained: Trained, wanted: Asked = Asked()
) -> Improved:
    """Stage what passes the gate, and the rules that users asked for besides."""
    changes = trained.changes
    unsettled = {group.name: group.tasks for group, change in changes if change.status == "inconclusive"}
    return _proposed(config, state, number, changes, wanted).model_copy(
        update={
            "inconclusive": tuple(task for those in unsettled.values() for task in those),
            "spent": trained.spent,
            "test": mean_interval(list(trained.scores.values())) if trained.scores else None,
            "simulated": any(change.simulated for _, change in changes),
            "notes": (*trained.notes, *wanted.notes),
            "idle": trained.idle,
        }
    )


async def _tested(config: SleepConfig, group: Group, documents: Documents, given: Given) -> Mapping[str, float]:
    """How the new documents do on each test task."""
    parts = parts_of(config, group.tasks, documents, "skill", given)
    return (await aevaluate_skill(config.for_run(group.run, "test"), "test", config.test.trials, **parts)).tasks


def _held_out(tasks: Sequence[MinedTask], earlier: Sequence[MinedTask]) -> frozenset[str]:
    """Ids of the tasks that no optimizer hears of: tonight's held-out ones, and earlier ones of their clusters."""
    held = [task for task in tasks if task.split != "train"]
    clusters = {task.cluster for task in held if task.cluster}
    return frozenset(task.id for task in (*held, *(task for task in earlier if task.cluster in clusters)))


def _past(
    config: SleepConfig, state: SleepState, memory: Memory, held: Collection[str], live: LiveDocument, name: str
) -> Past:
    """What earlier nights know of a document, except what is learned from tasks that are held out (`held`); with the
    document before the last adoption that was not reverted, where the optimizer compares."""
    ledger = memory.ledger(live.real, held)
    if not (config.slow_update.enabled or config.meta_skill.enabled):
        return Past(ledger)
    adopted = [one for receipt in receipts(state.folder) if not receipt.reverted for one in receipt.documents]
    before = [one.live for one in adopted if one.live.real == live.real][-1:]
    return Past(ledger, *(Skill(name=name, text=opened(one).render()) for one in before))


def _proposed(
    config: SleepConfig, state: SleepState, number: int, changes: Sequence[tuple[Group, Change]], wanted: Asked
) -> Improved:
    name = f"{number:04d}"
    kept = kept_rules(state.folder).documents
    proposed: dict[str, Proposed] = {}
    for group, change in changes:
        if change.proposed:
            live = group.live(change.place)
            old, new = (group.as_in_file(change.place, block_of(each.text)) for each in (change.before, change.after))
            before = revised(kept.get(live.real, ()), old, BY_HAND)
            rules = tuple(
                rule.model_copy(update={"ablation": change.retired.get(rule.id, rule.ablation)})
                for rule in revised(before, new, name, _evidence(group, change))
            )
            proposed[live.real] = Proposed(
                live=live, rules=_measured(rules, before, group, change, wanted), before=before
            )
    if wanted.wishes:
        live = _place_of_wishes(config)
        one = proposed.get(live.real) or _unchanged(live, kept.get(live.real, ()))
        proposed[live.real] = _with_wishes(one, wanted.wishes, name)
    found = tuple(
        diagnosed(group.title(change.place), group.live(change.place).path, change, group.tasks)
        for group, change in changes
    )
    improved = Improved(documents=tuple(one.report for one in found), diagnosed=found)
    if not proposed:
        return improved
    verdict = worst([change for _, change in changes if change.proposed])
    project = str(Path(config.sleep.project).absolute())
    proposal = Proposal(night=name, project=project, documents=tuple(proposed.values()), verdict=verdict)
    folder = stage(state.night(number), proposal, [Path(path) for path in config.sleep.named_paths])
    new = tuple(rule for one in proposed.values() for rule in one.added)
    return improved.model_copy(update={"proposal": str(folder), "rules": new, "verdict": verdict})


def _measured(
    rules: Sequence[Rule], before: Sequence[Rule], group: Group, change: Change, wanted: Asked
) -> tuple[Rule, ...]:
    """The new rules with what was measured of each on its own, and the words that ask for it."""
    known, tasks = {rule.id for rule in before}, {task.id: task for task in group.tasks}

    def one(rule: Rule) -> Rule:
        text, behind = said(rule.text), rule.evidence
        if rule.id in known:
            return rule
        trial = change.alone.get(text)
        if trial is not None:
            own = [tasks[name] for name in trial.missed if name in tasks]
            found = Evidence(
                tasks=tuple(task.id for task in own),
                sessions=tuple(f"{one.source}:{one.id}" for task in own for one in task.sessions),
            ).joined(Evidence())
            # What a rewrite cites stands behind all of its rules: what misses this one is its own.
            behind = behind.joined(found) if len(change.alone) == 1 else found.joined(Evidence(note=behind.note))
            trial = trial.model_copy(update={"example": _example(trial, tasks, change)})
            behind = behind.model_copy(update={"trial": trial})
        return rule.model_copy(
            update={"evidence": behind.model_copy(update={"quotes": wanted.by_rule.get(text, ())})}
        )

    return tuple(map(one, rules))


def _example(trial: Trial, tasks: Mapping[str, MinedTask], change: Change) -> Answers | None:
    """Answers to the first held-out task that does worse without a rule."""
    before, after = (
        {one.task: one.response for one in seen} for seen in (change.held_out.initial, change.held_out.candidate)
    )
    for name in trial.missed:
        if name in before and name in after and name in tasks:
            return Answers(asked=tasks[name].intent, before=before[name], after=after[name])
    return None


def _place_of_wishes(config: SleepConfig) -> LiveDocument:
    """The memory file, which is read in every session; the skill where that is not to be changed."""
    skill, memory = documents_of(config.sleep)
    return memory if config.sleep.memory else skill


def _unchanged(live: LiveDocument, known: Sequence[Rule]) -> Proposed:
    rules = revised(known, block_of(opened(live).text), BY_HAND)
    return Proposed(live=live, rules=rules, before=rules)


def _with_wishes(proposed: Proposed, wishes: Mapping[str, tuple[Quote, ...]], night: str) -> Proposed:
    """With a rule for each wish behind the others."""
    behind = {
        f"- {text}": Evidence(
            quotes=quotes,
            sessions=tuple(dict.fromkeys(f"{one.session.source}:{one.session.id}" for one in quotes)),
            note="asked for outright",
        )
        for text, quotes in wishes.items()
    }
    block = render(proposed.rules)
    block += ("" if not block or block.endswith("\n") else "\n") + "".join(f"{text}\n" for text in behind)
    known = {rule.id: rule for rule in proposed.rules}
    rules = revised(proposed.rules, block, night, behind)
    return proposed.model_copy(update={"rules": tuple(known.get(rule.id, rule) for rule in rules)})


def _evidence(group: Group, change: Change) -> Mapping[str, Evidence]:
    """By the text of each accepted edit: the attempts behind it, their tasks, and the sessions of these."""
    by_id = {task.id: task for task in group.tasks}
    found: dict[str, Evidence] = {}
    for edit in [entry.edit for entry in change.held_out.ledger if entry.accepted]:
        tried = change.held_out.cited
        cited = [name for name in edit.cites if name in tried]
        tasks = [by_id[tried[name]] for name in cited]
        sessions = [f"{one.source}:{one.id}" for task in tasks for one in task.sessions]
        behind = Evidence(
            sessions=tuple(dict.fromkeys(sessions)),
            tasks=tuple(dict.fromkeys(task.id for task in tasks)),
            attempts=tuple(cited),
            note=edit.reason,
        )
        found[edit.content] = found.get(edit.content, Evidence()).joined(behind)
    return found
