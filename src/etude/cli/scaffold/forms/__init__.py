"""Forms of data that people bring: what is asked, what is right, and how answers are compared.

A form is a file with two functions: `fits` says whether a table is of this form, `tasks` makes its tasks. Both raise
DataError where a row is broken, `tasks` also Unclear where one answer of the user settles it."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from etude.cli.scaffold.forms import chat, choices, columns, evals, judged, promptfoo
from etude.cli.scaffold.forms.made import MadeTasks
from etude.cli.scaffold.table import NothingAsked, Table, as_text
from etude.readable import some, word_count

FORMS = (promptfoo, evals, judged, chat, choices, columns)
"""The first that fits is the form of a table; the last fits every one."""


FEW_OTHERS = 5
"""One row in so many may be left out: where more are empty, another column is meant."""
_SHOWN = 5
_WORDS = 4
"""From so many words on there is more than one way to say it."""


def make_tasks(table: Table) -> MadeTasks:
    """The tasks of a table, compared by the scorer that the user wished, if any.
    Raises DataError: a row cannot be used; Unclear: one answer of the user settles it."""
    form = next(form for form in FORMS if form.fits(table))
    left_out: list[str] = []
    try:
        made = form.tasks(table)
    except NothingAsked as error:
        rest = _filled(table, error.columns, left_out)
        if rest is None:
            raise
        table, made = rest, form.tasks(rest)
    gold = made.fields.get("gold")
    if gold in table.names and not made.built and (rest := _filled(table, [gold], left_out)) is not None:
        made = form.tasks(rest)
    wished = table.wishes.scorer
    if wished and wished != made.scorer:
        made = replace(made, scorer=wished, why="as you said", options={})
    words = "long answers are compared by the words they share, which says little about how good they are"
    prose = [f"{words}: --rubric TEXT has a model judge them"] if made.scorer == "f1" and not wished else []
    if made.scorer == "exact" and not wished and not made.labels and _several_words(made):
        prose = ["right answers of several words have to come word for word: --rubric TEXT has a model judge them"]
    return replace(made, notes=[*made.notes, *prose, *left_out])


def _several_words(made: MadeTasks) -> bool:
    golds = [row.columns.get(made.fields.get("gold", "")) for row in made.rows]
    return median(word_count(as_text(gold)) for gold in golds) >= _WORDS


def _filled(table: Table, columns: Sequence[str], left_out: list[str]) -> Table | None:
    """The rows in which these columns hold anything; None where few do, or all."""
    rest, empty = table.filled(columns)
    if not empty or len(empty) * FEW_OTHERS > len(table.rows):
        return None
    places = some([row.place for row in empty], _SHOWN)
    left_out.append(f"left out, with nothing in {' and '.join(map(repr, columns))}: {places}")
    return rest
