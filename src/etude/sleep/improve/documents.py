"""The documents of a project, improved on the tasks of a night, and what is proposed for them."""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from etude.envs.scorers.base import Judge
from etude.errors import EtudeError, SkillError
from etude.intervals import mean_interval
from etude.measure.evaluate import aevaluate_skill
from etude.records import Record, Skill, Split
from etude.records.summary import Interval, ShipVerdict
from etude.skill import Document, token_count
from etude.sleep.adoption.adopt import kept_rules, receipts
from etude.sleep.adoption.known import Memory, remember, remembered
from etude.sleep.adoption.proposal import Proposal, Proposed, stage
from etude.sleep.adoption.rules import BY_HAND, Evidence, Rule, ablated, active, revised
from etude.sleep.config import EACH, SleepConfig, SleepSection
from etude.sleep.improve.block import block_of
from etude.sleep.improve.changes import Change, Place, worst
from etude.sleep.improve.consolidate import aconsolidate, in_context, with_judge
from etude.sleep.improve.context import Documents
from etude.sleep.improve.retire import Pruning, Standing, pruned, standing
from etude.sleep.limits import Spent, spent_in, within
from etude.sleep.places import LiveDocument, documents_of, read_document, skill_paths
from etude.sleep.report import Diagnosed, DocumentReport, diagnosed, untrained
from etude.sleep.state import SleepState
from etude.sleep.tasks.environment import NightEnvironment
from etude.sleep.tasks.gather import archived
from etude.sleep.tasks.mined import MinedTask
from etude.workbench import Given, Past

__all__ = ["Group", "Groups", "Improved", "check_tasks", "groups_of", "improve", "opened_chars"]

_A_RULE = 50
"""Tokens that a rule has at least, its block with it."""


class Group(NamedTuple):
    """Documents that are improved together, on tasks of their own."""

    name: str
    skill: LiveDocument
    memory: LiveDocument
    """Read by the agent in any case."""
    improves: tuple[Place, ...]
    tasks: tuple[MinedTask, ...]

    @property
    def documents(self) -> Documents:
        """As the agent reads them, each with a block to write into."""
        return Documents(skill=_opened(self.skill, self.name), memory=_opened(self.memory, "memory"))

    def live(self, place: Place) -> LiveDocument:
        """A document as it is on disk."""
        return self.skill if place == "skill" else self.memory

    def split(self, split: Split) -> int:
        """How many tasks are on a side."""
        return sum(task.split == split for task in self.tasks)


class Groups(NamedTuple):
    """The groups of a night."""

    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    """Skills with tasks of their own that cannot be improved, and why."""


class Improved(Record):
    """What came of the documents."""

    documents: tuple[DocumentReport, ...] = ()
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


def groups_of(config: SleepConfig, tasks: Sequence[MinedTask]) -> Groups:
    """The groups that have tasks. Those of a skill that may not be changed go to the documents of all.

    Raises:
        SkillError: the skill or the memory file of all cannot be read, or is none that may be changed.
    """
    sleep, project = config.sleep, Path(config.sleep.project)
    learned, memory = documents_of(sleep)
    found: list[Group] = []
    notes: list[str] = []
    left = list(tasks)
    for name, path in skill_paths(project, sleep.agent).items() if sleep.skill == EACH else ():
        own = tuple(task for task in left if task.skill == name)
        if own and os.path.realpath(path) != learned.real:
            try:
                live = read_document(path, "skill", project)
                _check_room(live, config)
            except SkillError as error:  # one skill out of order stops no other
                notes.append(f"the skill {name!r} is not improved: {error.message}")
                continue
            found.append(Group(name, live, memory, ("skill",), own))
            left = [task for task in left if task.skill != name]
    improves: list[Place] = []
    if sleep.skill:
        improves.append("skill")
    if sleep.memory:
        improves.append("memory")
    if left and improves:
        name = sleep.skill_name
        while any(name == group.name for group in found):
            name += "-too"  # a skill of the same name elsewhere
        found.append(Group(name, learned, memory, tuple(improves), tuple(left)))
    return Groups(tuple(found), tuple(notes))


def opened_chars(config: SleepConfig) -> int:
    """How many characters the documents have that an agent reads.

    Raises:
        SkillError: as `groups_of`; a document is too long for a single rule more.
    """
    skill, memory = documents_of(config.sleep)
    for live, improved in ((skill, config.sleep.skill), (memory, config.sleep.memory)):
        if improved:
            _check_room(live, config)
    return len(memory.opening) + len(skill.opening)


