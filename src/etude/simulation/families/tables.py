"""The tables of the families: what their rules look like in words, and the words of their tasks."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, cast

from etude.simulation.rules import TeachableRule

_FOLDER = Path(__file__).parent


@cache
def table(family: str, folder: Path = _FOLDER) -> dict[str, Any]:
    """What stands in the file of a family."""
    return tomllib.loads((folder / f"{family}.toml").read_text("utf-8"))


def texts(family: str, name: str) -> tuple[str, ...]:
    """A list of texts from the file of a family."""
    return tuple(table(family)[name])


@cache
def rules_of(family: str, folder: Path = _FOLDER) -> tuple[TeachableRule, ...]:
    """The rules of a family, in the order of its file."""
    return tuple(_rule(f"{family}.{step}", fields) for step, fields in table(family, folder)["rules"].items())


def _rule(id: str, fields: dict[str, Any]) -> TeachableRule:
    values: dict[str, Any] = {
        name: tuple(cast(list[str], value)) if isinstance(value, list) else value for name, value in fields.items()
    }
    return TeachableRule(id=id, **values)
