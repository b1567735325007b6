"""The documents of a project, improved on the tasks of a night."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from etude.envs.wording import bare
from etude.sleep.adoption.adopt import kept_rules
from etude.sleep.adoption.known_words import KnownWords
from etude.sleep.adoption.rules import Rule, Rules
from etude.sleep.adoption.structure import plain
from etude.sleep.config import SleepConfig
from etude.sleep.improve.changes import PLACES, DocumentOutcome, reported
from etude.sleep.improve.consolidate import aconsolidate, preferring, tasks_on
from etude.sleep.improve.groups import DocumentGroup
from etude.sleep.improve.leave_out import new_rules, without_idle_rules
from etude.sleep.limits import spent_so_far, within
from etude.sleep.report import DocumentReport, Spent
from etude.sleep.state import SleepState
from etude.sleep.tasks.mined import MinedTask
from etude.workbench import Given

_LONGEST, _MOST_REJECTED, _MOST_KNOWN = 300, 50, 100
"""Characters of a rule that the optimizer is told; how many rejected ones, and how many that stand elsewhere."""


class TrainingOutcome(NamedTuple):
    """What training came to, before anything is proposed."""

    changes: Sequence[tuple[DocumentGroup, DocumentOutcome]] = ()
    idle: tuple[DocumentReport, ...] = ()
    """On documents whose tasks are all held out."""
    spent: Spent = Spent()
    notes: tuple[str, ...] = ()
    later: Collection[tuple[str, str]] = ()
    """As `UserWishes.later`."""

    @property
    def reports(self) -> tuple[DocumentReport, ...]:
        """The reports on the changes."""
        return tuple(
            reported(group.title(change.place), group.live(change.place).path, change, group.tasks)
            for group, change in self.changes
        )

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
    config = _told(config, kept_rules(state.folder), groups)
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
        result = await aconsolidate(group.tasks, group.documents, settings, group.run, **given)
        result = await without_idle_rules(within(config, spent + result.spent), group, result, given)
        changes += [(group, change) for change in result.changes]
        spent += result.spent
    return TrainingOutcome(changes, tuple(idle), spent)


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
    return preferring(config, *lists)
