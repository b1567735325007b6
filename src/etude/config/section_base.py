"""The base of all sections of the settings."""

import os
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, ClassVar, cast

from pydantic import BaseModel, ConfigDict, JsonValue, model_validator


class Section(BaseModel):
    """Base of all sections: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    free: ClassVar[frozenset[str]] = frozenset()
    """Fields that may change between a run and its resumption: they do not decide what the result is."""

    paths: ClassVar[frozenset[str]] = frozenset()
    """Fields that are paths: in a file they are meant from its folder."""
    names_or_paths: ClassVar[frozenset[str]] = frozenset()
    """Fields that hold names or paths, by how they look (`is_path`)."""

    @model_validator(mode="before")
    @classmethod
    def _at_home(cls, data: Any) -> Any:
        """`~` at the beginning of a path is the home folder. A number that JSON cannot hold is none."""
        if not isinstance(data, Mapping):
            return data
        given, paths = cast(Mapping[str, Any], data), cls.paths | cls.names_or_paths
        if endless := next(_endless(given), None):
            raise ValueError(f"{endless}: must be a finite number")
        return {key: at_home(value) if key in paths else value for key, value in given.items()}

    def identity(self) -> dict[str, JsonValue]:
        """The settings a run depends on, without the free ones."""
        result: dict[str, JsonValue] = {}
        for name in type(self).model_fields:
            if name in self.free:
                continue
            value = getattr(self, name)
            result[name] = value.identity() if isinstance(value, Section) else value
        result.update(self.model_extra or {})
        return result


def _endless(value: Any, place: str = "") -> Iterator[str]:
    """The places of numbers in a value that are infinite or none, with what stands there."""
    if isinstance(value, Mapping | list | tuple):
        found = cast(Any, value)
        for key, inner in found.items() if isinstance(value, Mapping) else enumerate(found):
            yield from _endless(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, float) and not isfinite(value):
        yield f"{place} = {value}"


def at_home(value: Any) -> Any:
    """A path, or each of a list, with the home folder in place of a `~` at its beginning."""
    if isinstance(value, str):
        return os.path.expanduser(value)
    if isinstance(value, list | tuple):
        return [at_home(one) for one in cast(list[Any], value)]
    return value
