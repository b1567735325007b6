"""Forms of data that people bring: what is asked, what is right, and how answers are compared.

A form is a file with two functions: `fits` says whether a table is of this form, `tasks` makes its tasks."""

from dataclasses import replace
from typing import Protocol

from etude.cli.scaffold.forms import chat, choices, columns, evals
from etude.cli.scaffold.forms.made import MadeTasks
from etude.cli.scaffold.table import Table


class Form(Protocol):
    """What a form has."""

    def fits(self, table: Table) -> bool:
        """Whether the rows are of this form. Raises DataError: they are, and one of them is broken."""
        ...

    def tasks(self, table: Table) -> MadeTasks:
        """The tasks of a table that fits.
        Raises DataError: a row cannot be used; Unclear: one answer of the user settles it."""
        ...


FORMS: tuple[Form, ...] = (evals, chat, choices, columns)
"""The first that fits is the form of a table; the last fits every one."""


def make_tasks(table: Table) -> MadeTasks:
    """The tasks of a table, compared by the scorer that the user wished, if any.
    Raises DataError: a row cannot be used; Unclear: one answer of the user settles it."""
    made = next(form for form in FORMS if form.fits(table)).tasks(table)
    wished = table.wishes.scorer
    if not wished or wished == made.scorer:
        return made
    return replace(made, scorer=wished, why="as you said", options={})
