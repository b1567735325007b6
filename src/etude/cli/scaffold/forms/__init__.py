"""Forms of data that people bring: what is asked, what is right, and how answers are compared.

A form is one function in the table `FORMS`, the most specific first. It gets the table and returns what it made of
the rows, or None where they are not of its form."""

from collections.abc import Mapping

from etude.cli.scaffold.forms.built_tasks import BuiltTasks, Form
from etude.cli.scaffold.forms.chat import conversations, instructions
from etude.cli.scaffold.forms.choices import multiple_choice
from etude.cli.scaffold.forms.evals import skill_evals
from etude.cli.scaffold.forms.judged import assertions, graded_by_rubric
from etude.cli.scaffold.forms.reading import several_answers, split_cells, yes_or_no
from etude.cli.scaffold.forms.table import Table

FORMS: Mapping[str, Form] = {
    "assertions": assertions,
    "conversations": conversations,
    "evals of a skill": skill_evals,
    "graded by a rubric": graded_by_rubric,
    "multiple choice": multiple_choice,
    "several right answers": several_answers,
    "yes or no": yes_or_no,
    "answers in one cell": split_cells,
    "instructions": instructions,
}


def build(table: Table) -> BuiltTasks | None:
    """The tasks of the first form that the rows have; None where columns are parts of tasks as they are.
    Raises DataError: rows of a form that cannot be used; Unclear: one answer of the user settles it."""
    return next((made for form in FORMS.values() if (made := form(table)) is not None), None)