def _check_room(live: LiveDocument, config: SleepConfig) -> None:
    tokens = token_count(live.opening)
    if tokens + _A_RULE > config.skill.max_tokens:
        raise SkillError(
            f"{live.path!r} has about {tokens:,} tokens: skill.max_tokens = {config.skill.max_tokens:,} leaves "
            "no room for a rule",
            hint="raise skill.max_tokens, shorten the document, or set sleep.memory or sleep.skill to false",
        )


def check_tasks(config: SleepConfig, tasks: Sequence[MinedTask]) -> None:
    """Refuse tasks that no night can use, group by group: what one trains on another may hold out. Asks no model.

    Raises:
        InputError: as `groups_of` and `NightEnvironment`.
    """
    for group in groups_of(config, tasks).groups:
        NightEnvironment(group.tasks, _asked_later, unsafe_no_sandbox=config.unsafe_no_sandbox)


async def improve(
    config: SleepConfig, tasks: Sequence[MinedTask], state: SleepState, number: int, spent: Spent, given: Given
) -> Improved:
    """Improve every document that has tasks, and stage what passes the gate.

    Args:
        spent: what the night has used already.

    Raises:
        InputError: documents or tasks cannot be used.
        StopRun: as `aconsolidate`.
    """
    folder = state.night(number)
    memory = remembered(state, folder)
    check_tasks(config, tasks)  # before anything is paid for
    groups, notes = groups_of(config, tasks)
    held = _held_out(tasks, state)
    scores: dict[str, float] = {}
    changes: list[tuple[Group, Change]] = []
    for group in groups:
        if not group.split("train"):
            continue
        settings = within(config, spent).model_copy(update={"sleep": _only(config, group)})
        past: dict[Place, Past] = {
            place: _past(config, state, memory, held, group, place) for place in group.improves
        }
        run = folder / "runs" / group.name
        result = await aconsolidate(group.tasks, group.documents, settings, run, past, **given)
        if config.sleep.retire:
            after = spent + sum((change.spent for change in result.changes), Spent())
            kept: dict[Place, Standing] = {}
            for place in group.improves:
                real = group.live(place).real
                kept[place] = standing(state.folder, real, memory.trials.get(real, {}))
            work = Pruning(within(config, after), run, group.tasks, archived(state), kept)
            result = await pruned(work, result, given)
        changes += [(group, change) for change in result.changes]
        spent = spent + sum((change.spent for change in result.changes), Spent())
        if group.split("test"):
            scores |= await _tested(within(config, spent), group, result.documents, run, given)
            spent = spent + spent_in(run / "test")
    improved = _proposed(config, state, number, changes)
    remember(state, memory, number, [(group.live(change.place).real, change) for group, change in changes])
    idle = [
        untrained(group.name, group.skill.path, group.split("val")) for group in groups if not group.split("train")
    ]
    unsettled = {group.name: group.tasks for group, change in changes if change.status == "inconclusive"}
    return improved.model_copy(
        update={
            "documents": (*improved.documents, *idle),
            "inconclusive": tuple(task for those in unsettled.values() for task in those),
            "spent": spent,
            "test": mean_interval(list(scores.values())) if scores else None,
            "simulated": any(change.simulated for _, change in changes),
            "notes": notes,
        }
    )


async def _tested(
    config: SleepConfig, group: Group, documents: Documents, folder: Path, given: Given
) -> dict[str, float]:
    """How the new documents do on each test task."""
    place: Place = "skill"
    document = documents.skill
    assert document is not None
    parts: Given = {
        **with_judge(config, given),
        "env": in_context(group.tasks, documents, place, config),
        "skill": document,
    }
    settings = config.for_run(folder, "test")
    return (await aevaluate_skill(settings, "test", config.test.trials, **parts)).tasks


def _asked_later() -> Judge:
    raise AssertionError("looking at tasks asks no judge")


def _only(config: SleepConfig, group: Group) -> SleepSection:
    return config.sleep.model_copy(update={place: place in group.improves for place in ("skill", "memory")})


def _held_out(tasks: Sequence[MinedTask], state: SleepState) -> frozenset[str]:
    """Ids of the tasks that no optimizer is told of: tonight's held-out ones, and earlier ones of their clusters."""
    held = [task for task in tasks if task.split != "train"]
    clusters = {task.cluster for task in held if task.cluster}
    like = (task for task in archived(state) if task.cluster in clusters)
    return frozenset(task.id for task in (*held, *like))


