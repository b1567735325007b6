"""The proposals of a project's nights, and what a person decides on them. One waits at a time, the newest: a night
goes on from the rules that wait, so its proposal has those too."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from etude.errors import InputError, SkillError
from etude.sleep.adoption.adopt import Receipt, adopt, kept_rules, recover, reject, taken_out
from etude.sleep.adoption.proposal import FOLDER, PROPOSAL, DocumentChange, fitted, read_proposal
from etude.sleep.adoption.rules import BY_HAND, Rule
from etude.sleep.adoption.splice import RuleState, rules_now, spliced, standing
from etude.sleep.adoption.transaction import Recovery
from etude.sleep.live_documents import read_document
from etude.sleep.state import SleepState


class Item(NamedTuple):
    """A change of one rule."""

    document: DocumentChange
    rule: Rule
    state: RuleState
    leaving: bool = False
    """The rule is to be taken out."""


class Pending(NamedTuple):
    """A proposal as it stands now."""

    documents: tuple[DocumentChange, ...]
    """As they are now, and with what waits; only those for which something waits."""
    items: tuple[Item, ...]
    """All changes, in the order of the proposal."""


class RuleLine(NamedTuple):
    """A rule of a project, and how it stands."""

    rule: Rule
    state: RuleState | Literal["to take out"]
    document: str
    """The path of its document; empty for a rejected one."""


class ProjectProposals:
    """Those of a project."""

    def __init__(self, project: Path, state: SleepState, named: Collection[Path] = ()) -> None:
        self.project = project
        self.state = state
        self.named = named
        """Documents outside of the project that the settings name."""

    def folder(self, night: int) -> Path:
        """The folder of the proposal of a night, whether or not there is one."""
        return self.state.night(night) / FOLDER

    def has_proposal(self, night: int) -> bool:
        """Whether a night has one."""
        return (self.folder(night) / PROPOSAL).exists()

    def newest(self, before: float = inf) -> int | None:
        """The last night that has a proposal, of those before a number."""
        having = filter(self.has_proposal, self.state.numbers())
        return max((number for number in having if number < before), default=None)

    def pending(self, night: int) -> Pending:
        """How the proposal of a night stands. DataError, InputError: it cannot be read."""
        offered, rules = read_proposal(self.folder(night)), kept_rules(self.state.folder)
        documents: list[DocumentChange] = []
        items: list[Item] = []
        for one in offered.documents:
            try:
                live = read_document(Path(one.live.path), one.live.kind, self.project, self.named)
            except SkillError:  # whoever adopts hears why
                live = one.live
            now = rules_now(rules, live)
            states = standing(one, now, rules)
            wait = [name for name, state in states.items() if state == "waits"]
            if wait:
                rules_then = fitted(spliced(now, one, wait)[0], now, live)
                documents.append(DocumentChange(live=live, rules=rules_then, before=now))
            leaving = {rule.id for rule in one.leaving}
            items += [Item(one, rule, states[rule.id], rule.id in leaving) for rule in one.changes]
        return Pending(tuple(documents), tuple(items))

    def waiting(self, before: int) -> Mapping[str, DocumentChange]:
        """The documents for which rules of nights before this one wait, as they are now, by their real paths."""
        night = self.newest(before)
        return {} if night is None else {one.live.real: one for one in self.pending(night).documents}

    def rules(self) -> tuple[RuleLine, ...]:
        """How each rule of the project stands: what nights wrote, and what waits or was rejected."""
        kept = kept_rules(self.state.folder)
        found = {rule.id: RuleLine(rule, "rejected", "") for rule in kept.rejected}
        for real, those in kept.documents.items():
            for rule in those:
                if rule.night != BY_HAND and (rule.status == "active" or taken_out(rule)):
                    found[rule.id] = RuleLine(rule, "adopted" if rule.status == "active" else "taken out", real)
        night = self.newest()
        with suppress(InputError):
            for item in () if night is None else self.pending(night).items:
                kept_as_it_is = item.leaving and item.state == "rejected"
                if item.state != "adopted" and not kept_as_it_is:  # what is adopted may have the words of a person
                    state = "to take out" if item.leaving else item.state
                    found[item.rule.id] = RuleLine(item.rule, state, item.document.live.path)
        return tuple(found.values())

    def adopt(self, night: int, rules: Collection[str], words: Mapping[str, str] = MappingProxyType({})) -> Receipt:
        """Put rules of the proposal of a night in place; as `adopt`."""
        place = self.folder(night), self.project, self.state.folder
        return adopt(*place, rules=rules, words=words, allow=self.named)

    def reject(self, night: int, rules: Collection[str]) -> tuple[Rule, ...]:
        """Turn rules of the proposal of a night down; as `reject`."""
        return reject(self.folder(night), self.state.folder, rules)

    def recover(self) -> Recovery | None:
        """End an adoption or a revert that was interrupted; None where there is none."""
        return recover(self.state.folder) if self.state.folder.exists() else None
