"""Tables that one test goes through: many values of one kind that take the same path through the code."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def rows(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run a test for each row of a table, as one case. A failure names its row.

    `pytest.mark.parametrize` is for cases that differ in what they do.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [dict(zip(keys, (row,) if len(keys) == 1 else row, strict=True)) for row in table]
    assert given, "a table without rows tests nothing"

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def each(*args: Any, **fixtures: Any) -> None:
            for row in given:
                try:
                    test(*args, **fixtures, **row)
                except BaseException as error:
                    error.add_note(f"the row was {row!r}")
                    raise

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        each.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return each

    return decorate


def few(cases: Iterable[Any], *fast: Any, first: int = 0) -> list[Any]:
    """All cases of a long table, of which only the first ones and those named run in the fast suite, and the others
    with `--slow`."""
    found = list(cases)
    fast = (*fast, *found[:first])
    assert all(one in found for one in fast), "a fast case is not in the table"
    several = [one if isinstance(one, tuple) else (one,) for one in found]
    return [
        pytest.param(*values, marks=() if one in fast else pytest.mark.slow)
        for one, values in zip(found, several, strict=True)
    ]
