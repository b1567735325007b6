"""The documents of a project, improved on the tasks of a night."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from etude.intervals import mean_interval
from etude.measure.evaluate import aevaluate_skill
from etude.published.options import options_of
from etude.records import Skill
from etude.records.summary import Interval
from etude.sleep.adoption.adopt import kept_rules, receipts
from etude.sleep.adoption.proposal import opened
from etude.sleep.adoption.rules import Rule, Rules
from etude.sleep.adoption.structure import plain
from etude.sleep.adoption.wording import KnownWords, bare
from etude.sleep.config import SleepConfig
from etude.sleep.improve.changes import PLACES, DocumentOutcome, Place, reported
from etude.sleep.improve.consolidate import aconsolidate, parts_of, tasks_on
from etude.sleep.improve.context import Documents
from etude.sleep.improve.groups import DocumentGroup
from etude.sleep.improve.known import NightMemory, remember, remembered
from etude.sleep.improve.leave_out import new_rules, without_idle_rules
from etude.sleep.limits import spent_in, spent_so_far, within
from etude.sleep.live_documents import LiveDocument
from etude.sleep.report import DocumentReport, Spent
from etude.sleep.state import SleepState
from etude.sleep.tasks.gather import archived
from etude.sleep.tasks.mined import MinedTask
from etude.workbench import Given, Past

_LONGEST, _MOST_REJECTED, _MOST_KNOWN = 300, 50, 100
"""Characters of a rule that the optimizer is told; how many rejected ones, and how many that stand elsewhere."""


class TrainingOutcome(NamedTuple):
    """What training came to, before anything is proposed."""

    changes: Sequence[tuple[DocumentGroup, DocumentOutcome]] = ()
    idle: tuple[DocumentReport, ...] = ()
    """On documents whose tasks are all held out."""
    scores: Mapping[str, float] = {}
    """Of the new documents on each test task."""
    spent: Spent = Spent()
    notes: tuple[str, ...] = ()

    @property
    def reports(self) -> tuple[DocumentReport, ...]:
        """The reports on the changes."""
        return tuple(
            reported(group.title(change.place), group.live(change.place).path, change, group.tasks)
            for group, change in self.changes
        )

    @property
    def test(self) -> Interval | None:
        """Mean of the new documents on all test tasks, which decide nothing; None without any."""
        return mean_interval(list(self.scores.values())) if self.scores else None

    @property
    def inconclusive(self) -> tuple[MinedTask, ...]:
        """Tasks of documents whose candidate may be luck and was dropped."""
        unsettled = {group.name: group.tasks for group, change in self.changes if change.status == "inconclusive"}
        return tuple(task for those in unsettled.values() for task in those)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The new ones of all documents that are to be proposed."""
        return tuple(
            rule for _, change in self.changes if change.proposed for rule in new_rules(change.before, change.after)
        )


async def improve(
    config: SleepConfig, groups: Sequence[DocumentGroup], state: SleepState, number: int, given: Given
) -> TrainingOutcome:
    """Improve every document that has tasks, from what it is with the rules that wait."""
    folder = state.night(number)
    spent = spent_so_far(folder / "runs" / "mine")
    memory, earlier = remembered(state, folder), archived(state)
    held = _held_out([task for group in groups for task in group.tasks], earlier)
    config = _told(config, kept_rules(state.folder), groups)
    scores: dict[str, float] = {}
    changes: list[tuple[DocumentGroup, DocumentOutcome]] = []
    idle: list[DocumentReport] = []
    for group in groups:
        if not tasks_on(group.tasks, "train"):
            why, held_out = "there are no training tasks for it", tasks_on(group.tasks, "val")
            path = group.skill.path
            idle.append(DocumentReport(name=group.name, path=path, status="unchanged", reason=why, held_out=held_out))
            continue
        only = config.sleep.model_copy(update={place: place in group.improves for place in PLACES})
        settings = within(config, spent).model_copy(update={"sleep": only})
        past: dict[Place, Past] = {
            place: _past(config, state, memory, held, group.live(place), group.title(place)) for place in PLACES
        }
        result = await aconsolidate(group.tasks, group.documents, settings, group.run, past, **given)
        result = await without_idle_rules(within(config, spent + result.spent), group, result, given)
        changes += [(group, change) for change in result.changes]
        spent += result.spent
        if tasks_on(group.tasks, "test"):
            scores |= await _tested(within(config, spent), group, result.documents, given)
            spent += spent_in(group.run / "test")
    remember(state, memory, [(group.live(change.place).real, change) for group, change in changes])
    return TrainingOutcome(changes, tuple(idle), scores, spent)


async def _tested(
    config: SleepConfig, group: DocumentGroup, documents: Documents, given: Given
) -> Mapping[str, float]:
    """How the new documents do on each test task."""
    parts = parts_of(config, group.tasks, documents, "skill", given)
    return (await aevaluate_skill(config.for_run(group.run, "test"), "test", config.test.trials, **parts)).tasks


def _told(config: SleepConfig, rules: Rules, groups: Sequence[DocumentGroup]) -> SleepConfig:
    """The settings that tell the optimizer what a person does not want, and what the agent reads elsewhere."""
    turned_down = (bare(rule.text) for rule in rules.turned_down[-_MOST_REJECTED:])
    others = KnownWords(text for group in groups[:1] for text in group.others).lines
    told = {
        "The user has turned down these rules. Write none of them, in no other words either:": list(turned_down),
        "The agent reads these instructions as well. Write no rule that says the same:": others[:_MOST_KNOWN],
    }
    lists = (
        "\n".join([what, "", *(f"- {plain(one, _LONGEST)}" for one in those)])
        for what, those in told.items()
        if those
    )
    preferences = "\n\n".join(filter(None, [config.reflect.preferences.strip(), *lists]))
    return config.model_copy(update={"reflect": config.reflect.model_copy(update={"preferences": preferences})})


def _held_out(tasks: Sequence[MinedTask], earlier: Sequence[MinedTask]) -> frozenset[str]:
    """Ids of the tasks that no optimizer hears of: tonight's held-out ones, and earlier ones of their clusters."""
    held = [task for task in tasks if task.split != "train"]
    clusters = {task.cluster for task in held if task.cluster}
    return frozenset(task.id for task in (*held, *(task for task in earlier if task.cluster in clusters)))


def _past(
    config: SleepConfig, state: SleepState, memory: NightMemory, held: Collection[str], live: LiveDocument, name: str
) -> Past:
    """What earlier nights know of a document, except what is learned from tasks that are held out (`held`); with the
    document before the last adoption that was not reverted, where the optimizer compares."""
    ledger = memory.ledger(live.real, held)
    options = options_of(config)
    if not (options.slow_update or options.meta_skill):
        return Past(ledger)
    adopted = [one for receipt in receipts(state.folder) if not receipt.reverted for one in receipt.documents]
    before = [one.live for one in adopted if one.live.real == live.real][-1:]
    return Past(ledger, *(Skill(name=name, text=opened(one).render()) for one in before))
