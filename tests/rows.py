"""Tables that one test goes through: many values of one kind that take the same path through the code."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


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
