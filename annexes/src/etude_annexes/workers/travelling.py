"""Errors as JSON data: raised in one process, they are raised in another one."""

import asyncio
import sys
from typing import Any

from etude.errors import EtudeError


def write_error(error: BaseException) -> dict[str, Any]:
    """An error as JSON data: of etude's own all fields that are plain values, of others class name and text."""
    if not isinstance(error, EtudeError):
        return {"name": type(error).__name__, "text": str(error)}
    kinds = [kind for kind in type(error).__mro__ if issubclass(kind, EtudeError)]
    fields = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float | None)}
    causes = {name: write_error(value) for name, value in vars(error).items() if isinstance(value, BaseException)}
    return {
        "kinds": [[kind.__module__, kind.__qualname__] for kind in kinds],
        "fields": fields,
        "causes": causes,
        "text": error.message,
    }


def read_error(data: dict[str, Any]) -> BaseException:
    """The error. One of etude's tree is of the nearest class that this process knows; of another one the name of the
    class and the text are the same."""
    if "kinds" not in data:
        if data["name"] == asyncio.CancelledError.__name__:
            return asyncio.CancelledError(*([data["text"]] if data["text"] else []))
        return type(data["name"], (Exception,), {})(data["text"])
    error = EtudeError.__new__(_known(data["kinds"]), data["text"])
    vars(error).update(data["fields"])
    vars(error).update({name: read_error(cause) for name, cause in data["causes"].items()})
    return error


def _known(kinds: list[list[str]]) -> type[EtudeError]:
    for module, name in kinds:  # none is imported because the other side says so
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and issubclass(kind, EtudeError):
            return kind
    return EtudeError
