"""Errors as JSON data: raised in one process, they are raised in another one."""

import asyncio
from typing import Any

from etude import errors
from etude.errors import EtudeError


def write_error(error: BaseException) -> dict[str, Any]:
    """An error as JSON data: of etude's own all fields that are plain values, of others class name and text."""
    if not isinstance(error, EtudeError):
        return {"name": type(error).__name__, "text": str(error)}
    kinds = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, EtudeError)]
    fields = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float | None)}
    causes = {name: write_error(value) for name, value in vars(error).items() if isinstance(value, BaseException)}
    return {"kinds": kinds, "fields": fields, "causes": causes, "text": error.message}


def read_error(data: dict[str, Any]) -> BaseException:
    """The error. One of etude's own is of the nearest class of its tree; of another one the name of the
    class and the text are the same."""
    if "kinds" not in data:
        if data["name"] == asyncio.CancelledError.__name__:
            return asyncio.CancelledError(*([data["text"]] if data["text"] else []))
        return type(data["name"], (Exception,), {})(data["text"])
    known: type[EtudeError] = next(getattr(errors, name) for name in data["kinds"] if hasattr(errors, name))
    error = EtudeError.__new__(known, data["text"])
    vars(error).update(data["fields"])
    vars(error).update({name: read_error(cause) for name, cause in data["causes"].items()})
    return error
