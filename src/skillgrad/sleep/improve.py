"""The documents of a project, improved on the tasks of a night, and what is proposed for them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from skillgrad.build import Given
from skillgrad.errors import SkillgradError
from skillgrad.evaluate import aevaluate_skill
from skillgrad.records import Record, Skill
from skillgrad.skill import Document
from skillgrad.sleep.adopt import kept_rules
from skillgrad.sleep.config import SleepConfig, SleepSection
from skillgrad.sleep.consolidate import Change, Known, Place, Spent, aconsolidate, in_context, left_of, spent_in
from skillgrad.sleep.context import Documents
from skillgrad.sleep.places import LiveDocument, memory_path, read_document, skill_path, skill_paths
from skillgrad.sleep.report import Diagnosed, DocumentReport, diagnosed, reported
from skillgrad.sleep.rules import BY_HAND, Evidence, Rule, active, revised
from skillgrad.sleep.staging import Proposal, Proposed, stage
from skillgrad.sleep.state import SleepState
from skillgrad.sleep.tasks import MinedTask
from skillgrad.stages.rollout import attempt_id
from skillgrad.summary import Interval, ShipVerdict

__all__ = ["Group", "Improved", "groups_of", "improve", "opened_chars"]

KNOWN = "known.json"
_LEDGER = 200
"""Edits of earlier nights that are kept for the optimizer, the latest ones."""


class Group(NamedTuple):
    """Documents that are improved together, on tasks of their own."""

    name: str
    skill: LiveDocument | None
    memory: LiveDocument | None
    """Read by the agent in any case."""
    improves_memory: bool
    tasks: tuple[MinedTask, ...]

    @property
    def documents(self) -> Documents:
        """As the agent reads them, each with a block to write into."""
        return Documents(skill=_opened(self.skill, self.name), memory=_opened(self.memory, "memory"))

    def live(self, place: Place) -> LiveDocument:
        """A document as it is on disk."""
        found = self.skill if place == "skill" else self.memory
        assert found is not None
        return found


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
    """Mean of the new documents on the test tasks, which decide nothing; None without any."""
    spent: Spent = Spent()
    simulated: bool = False


class _Memory(Record):
    """What nights know of documents, by real path: `known.json` in the state folder."""

    version: int = 1
    documents: dict[str, Known] = Field(default_factory=dict[str, Known])


def groups_of(config: SleepConfig, tasks: Sequence[MinedTask]) -> tuple[Group, ...]:
    """The groups that have tasks.

    Raises:
        SkillError: a document cannot be read, or is none that may be changed.
    """
    sleep, project = config.sleep, Path(config.sleep.project)
    named = [Path(path) for path in sleep.named_paths]
    memory = read_document(Path(sleep.memory_path or memory_path(project, sleep.agent)), "memory", project, named)
    found: list[Group] = []
    left = list(tasks)
    if sleep.fan_out:
        for name, path in skill_paths(project, sleep.agent).items():
            own = tuple(task for task in left if task.skill == name)
            if own and name != sleep.skill_name:
                skill = read_document(path, "skill", project)
                found.append(Group(name, skill, memory, improves_memory=False, tasks=own))
                left = [task for task in left if task.skill != name]
    if left and (sleep.skill or sleep.memory):
        path = Path(sleep.skill_path or skill_path(project, sleep.agent, sleep.skill_name))
        skill = read_document(path, "skill", project, named)
        name = path.parent.name or sleep.skill_name
        found.append(Group(name, skill, memory, improves_memory=sleep.memory, tasks=tuple(left)))
    return tuple(found)


def opened_chars(config: SleepConfig) -> int:
    """How many characters the documents have that an agent reads.

    Raises:
        SkillError: as `groups_of`.
    """
    sleep, project = config.sleep, Path(config.sleep.project)
    named = [Path(path) for path in sleep.named_paths]
    memory = read_document(Path(sleep.memory_path or memory_path(project, sleep.agent)), "memory", project, named)
    path = Path(sleep.skill_path or skill_path(project, sleep.agent, sleep.skill_name))
    return len(memory.opening) + len(read_document(path, "skill", project, named).opening)


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
    memory = _remembered(state, folder)
    test: Interval | None = None
    changes: list[tuple[Group, Change]] = []
    for group in groups_of(config, tasks):
        limits = config.limits.model_copy(update=dict(left_of(config.limits, spent)))
        settings = config.model_copy(update={"limits": limits, "sleep": _only(config, group)})
        if not any(task.split == "train" for task in group.tasks):
            continue
        known: dict[Place, Known] = {
            place: memory.documents.get(group.live(place).real, Known()) for place in _places(group)
        }
        result = await aconsolidate(
            group.tasks, group.documents, settings, folder / "runs" / group.name, known, **given
        )
        changes += [(group, change) for change in result.changes]
        spent = spent + sum((change.spent for change in result.changes), Spent())
        if any(task.split == "test" for task in group.tasks):
            test, spent = await _tested(settings, group, result.documents, folder / "runs" / group.name, spent, given)
    improved = _proposed(config, state, number, changes)
    _remember(state, memory, changes)
    simulated = any(change.simulated for _, change in changes)
    return improved.model_copy(update={"spent": spent, "test": test, "simulated": simulated})


async def _tested(
    config: SleepConfig, group: Group, documents: Documents, folder: Path, spent: Spent, given: Given
) -> tuple[Interval, Spent]:
    """How the new documents do on the test tasks, and what is used with that."""
    place: Place = "skill"
    document = documents.skill
    assert document is not None
    parts: Given = {
        **given,
        "env": in_context(group.tasks, documents, place, config.agent),
        "skill": document,
    }
    if "optimizer" in given:
        parts = {"judge": given["optimizer"], **parts}
    settings = config.for_run(folder, "test", limits=left_of(config.limits, spent))
    score = (await aevaluate_skill(settings, "test", 1, **parts)).score
    return score, spent + spent_in(folder / "test")


def _only(config: SleepConfig, group: Group) -> SleepSection:
    change = {"memory": group.improves_memory, "skill": config.sleep.skill or config.sleep.fan_out}
    return config.sleep.model_copy(update=change)


def _places(group: Group) -> Iterator[Place]:
    yield "skill"
    if group.improves_memory:
        yield "memory"


def _opened(live: LiveDocument | None, name: str) -> Skill | None:
    if live is None:
        return None
    document = Document.parse(live.opening)
    return Skill(name=name, text=(document if document.learned is not None else document.with_learned("")).render())


def _proposed(
    config: SleepConfig, state: SleepState, number: int, changes: Sequence[tuple[Group, Change]]
) -> Improved:
    name = f"{number:04d}"
    kept = kept_rules(state.folder)
    proposed: list[Proposed] = []
    for group, change in changes:
        if change.status != "accepted":
            continue
        live = group.live(change.place)
        was, now = _block(change.before), _block(change.after)
        before = revised(kept.documents.get(live.real, ()), was, BY_HAND)
        rules = revised(before, now, name, _evidence(group, change, config.train.attempts))
        proposed.append(Proposed(live=live, text=change.after.text, rules=rules, before=before))
    improved = Improved(
        documents=tuple(
            reported(_name(group, change), group.live(change.place).path, change, _sizes(group))
            for group, change in changes
        ),
        diagnosed=tuple(diagnosed(_name(group, change), change) for group, change in changes),
    )
    if not proposed:
        return improved
    verdict = _worst([change for _, change in changes if change.status == "accepted"])
    notes = [f"{report.name}: {report.reason}" for report in improved.documents]
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


def _block(skill: Skill) -> str:
    """The inside of the learned block, with its last line end."""
    span = Document.parse(skill.text).learned_span
    return "" if span is None else skill.text[slice(*span)]


def _name(group: Group, change: Change) -> str:
    return group.name if change.place == "skill" else "memory"


def _sizes(group: Group) -> tuple[int, int]:
    splits = [task.split for task in group.tasks]
    return splits.count("train"), splits.count("val")


def _worst(changes: Sequence[Change]) -> ShipVerdict | None:
    verdicts = [None if change.confirmed is None else change.confirmed.verdict for change in changes]
    if None in verdicts:
        return None
    return "ship" if all(verdict == "ship" for verdict in verdicts) else "inconclusive"


def _evidence(group: Group, change: Change, trials: int) -> Mapping[str, Evidence]:
    """By the text of each edit: the attempts that it cites, their tasks, and the sessions of these."""
    attempts: dict[str, MinedTask] = {}
    for task in group.tasks:
        for skill in (change.before, change.after):
            for trial in range(trials):
                attempts[attempt_id(task.id, skill, trial)] = task
    found: dict[str, Evidence] = {}
    for entry in change.edits:
        tasks = [attempts[cite] for cite in entry.edit.cites if cite in attempts]
        sessions = [f"{one.source}:{one.id}" for task in tasks for one in task.sessions]
        found[entry.edit.content] = Evidence(
            sessions=tuple(dict.fromkeys(sessions)),
            tasks=tuple(dict.fromkeys(task.id for task in tasks)),
            attempts=entry.edit.cites,
            note=entry.edit.reason,
        )
    return found


def _remembered(state: SleepState, night: Path) -> _Memory:
    """What was known when the night began: an interrupted one goes on from that."""
    ours, all_nights = night / KNOWN, state.folder / KNOWN
    for path in (ours, all_nights):
        try:
            memory = _Memory.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, ValidationError) as error:
            raise SkillgradError(f"{str(path)!r} cannot be read: {error}", hint="restore it, or remove it") from error
        break
    else:
        memory = _Memory()
    if not ours.exists():
        state.write(ours, memory.model_dump_json(indent=1) + "\n")
    return memory


def _remember(state: SleepState, memory: _Memory, changes: Sequence[tuple[Group, Change]]) -> None:
    """Edits of this night for the next ones; running a night again adds nothing twice."""
    documents = dict(memory.documents)
    for group, change in changes:
        real = group.live(change.place).real
        known = documents.get(real, Known())
        edits = [entry for entry in change.edits if entry not in known.ledger]
        before = change.before if change.status == "accepted" else known.before
        documents[real] = Known(ledger=(*known.ledger, *edits)[-_LEDGER:], before=before)
    state.write(state.folder / KNOWN, _Memory(documents=documents).model_dump_json(indent=1) + "\n")
