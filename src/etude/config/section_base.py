"""The base of all sections of the settings."""

import os
from collections.abc import Mapping
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
        """`~` at the beginning of a path is the home folder."""
        if not isinstance(data, Mapping):
            return data
        given, paths = cast(Mapping[str, Any], data), cls.paths | cls.names_or_paths
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


def at_home(value: Any) -> Any:
    """A path, or each of a list, with the home folder in place of a `~` at its beginning."""
    if isinstance(value, str):
        return os.path.expanduser(value)
    if isinstance(value, list | tuple):
        return [at_home(one) for one in cast(list[Any], value)]
    return value
