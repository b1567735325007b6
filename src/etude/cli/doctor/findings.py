"""What `doctor` found, one line for each thing it looked at."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from etude.cli.trust import UntrustedError
from etude.errors import EtudeError
from etude.records import Record


class CheckResult(Record):
    """What one check found."""

    name: str
    status: Literal["ok", "note", "wrong"]
    """`wrong`: training would refuse it."""
    text: str
    fix: str = ""
    """How to fix it."""


class DoctorReport(list[CheckResult]):
    """All of them, in the order of the checks."""

    def ok(self, name: str, text: str) -> None:
        """Nothing to fix."""
        self.append(CheckResult(name=name, status="ok", text=text))

    def note(self, name: str, text: str, fix: str = "") -> None:
        """Good to know."""
        self.append(CheckResult(name=name, status="note", text=text, fix=fix))

    def wrong(self, name: str, text: str, fix: str) -> None:
        """Training would refuse it."""
        self.append(CheckResult(name=name, status="wrong", text=text, fix=fix))

    @contextmanager
    def checking(self, name: str) -> Generator[None]:
        """An error in the block is what is wrong; without trust there is nothing to check."""
        try:
            yield
        except UntrustedError:
            raise
        except EtudeError as error:
            self.wrong(name, error.message, error.hint)