def _past(
    config: SleepConfig, state: SleepState, memory: Memory, held: Collection[str], group: Group, place: Place
) -> Past:
    """What earlier nights know of a document, except what is learned from tasks that are held out (`held`)."""
    live = group.live(place)
    compares = config.slow_update.enabled or config.meta_skill.enabled
    before = _replaced(state, live) if compares else None
    opened = None if before is None else _opened(before, _name(group, place))
    return Past(ledger=memory.ledger(live.real, held), skill=opened)


def _replaced(state: SleepState, live: LiveDocument) -> LiveDocument | None:
    """The document before the last adoption that was not reverted; None when there was none."""
    for receipt in reversed(receipts(state.folder)):
        for one in receipt.documents if not receipt.reverted else ():
            if one.real == live.real:
                place = receipt.folder(state.folder) / one.backup
                try:
                    data = place.read_bytes() if one.backup else None
                except OSError as error:
                    hint = "restore it, or set slow_update.enabled and meta_skill.enabled to false"
                    raise EtudeError(f"{str(place)!r} cannot be read: {error}", hint=hint) from error
                return live.model_copy(update={"data": data})
    return None


def _opened(live: LiveDocument, name: str) -> Skill:
    document = Document.parse(live.opening)
    return Skill(name=name, text=(document if document.learned is not None else document.with_learned("")).render())


def _proposed(
    config: SleepConfig, state: SleepState, number: int, changes: Sequence[tuple[Group, Change]]
) -> Improved:
    name = f"{number:04d}"
    kept = kept_rules(state.folder)
    proposed: list[Proposed] = []
    for group, change in changes:
        if not change.proposed:
            continue
        live = group.live(change.place)
        was, now = block_of(change.before), block_of(change.after)
        before = revised(kept.documents.get(live.real, ()), was, BY_HAND)
        rules = ablated(revised(before, now, name, _evidence(group, change)), change.retired)
        unverified = change.status == "unverified"
        proposed.append(
            Proposed(live=live, text=change.after.text, rules=rules, before=before, unverified=unverified)
        )
    found = tuple(_diagnosed(group, change) for group, change in changes)
    improved = Improved(documents=tuple(one.report for one in found), diagnosed=found)
    if not proposed:
        return improved
    verdict = worst([change for _, change in changes if change.proposed])
    notes = [
        "; ".join([f"{one.name}: {one.reason}", *([one.cost.told] if one.cost else [])]) for one in improved.documents
    ]
    named = [Path(path) for path in config.sleep.named_paths]
    proposal = Proposal(
        night=name,
        project=str(Path(config.sleep.project).absolute()),
        documents=tuple(proposed),
        verdict=verdict,
        notes=tuple(notes),
    )
    folder = stage(state.night(number), proposal, named)
    new = tuple(rule for one in proposed for rule in active(one.rules) if rule.night == name)
    return improved.model_copy(update={"proposal": str(folder), "rules": new, "verdict": verdict})


def _diagnosed(group: Group, change: Change) -> Diagnosed:
    sizes = group.split("train"), group.split("val")
    return diagnosed(_name(group, change.place), group.live(change.place).path, change, sizes)


def _name(group: Group, place: Place) -> str:
    return group.name if place == "skill" else "memory"


def _evidence(group: Group, change: Change) -> Mapping[str, Evidence]:
    """By the text of each accepted edit and guidance: the attempts behind it, their tasks, and the sessions of
    these."""
    held_out = change.held_out
    edits = [entry.edit for entry in change.edits if entry.accepted]
    texts = [(edit.content, edit.cites, edit.reason) for edit in edits]
    texts += [(text, names, "comparison with the document before") for text, names in held_out.guidance.items()]
    by_id = {task.id: task for task in group.tasks}
    found: dict[str, Evidence] = {}
    for text, names, note in texts:
        cited = [name for name in names if name in held_out.cited]
        tasks = [by_id[held_out.cited[name]] for name in cited]
        sessions = [f"{one.source}:{one.id}" for task in tasks for one in task.sessions]
        behind = Evidence(
            sessions=tuple(dict.fromkeys(sessions)),
            tasks=tuple(dict.fromkeys(task.id for task in tasks)),
            attempts=tuple(cited),
            note=note,
        )
        found[text] = found.get(text, Evidence()).joined(behind)
    return found
