"""Requests for triggers, from the evals of skills and from files."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from etude.cli.scaffold.forms.evals import requests
from etude.cli.scaffold.table import Table
from etude.cli.scaffold.tasks import read_source
from etude.errors import InputError
from etude.measure.triggers.catalogue import Catalogue, read_entry
from etude.measure.triggers.environment import Request
from etude.measure.triggers.lexical import Ranking
from etude.skill.folder import DOCUMENT, evals_of


class Asked(NamedTuple):
    """Requests that can be asked, and notes on those that cannot."""

    requests: Sequence[Request]
    notes: Sequence[str]


def of_skills(folders: Iterable[Path], unread: list[str] | None = None) -> list[Request]:
    """What the evals of skills ask; most skills have none. Raises InputError: a file cannot be used; with `unread`
    that is added to it, and the skill is passed over."""
    found: list[Request] = []
    for folder in folders:
        file = evals_of(folder)
        if file.exists() and file.read_bytes().strip() not in (b"", b"[]"):  # some are published empty
            try:
                name, _ = read_entry(folder / DOCUMENT)
                found += _numbered(requests(Table(read_source(file).rows), name), name)
            except InputError as error:
                if unread is None:
                    raise
                unread.append(error.message)
    return found


def of_files(files: Iterable[str], skill: str = "") -> list[Request]:
    """What rows of data files ask; `should_trigger` without a name is about `skill`. Raises DataError: a file cannot
    be used."""
    found: list[Request] = []
    for file in files:
        table = Table(read_source(Path(file)).rows)
        about = skill if table.find("should_trigger") else ""
        found += _numbered(requests(table, about), Path(file).stem)
    return found


def _numbered(found: Sequence[Request], name: str) -> list[Request]:
    """With ids that are the same wherever the files lie."""
    return [each.model_copy(update={"id": f"{name}-{number}"}) for number, each in enumerate(found, 1)]


def askable(found: Sequence[Request], catalogue: Catalogue) -> Asked:
    """Each request once, without those that need a skill which is not there."""
    unique = list({(each.text, each.needs, each.quiet): each for each in found}.values())
    kept = [each for each in unique if not each.needs or any(name in catalogue for name in each.needs)]
    gone = [each for each in unique if each.needs and not any(name in catalogue for name in each.needs)]
    some = f"{len(gone)} requests need skills that are" if len(gone) > 1 else "1 request needs a skill that is"
    return Asked(kept, [f"{some} not there, as {gone[0].needs[0]!r}: left out"] if gone else [])


def near(found: Sequence[Request], skill: str, description: str, most: int) -> list[Request]:
    """Of requests that are not for a skill, those whose words are nearest to its description: it is most likely to be
    opened for them by mistake."""
    others = {each.id: each for each in found if each.needs and not each.expects(skill)}
    scores = Ranking({name: each.text for name, each in others.items()}).scores(description)
    return [others[name] for name in sorted(others, key=lambda name: (-scores.get(name, 0.0), name))[:most]]
