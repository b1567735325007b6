"""The nights of a project, for whoever looks at them and decides on what they propose."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from etude.errors import DataError, InputError
from etude.records import Record
from etude.sleep.adoption.adopt import RULES
from etude.sleep.adoption.proposals import ProjectProposals
from etude.sleep.page import NightPage, night_page
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


class Reviews(ProjectProposals):
    """The nights of a project, and what a person decides on them."""

    def nights(self) -> tuple[NightLine, ...]:
        """All nights, the last one first."""
        last = self.newest()
        found = ((number, read_report(self.state, number)) for number in reversed(self.state.numbers()))
        return tuple(
            NightLine(
                night=number,
                status="" if report is None else report.status,
                proposal=self.has_proposal(number),
                newest=number == last,
            )
            for number, report in found
        )

    def night(self, number: int) -> NightPage:
        """A night as it stands now. Raises DataError: there is none of that number, or it cannot be read."""
        if number not in self.state.numbers():
            raise DataError(f"there is no night {number}", hint="`etude sleep status` shows the nights")
        items = self.pending(number).items if self.has_proposal(number) else ()
        return night_page(
            number, read_report(self.state, number), items, self.project, newest=number == self.newest()
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
