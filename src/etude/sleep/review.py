"""What a person decides on after a night, rule by rule, as records that a page draws. The words are those of the
report, so that page and `report.md` agree."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from etude.errors import DataError, InputError
from etude.records import Record
from etude.skill import token_count
from etude.sleep.adoption.adopt import RULES
from etude.sleep.adoption.proposals import Item, ProjectProposals
from etude.sleep.adoption.splice import RuleState
from etude.sleep.live_documents import without_secrets
from etude.sleep.page import document_lines, item_lines
from etude.sleep.report import read_report
from etude.sleep.state import REPORT

Decision = Literal["take", "reject"]


class NightLine(Record):
    """A night in a list."""

    night: int
    status: str
    """As its report has it; empty where there is none that can be read."""
    proposal: bool
    newest: bool
    """Only the newest proposal waits for a person."""


class ReviewedRule(Record):
    """A change of one rule."""

    id: str
    text: str
    document: str
    state: RuleState
    leaving: bool
    """The rule is to be taken out."""
    lines: tuple[str, ...]
    """What it rests on, what it does and what it costs, as in the report."""
    tasks: int | None
    """Tasks that were attempted with it and without it; None where it was not tested."""
    without: int | None
    """Those of them that came out right without it."""
    with_it: int | None
    since: int | None
    """The earlier night that proposed it first."""
    tokens: int


class NightPage(Record):
    """A night with what it proposes."""

    night: int
    status: str
    reason: str
    """Why it proposes nothing, where it does not."""
    newest: bool
    rules: tuple[ReviewedRule, ...]
    statistics: tuple[str, ...]
    """What was measured of each document as a whole."""


class Reviews(ProjectProposals):
    """The nights of a project, and what a person decides on them."""

    def nights(self) -> tuple[NightLine, ...]:
        """All nights, the last one first."""
        last = self.newest()
        return tuple(
            NightLine(
                night=number, status=self._status(number), proposal=self.has_proposal(number), newest=number == last
            )
            for number in reversed(self.state.numbers())
        )

    def night(self, number: int) -> NightPage:
        """A night as it stands now. Raises DataError: there is none of that number, or it cannot be read."""
        if number not in self.state.numbers():
            raise DataError(f"there is no night {number}", hint="`etude sleep status` shows the nights")
        items = self.pending(number).items if self.has_proposal(number) else ()
        report = read_report(self.state, number)
        measured = () if report is None else report.documents
        sessions = 0 if report is None else sum(report.sessions.values())
        return NightPage(
            night=number,
            status="" if report is None else report.status,
            reason="" if report is None else report.reason,
            newest=number == self.newest(),
            rules=tuple(self._reviewed(item, number, sessions) for item in items),
            statistics=tuple(line for document in measured for line in document_lines(document)),
        )

    def decide(
        self, number: int, rules: Sequence[str], what: Decision, words: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Take these rules, in other words where `words` has some by id, or turn them down. Raises InputError: a
        newer night proposes what waits; else as `adopt` and `reject`."""
        last = self.newest()
        if number != last:
            hint = f"decide on the page of night {last}"
            raise InputError(f"what waits of night {number} is part of what night {last} proposes", hint=hint)
        if what == "reject":
            self.reject(number, rules)
        else:
            self.adopt(number, rules, words)

    def stamp(self) -> str:
        """Changes when a night or a decision does."""
        files = (self.state.folder / RULES, self.state.nights, *self.state.nights.glob(f"*/{REPORT}"))
        return "-".join(f"{file.stat().st_mtime_ns:x}" for file in files if file.exists())

    def _reviewed(self, item: Item, night: int, sessions: int) -> ReviewedRule:
        rule, trial = item.rule, item.rule.evidence.trial
        made = int(rule.night) if rule.night.isdigit() else night
        often = sessions if made == night else 0
        path, root = item.document.live.path, f"{self.project.absolute()}/"
        return ReviewedRule(
            id=rule.id,
            text=without_secrets(rule.text)[0],
            document=path.removeprefix(root),
            state=item.state,
            leaving=item.leaving,
            lines=tuple(line.removeprefix("   ") for line in item_lines(item, "", self.project, often)[1:]),
            tasks=None if trial is None else trial.tasks,
            without=None if trial is None else trial.without,
            with_it=None if trial is None else trial.with_it,
            since=made if made != night and not item.leaving else None,
            tokens=token_count(rule.text),
        )

    def _status(self, number: int) -> str:
        report = read_report(self.state, number)
        return "" if report is None else report.status
